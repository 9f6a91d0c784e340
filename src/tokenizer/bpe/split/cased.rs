//! The patterns of `o200k_base` (gpt-oss, Llama 4) and of Mistral's Tekken: words are cut before capital letters, too.

use crate::tokenizer::bpe::classes::{
    Classes, LETTER, LOWER, NEITHER_NEWLINE_NOR_ALPHANUMERIC, NEWLINE, NUMBER, Openers, SPACE, UPPER, white_space,
};
use crate::tokenizer::bpe::split::splitting::Split;
use crate::tokenizer::bpe::split::words::contraction;

/// The patterns, by what differs among models.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    /// `\p{N}{1,3}`, or `\p{N}`.
    digits: usize,
    /// Whether `'s` and the like belong to the word before.
    contracts: bool,
}

pub(crate) struct Cased {
    pattern: Pattern,
    classes: Classes,
}

impl Pattern {
    const O200K: Self = Self { digits: 3, contracts: true };
    const TEKKEN: Self = Self { digits: 1, contracts: false };

    /// The regular expression.
    fn written(&self) -> String {
        let contraction = if self.contracts { "(?i:'s|'t|'re|'ve|'m|'ll|'d)?" } else { "" };
        let digits = if self.digits == 1 { r"\p{N}".to_owned() } else { format!(r"\p{{N}}{{1,{}}}", self.digits) };
        let (opener, upper, lower) =
            (r"[^\r\n\p{L}\p{N}]?", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]");
        format!(
            r"{opener}{upper}*{lower}+{contraction}|{opener}{upper}+{lower}*{contraction}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    }
}

impl Cased {
    /// None if it is another pattern.
    pub(crate) fn of_pattern(written: &str) -> Option<Self> {
        let pattern = [Pattern::O200K, Pattern::TEKKEN].into_iter().find(|pattern| pattern.written() == written)?;
        Some(Self { pattern, classes: Classes::get() })
    }

    /// Where the word ends that begins here, or after the character here; none if there is no word.
    fn word_end(&self, text: &str, start: usize) -> Option<usize> {
        let (class, len) = self.classes.at(text, start)?;
        let opened = (class & (LETTER | NUMBER | NEWLINE) == 0).then_some(start + len);
        let starts = || opened.into_iter().chain([start]);
        // A word that ends with small letters, even without what opens it, comes before one of capital letters only.
        let end = starts().find_map(|start| self.small(text, start)).or_else(|| {
            starts().find_map(|start| Some(self.classes.run(text, start, UPPER)).filter(|end| *end > start))
        })?;
        let is_followed = self.pattern.contracts && text.as_bytes().get(end) == Some(&b'\'');
        Some(if is_followed { contraction(text, end + 1).unwrap_or(end) } else { end })
    }

    /// Where capital letters end that small ones follow. Letters without case are both, so that the last of these ends it
    /// if no small one follows.
    fn small(&self, text: &str, start: usize) -> Option<usize> {
        let (mut at, mut last) = (start, None);
        while let Some((class, len)) = self.classes.at(text, at) {
            if class & UPPER == 0 {
                break;
            }
            at += len;
            if class & LOWER != 0 {
                last = Some(at);
            }
        }
        let end = self.classes.run(text, at, LOWER);
        if end > at { Some(end) } else { last }
    }

    /// Where punctuation ends that begins here, and the line ends and slashes after it.
    fn punctuation(&self, text: &str, at: usize) -> usize {
        let end = self.classes.punctuation(text, at);
        let after = text.as_bytes()[end..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n' | b'/'));
        end + after.count()
    }
}

impl Split for Cased {
    const OPENERS: Option<Openers> = Some(NEITHER_NEWLINE_NOR_ALPHANUMERIC);

    #[inline]
    fn is_piece(&self, bytes: u128, len: usize) -> bool {
        // This bit tells small letters from capital ones.
        const SMALL: u128 = u128::from_ne_bytes([0x20; 16]);
        let is_opened = !(bytes as u8).is_ascii_alphabetic();
        let letters = ((1 << (8 * len)) - 1) & !if is_opened { 0xff } else { 0 };
        let (small, capital) = (bytes & SMALL & letters, !bytes & SMALL & letters);
        let is_one_word = small == 0 || capital >> small.trailing_zeros() == 0;
        is_one_word && !(self.pattern.contracts && (bytes >> (8 * len)) as u8 == b'\'')
    }

    fn end(&self, text: &str, start: usize) -> usize {
        let classes = self.classes;
        if let Some(end) = self.word_end(text, start) {
            return end;
        }
        let Some((class, len)) = classes.at(text, start) else { return text.len() };
        if class & NUMBER != 0 {
            return classes.numbers(text, start, self.pattern.digits);
        }
        if class & SPACE == 0 {
            return self.punctuation(text, start);
        }
        let next = classes.at(text, start + len).map_or(SPACE, |(class, _)| class);
        if text.as_bytes()[start] == b' ' && next & (LETTER | NUMBER | SPACE) == 0 {
            return self.punctuation(text, start + len);
        }
        white_space(|at| classes.at(text, at), start)
    }

    /// A slash belongs to a line end after punctuation.
    fn parts_lines(&self, next: u8) -> bool {
        next.is_ascii_graphic() && next != b'/'
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::bpe::split::laws;

    #[test]
    fn pieces_are_those_of_the_pattern() {
        for pattern in [Pattern::O200K, Pattern::TEKKEN].map(|pattern| pattern.written()) {
            laws::cuts_as_the_pattern(&Cased::of_pattern(&pattern).expect("it is known"), &pattern);
        }
        assert!(Cased::of_pattern(r"\p{L}+").is_none());
    }
}
