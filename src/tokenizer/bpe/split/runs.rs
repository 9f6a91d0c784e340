//! Two patterns that look ahead from each place in a run to its end. Here a run is read once, however long it is.

use std::cell::Cell;

use regex_automata::hybrid::regex::Cache;
use serde_json::Value;
use tokenizers_classic::PreTokenizerWrapper;

use crate::tokenizer::bpe::split::automaton::Automaton;
use crate::tokenizer::bpe::split::by_library::ends_by;
use crate::tokenizer::bpe::split::pattern::isolated;

/// Digits by threes from their end, unless a word goes on there: Tiny Aya.
pub(crate) const THREES: &str = r"\d{1,3}(?=(?:\d{3})*\b)";
/// White space before the end of a line: DeepSeek LLM.
pub(crate) const LINE_END: &str = r"\s+$";

/// One of these patterns, whose matches, and what is between them, become pieces.
pub(super) enum Runs {
    /// With what finds digits, and the reference.
    Threes(Box<(Automaton, PreTokenizerWrapper)>),
    LineEnd,
}

impl Runs {
    /// None if a step has another pattern.
    pub(super) fn of(step: &Value) -> Option<Self> {
        match isolated(step)? {
            THREES => {
                let both = (Automaton::of(r"\d+")?, serde_json::from_value(step.clone()).ok()?);
                Some(Self::Threes(Box::new(both)))
            }
            LINE_END => Some(Self::LineEnd),
            _ => None,
        }
    }

    /// Gives the ends of the pieces of a text.
    pub(super) fn cut(&self, cache: &mut Option<Cache>, text: &str, mut take: impl FnMut(usize)) {
        let mut last = 0;
        let take = |end| {
            if end > last {
                take(end);
                last = end;
            }
        };
        match self {
            Self::Threes(digits) => by_threes(digits, cache, text, take),
            Self::LineEnd => at_line_ends(text, take),
        }
    }
}

fn by_threes(
    (digits, reference): &(Automaton, PreTokenizerWrapper),
    cache: &mut Option<Cache>,
    text: &str,
    mut take: impl FnMut(usize),
) {
    let cache = cache.get_or_insert_with(|| digits.cache());
    let mut from = 0;
    while let Some(run) = digits.find(cache, text, from) {
        from = run.end;
        if text[run.end..].chars().next().is_some_and(|c| goes_on(reference, c)) {
            continue;
        }
        take(run.start);
        let count = text[run.clone()].chars().count();
        let places = text[run.clone()].char_indices().enumerate();
        places.filter(|(nth, _)| (count - nth).is_multiple_of(3)).for_each(|(_, (at, _))| take(run.start + at));
        take(run.end);
    }
    take(text.len());
}

/// How many answers of Oniguruma are remembered.
const REMEMBERED: usize = 64;

thread_local! {
    /// Characters, and whether they go on with the word of a digit.
    static ANSWERS: [Cell<(char, bool)>; REMEMBERED] = const { [const { Cell::new(('\0', false)) }; REMEMBERED] };
}

/// Whether a character goes on with the word of the digit before it. Oniguruma has a list of its own.
fn goes_on(reference: &PreTokenizerWrapper, c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    ANSWERS.with(|answers| {
        let answer = &answers[c as usize % REMEMBERED];
        if answer.get().0 != c {
            answer.set((c, ends_by(reference, &['1', c].iter().collect::<String>()).len() == 1));
        }
        answer.get().1
    })
}

fn at_line_ends(text: &str, mut take: impl FnMut(usize)) {
    let mut from = 0;
    while let Some(start) = text[from..].find(char::is_whitespace).map(|at| from + at) {
        let end = text[start..].find(|c: char| !c.is_whitespace()).map_or(text.len(), |at| start + at);
        let run = &text[start..end];
        let line_end = if end == text.len() { Some(run.len()) } else { run.rfind('\n') };
        if let Some(line_end) = line_end.filter(|at| *at > 0) {
            take(start);
            take(start + line_end);
        }
        from = end;
    }
    take(text.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::bpe::split::variant::steps;

    fn ends(pattern: &str, text: &str) -> Vec<usize> {
        let (runs, mut ends) = (Runs::of(&steps(&[pattern])[0]).expect("it is one"), Vec::new());
        runs.cut(&mut None, text, |end| ends.push(end));
        ends
    }

    /// Checks texts against the reference.
    fn check(pattern: &str, texts: impl IntoIterator<Item = String>) {
        let library = serde_json::from_value(steps(&[pattern])[0].clone()).expect("it is one");
        for text in texts {
            assert!(
                ends(pattern, &text) == ends_by(&library, &text),
                "{pattern}: {:?}",
                text.get(..20).unwrap_or(&text)
            );
        }
    }

    /// Beside and between digits and white space, each character is what Oniguruma sees.
    #[test]
    fn characters_are_those_of_the_reference() {
        let all = || '\0'..=char::MAX;
        let beside = all().flat_map(|c| ['1', '2', '3', '4', c, ' ']).collect();
        check(THREES, [beside, all().flat_map(|c| [c, '1', '2', ' ']).collect()]);
        check(LINE_END, [all().flat_map(|c| [' ', c, ' ', '\n', c, '\n', 'x']).collect()]);
    }

    #[test]
    fn short_texts_are_cut_as_by_the_reference() {
        for (pattern, signs) in [(THREES, ['1', '٣', 'a', ' ']), (LINE_END, [' ', '\n', '\r', 'a'])] {
            let text = |number: usize| (0..6).map(|at| signs[number / 4_usize.pow(at) % 4]).collect();
            check(pattern, (0..4_usize.pow(6)).map(text));
        }
    }

    /// For each place in it, the pattern reads it to its end: this many would take hours.
    #[test]
    fn a_run_is_read_once() {
        let (digits, spaces) = ("1".repeat(3_000_001), " ".repeat(3_000_000));
        assert_eq!(ends(THREES, &digits).len(), 1_000_001);
        assert_eq!(ends(THREES, &(digits.clone() + "x")), [digits.len() + 1]);
        assert_eq!(ends(LINE_END, &(spaces.clone() + "x")), [spaces.len() + 1]);
        assert_eq!(ends(LINE_END, &spaces), [spaces.len()]);
    }
}
