//! Cutting text by any pattern that does not look around, with an automaton, which reads a byte once.

use std::ops::Range;

use regex_automata::hybrid::regex::{Cache, Regex};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, Match};

use crate::tokenizer::read_otherwise::is_plain;

/// A pattern whose matches, and what is between them, become pieces.
pub(super) struct Automaton {
    regex: Regex,
}

/// The way in which patterns end that leave the last white space to the word after it. It looks around.
const PARTING: [&str; 2] = [r"|\s+(?!\S)|\s+", r"|\s+(?!\S)|\s"];
/// The number of the pattern that stands for it.
const SPACE: usize = 1;
/// What looks around or back, or does not try again. Written within a class, it is taken for that, too.
const MORE: [&str; 7] = ["(?=", "(?!", "(?<", "(?>", "?+", "*+", "++"];
/// What Oniguruma takes for the same characters (the test below).
const PROPERTIES: [&str; 24] = [
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "N", "Nd", "Nl", "No", "P", "S", "Z", "Han", "Hiragana",
    "Katakana", "Hangul", "Latin", "Cyrillic", "Arabic", "Thai",
];

/// The most bytes of an automaton before it is made deterministic, as in the crate `regex`: counts within counts would
/// take all memory.
const LARGEST: usize = 10 << 20;

const NEVER: &str = "an automaton neither stops nor gives up unless it is told to";

impl Automaton {
    /// None if a pattern takes more than an automaton, or if Oniguruma, which Python has, might read it otherwise.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        let parting = PARTING.iter().find_map(|parting| pattern.strip_suffix(parting));
        let core = parting.unwrap_or(pattern);
        let mut properties = core.split(r"\p{").skip(1).chain(core.split(r"\P{").skip(1));
        let has_property = |rest: &str| rest.split_once('}').is_some_and(|(name, _)| PROPERTIES.contains(&name));
        if !is_plain(core) || MORE.iter().any(|more| core.contains(more)) || !properties.all(has_property) {
            return None;
        }
        let is_never_empty = syntax::parse(core).ok()?.properties().minimum_len().is_some_and(|least| least > 0);
        let patterns: &[&str] = if parting.is_some() { &[core, r"\s+"] } else { &[core] };
        let limited = thompson::Config::new().nfa_size_limit(Some(LARGEST));
        let regex = Regex::builder().thompson(limited).build_many(patterns);
        Some(Self { regex: regex.ok().filter(|_| is_never_empty)? })
    }

    pub(super) fn cache(&self) -> Cache {
        self.regex.create_cache()
    }

    /// The first match of a pattern from here on.
    pub(super) fn find(&self, cache: &mut Cache, text: &str, from: usize) -> Option<Range<usize>> {
        self.regex.try_search(cache, &Input::new(text).range(from..)).expect(NEVER).map(|found| found.range())
    }

    /// Gives the ends of the pieces of a text.
    pub(super) fn cut(&self, cache: &mut Cache, text: &str, mut take: impl FnMut(usize)) {
        let mut start = 0;
        while start < text.len() {
            let here = Input::new(text).range(start..).anchored(Anchored::Yes);
            let forward = self.regex.forward();
            let found = match forward.try_search_fwd(cache.forward_mut(), &here).expect(NEVER) {
                Some(end) => Match::new(end.pattern(), start..end.offset()),
                None => {
                    let later = self.regex.try_search(cache, &here.anchored(Anchored::No)).expect(NEVER);
                    take(later.map_or(text.len(), |later| later.start()));
                    let Some(later) = later else { return };
                    later
                }
            };
            start = found.end();
            if found.pattern().as_usize() == SPACE
                && start < text.len()
                && let Some((last, _)) = text[found.range()].char_indices().next_back()
                && last > 0
            {
                start = found.start() + last;
            }
            take(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::bpe::split::by_library::ends_by;
    use crate::tokenizer::bpe::split::pattern::GPT2;
    use crate::tokenizer::bpe::split::variant::steps;

    #[test]
    fn patterns_that_take_more_have_none() {
        for pattern in [
            r"(?:\p{L}{1,300}){1,300}",
            r"\w+",
            r"a(?=b)",
            r"\s+(?!\S)",
            r"a?+b",
            r"\p{N}{1,3}+",
            r"a*",
            r"\p{Alpha}",
            r"[a&&b]",
            "(a",
            "a$",
        ] {
            assert!(Automaton::of(pattern).is_none(), "{pattern}");
        }
        for pattern in
            [GPT2, r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|(?:\p{L}\p{M}*)+|\p{N}{1,3}|\s"]
        {
            assert!(Automaton::of(pattern).is_some(), "{pattern}");
        }
    }

    /// Each property has the characters that Oniguruma sees, with what is written as `\d` and `\s`.
    #[test]
    fn properties_are_those_of_the_reference() {
        let all: String = ('\0'..=char::MAX).collect();
        let names = PROPERTIES.iter().map(|name| format!(r"\p{{{name}}}+")).chain([r"\d+".into(), r"\s+".into()]);
        for pattern in names {
            let automaton = Automaton::of(&pattern).unwrap_or_else(|| panic!("{pattern} has one"));
            let mut ends = Vec::new();
            automaton.cut(&mut automaton.cache(), &all, |end| ends.push(end));
            let library = serde_json::from_value(steps(&[&pattern])[0].clone()).expect("it is one");
            let expected = ends_by(&library, &all);
            assert!(ends == expected, "{pattern}");
        }
    }
}
