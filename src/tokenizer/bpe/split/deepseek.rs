//! The patterns of DeepSeek V3 and R1, which come one after the other: numbers are cut out, then Chinese and Japanese, and
//! the rest is cut into words.

use crate::tokenizer::bpe::classes::{
    CHINESE_OR_JAPANESE, Classes, LETTER, NEITHER_NEWLINE_NOR_ALPHANUMERIC, NEWLINE, NUMBER, Openers, PUNCTUATION,
    SPACE, UPPER, run, white_space,
};
use crate::tokenizer::bpe::split::splitting::Split;

/// The regular expressions.
pub(super) const PATTERNS: [&str; 3] = [
    r"\p{N}{1,3}",
    "[一-龥\u{3040}-ゟ゠-ヿ]+",
    concat!(
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^"##,
        "\r\n",
        r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[",
        "\r\n",
        r"]*|\s*[",
        "\r\n",
        r"]+|\s+(?!\S)|\s+",
    ),
];

/// `[\p{L}\p{M}]`: marks are what is in both cases without being a letter.
const LETTER_OR_MARK: u8 = LETTER | UPPER;

pub(crate) struct DeepSeek {
    classes: Classes,
}

/// What is between two cuts of the first two patterns: the third one sees nothing else.
#[derive(Clone, Copy)]
struct Part<'a> {
    classes: Classes,
    text: &'a str,
    /// [`CHINESE_OR_JAPANESE`], or 0.
    script: u8,
}

impl DeepSeek {
    pub(crate) fn new() -> Self {
        Self { classes: Classes::get() }
    }
}

impl Part<'_> {
    /// The classes of the character at this byte, and its length; none where the part ends.
    fn at(self, at: usize) -> Option<(u8, usize)> {
        let is_here = |class: u8| class & NUMBER == 0 && class & CHINESE_OR_JAPANESE == self.script;
        self.classes.at(self.text, at).filter(|(class, _)| is_here(*class))
    }

    /// Where the characters of these classes end that begin here.
    fn run(self, at: usize, classes: u8) -> usize {
        run(|at| self.at(at), at, |class| class & classes != 0)
    }

    /// Where the match ends that begins here.
    fn matched(self, start: usize) -> Option<usize> {
        let (class, len) = self.at(start)?;
        let bytes = self.text.as_bytes();
        let second = start + len;
        if bytes[start].is_ascii_punctuation() {
            let letters = bytes[second..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            if letters > 0 {
                return Some(second + letters);
            }
        }
        let is_opener = class & (LETTER | PUNCTUATION | NEWLINE) == 0;
        let letters = if is_opener { self.run(second, LETTER_OR_MARK) } else { second };
        if letters > second {
            return Some(letters);
        }
        if class & LETTER_OR_MARK != 0 {
            return Some(self.run(start, LETTER_OR_MARK));
        }
        let first = if bytes[start] == b' ' { second } else { start };
        let punctuation = self.run(first, PUNCTUATION);
        if punctuation > first {
            return Some(self.run(punctuation, NEWLINE));
        }
        (class & SPACE != 0).then(|| white_space(|at| self.at(at), start))
    }
}

impl Split for DeepSeek {
    const OPENERS: Option<Openers> = Some(NEITHER_NEWLINE_NOR_ALPHANUMERIC);

    fn end(&self, text: &str, start: usize) -> usize {
        let classes = self.classes;
        let Some((class, _)) = classes.at(text, start) else { return text.len() };
        if class & NUMBER != 0 {
            return classes.numbers(text, start, 3);
        }
        let part = Part { classes, text, script: class & CHINESE_OR_JAPANESE };
        // What nothing matches, such as control characters, is one piece until something does.
        let mut at = start;
        while let Some((_, len)) = part.at(at) {
            match part.matched(at) {
                Some(end) if at == start => return end,
                Some(_) => return at,
                None => at += len,
            }
        }
        at
    }

    fn parts_lines(&self, next: u8) -> bool {
        next.is_ascii_graphic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::bpe::split::laws;

    #[test]
    fn pieces_are_those_of_the_patterns() {
        laws::cuts_as_the_patterns(&DeepSeek::new(), &PATTERNS);
    }
}
