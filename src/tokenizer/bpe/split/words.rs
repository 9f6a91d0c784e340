//! The pattern of `cl100k_base`, and of most models since: words with a character before them, numbers, punctuation with
//! line ends, white space.

use crate::tokenizer::bpe::classes::{
    Classes, LETTER, NEITHER_NEWLINE_NOR_ALPHANUMERIC, NEWLINE, NUMBER, Openers, SPACE, white_space,
};
use crate::tokenizer::bpe::split::splitting::Split;

/// The pattern, by what differs among models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// `\p{N}{1,3}`, or `\p{N}`.
    digits: usize,
}

pub(crate) struct Words {
    pattern: Pattern,
    classes: Classes,
}

impl Pattern {
    /// The regular expression.
    fn written(&self) -> String {
        let digits = match self.digits {
            1 => r"\p{N}".to_owned(),
            digits => format!(r"\p{{N}}{{1,{digits}}}"),
        };
        format!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    }
}

impl Words {
    /// None if it is another pattern.
    pub(crate) fn of_pattern(written: &str) -> Option<Self> {
        let patterns = [1, 3].map(|digits| Pattern { digits });
        let pattern = patterns.into_iter().find(|pattern| pattern.written() == written)?;
        Some(Self { pattern, classes: Classes::get() })
    }

    /// Where punctuation ends that begins here, and the line ends after it.
    fn punctuation(&self, text: &str, at: usize) -> usize {
        self.classes.run(text, self.classes.punctuation(text, at), NEWLINE)
    }
}

impl Split for Words {
    /// `[^\r\n\p{L}\p{N}]`, but for the apostrophe of contractions.
    const OPENERS: Option<Openers> = Some({
        let mut openers = NEITHER_NEWLINE_NOR_ALPHANUMERIC;
        openers[b'\'' as usize] = false;
        openers
    });

    fn end(&self, text: &str, start: usize) -> usize {
        let classes = self.classes;
        let Some((class, len)) = classes.at(text, start) else { return text.len() };
        if class & LETTER != 0 {
            return classes.letters(text, start);
        }
        if class & NUMBER != 0 {
            return classes.numbers(text, start, self.pattern.digits);
        }
        let second = start + len;
        let next = classes.at(text, second).map_or(SPACE, |(class, _)| class);
        if next & LETTER != 0 && class & NEWLINE == 0 {
            if text.as_bytes()[start] == b'\''
                && let Some(end) = contraction(text, second)
            {
                return end;
            }
            return classes.letters(text, second);
        }
        if class & SPACE == 0 {
            return self.punctuation(text, start);
        }
        if text.as_bytes()[start] == b' ' && next & (LETTER | NUMBER | SPACE) == 0 {
            return self.punctuation(text, second);
        }
        white_space(|at| classes.at(text, at), start)
    }

    fn parts_lines(&self, next: u8) -> bool {
        next.is_ascii_graphic()
    }
}

/// Where `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` ends, in either case, whose letters begin here. The sign ſ is an s
/// in another case.
pub(super) fn contraction(text: &str, at: usize) -> Option<usize> {
    let bytes = &text.as_bytes()[at..];
    let letter = |at: usize| bytes.get(at).map(u8::to_ascii_lowercase);
    match (letter(0)?, letter(1)) {
        (b's' | b't' | b'm' | b'd', _) => Some(at + 1),
        (b'r', Some(b'e')) | (b'v', Some(b'e')) | (b'l', Some(b'l')) => Some(at + 2),
        _ if text[at..].starts_with('ſ') => Some(at + 'ſ'.len_utf8()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::bpe::split::laws;

    #[test]
    fn pieces_are_those_of_the_pattern() {
        for digits in [1, 3] {
            let pattern = Pattern { digits }.written();
            let words = Words::of_pattern(&pattern).expect("it is known");
            laws::cuts_as_the_pattern(&words, &pattern);
        }
        assert!(Words::of_pattern(r"\p{L}+").is_none());
    }
}
