//! The pattern of GPT-2, which `ByteLevel` pre-tokenizers have by themselves.

use crate::tokenizer::bpe::classes::{Classes, LETTER, NEWLINE, NUMBER, Openers, SPACE, SPACES, white_space};
use crate::tokenizer::bpe::split::splitting::Split;

#[cfg(test)]
const PATTERN: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

pub(crate) struct Gpt2 {
    classes: Classes,
}

impl Gpt2 {
    pub(crate) fn new() -> Self {
        Self { classes: Classes::get() }
    }
}

impl Split for Gpt2 {
    const OPENERS: Option<Openers> = Some(SPACES);

    fn end(&self, text: &str, start: usize) -> usize {
        let byte = text.as_bytes()[start];
        if byte == b'\''
            && let Some(end) = contraction(&text.as_bytes()[start + 1..])
        {
            return start + 1 + end;
        }
        let at = if byte == b' ' { start + 1 } else { start };
        match self.classes.at(text, at) {
            Some((class, _)) if class & LETTER != 0 => self.classes.letters(text, at),
            Some((class, _)) if class & NUMBER != 0 => self.classes.run(text, at, NUMBER),
            Some((class, _)) if class & SPACE == 0 => self.classes.punctuation(text, at),
            // Line ends are no other white space here.
            _ => white_space(|at| self.classes.at(text, at).map(|(class, len)| (class & !NEWLINE, len)), start),
        }
    }

    /// Not even there: white space that ends a text is one piece, and before other text two.
    fn parts_lines(&self, _: u8) -> bool {
        false
    }
}

/// The length of `s`, `t`, `re`, `ve`, `m`, `ll` or `d`.
fn contraction(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b's' | b't' | b'm' | b'd', ..] => Some(1),
        [b'r' | b'v', b'e', ..] | [b'l', b'l', ..] => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::bpe::split::laws;

    #[test]
    fn pieces_are_those_of_the_pattern() {
        laws::cuts_as_the_pattern(&Gpt2::new(), PATTERN);
    }
}
