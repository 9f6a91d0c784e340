//! The code within a template's tags, as words, signs and texts in quotes.

use std::ops::Range;

use crate::dialect::chat_template::source::{end_of_text, tags};

/// A piece of a tag's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A name, a keyword or a number.
    Word(&'t str),
    Sign(char),
    /// What stands between quotes, with its escapes.
    Text(&'t str),
}

/// The code of one tag. A place is the index of a token, and may be past the end.
pub(super) struct Code<'t> {
    tokens: Vec<Token<'t>>,
    /// Where each token is in its tag.
    spans: Vec<Range<usize>>,
    /// The matching bracket of each bracket.
    partners: Vec<Option<usize>>,
    pub(super) is_statement: bool,
}

/// The code of each statement and expression of a template.
pub(super) fn codes(source: &str) -> impl Iterator<Item = Code<'_>> {
    tags(source).map(Code::of)
}

impl<'t> Code<'t> {
    /// The code of a tag with its delimiters.
    pub(super) fn of(tag: &'t str) -> Self {
        let (tokens, spans): (Vec<_>, Vec<_>) = tokens(&tag[2..tag.len() - 2]).unzip();
        let spans = spans.into_iter().map(|span| 2 + span.start..2 + span.end).collect();
        let partners = partners(&tokens);
        Self { tokens, spans, partners, is_statement: tag.starts_with("{%") }
    }

    /// Where a token begins in its tag, which must have it.
    pub(super) fn start(&self, at: usize) -> usize {
        self.spans[at].start
    }

    /// Where a token is in its tag, which must have it; a text with its quotes.
    pub(super) fn span(&self, at: usize) -> Range<usize> {
        self.spans[at].clone()
    }

    /// The places between two others, in the parts that commas outside of further brackets make.
    pub(super) fn parts(&self, open: usize, close: usize) -> Vec<Range<usize>> {
        let (mut parts, mut start, mut at) = (Vec::new(), open + 1, open + 1);
        while at < close {
            if self.is(at, ',') {
                parts.push(start..at);
                start = at + 1;
            }
            at = self.partner(at).filter(|partner| *partner > at).unwrap_or(at) + 1;
        }
        parts.push(start..close);
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Where the keyword of a statement is: behind the sign that takes away the blanks of the text before the tag.
    pub(super) fn keyword_place(&self) -> usize {
        usize::from(matches!(self.sign(0), Some('-' | '+')))
    }

    pub(super) fn places(&self) -> Range<usize> {
        0..self.tokens.len()
    }

    pub(super) fn word(&self, at: usize) -> Option<&'t str> {
        match self.tokens.get(at) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    pub(super) fn text(&self, at: usize) -> Option<&'t str> {
        match self.tokens.get(at) {
            Some(Token::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn sign(&self, at: usize) -> Option<char> {
        match self.tokens.get(at) {
            Some(Token::Sign(sign)) => Some(*sign),
            _ => None,
        }
    }

    pub(super) fn is(&self, at: usize, sign: char) -> bool {
        self.sign(at) == Some(sign)
    }

    /// Where the bracket is that closes or opens the one here.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.partners.get(at).copied().flatten()
    }

    /// Whether each bracket has another one. In other tags than these, Jinja may see the end elsewhere.
    pub(super) fn is_balanced(&self) -> bool {
        self.places()
            .all(|at| !matches!(self.sign(at), Some('(' | ')' | '[' | ']' | '{' | '}')) || self.partner(at).is_some())
    }

    /// The texts in quotes, with their places.
    pub(super) fn texts(&self) -> impl Iterator<Item = (usize, &'t str)> {
        self.places().filter_map(|at| Some((at, self.text(at)?)))
    }

    /// The words outside of quotes.
    pub(super) fn words(&self) -> impl Iterator<Item = &'t str> {
        self.places().filter_map(|at| self.word(at))
    }

    /// Whether this is the first argument of a call of one of these names.
    pub(super) fn is_argument_of(&self, at: usize, names: &[&str]) -> bool {
        let name = self.word(at.wrapping_sub(2));
        self.is(at.wrapping_sub(1), '(') && name.is_some_and(|name| names.contains(&name))
    }

    /// Whether the bracket here ends a call of this method or filter.
    pub(super) fn ends_call_of(&self, close: usize, by: char, name: &str) -> bool {
        let is_of = |open: usize| self.word(open.wrapping_sub(1)) == Some(name) && self.is(open.wrapping_sub(2), by);
        self.is(close, ')') && self.partner(close).is_some_and(is_of)
    }
}

/// The tokens, each with its bytes.
fn tokens(code: &str) -> impl Iterator<Item = (Token<'_>, Range<usize>)> {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = code.trim_start();
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let start = code.len() - rest.len();
        let (token, end) = match first {
            '\'' | '"' => {
                let end = end_of_text(&rest[1..], first);
                (Token::Text(&rest[1..=end]), (end + 2).min(rest.len()))
            }
            c if is_of_word(c) => {
                let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                (Token::Word(&rest[..end]), end)
            }
            c => (Token::Sign(c), c.len_utf8()),
        };
        rest = rest[end..].trim_start();
        Some((token, start..start + end))
    })
}

fn partners(tokens: &[Token<'_>]) -> Vec<Option<usize>> {
    let (mut partners, mut open) = (vec![None; tokens.len()], Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        let opening = match token {
            Token::Sign('(' | '[' | '{') => {
                open.push(at);
                continue;
            }
            Token::Sign(')') => '(',
            Token::Sign(']') => '[',
            Token::Sign('}') => '{',
            _ => continue,
        };
        let Some(start) = open.pop().filter(|start| tokens[*start] == Token::Sign(opening)) else { continue };
        (partners[start], partners[at]) = (Some(at), Some(start));
    }
    partners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_words_signs_and_texts() {
        use Token::{Sign, Text, Word};
        let expected =
            [Word("x"), Sign('['), Word("1"), Sign(']'), Sign('~'), Text(r#"a\'}}"#), Sign('|'), Word("é_2")];
        let only = |code: &'static str| tokens(code).map(|(token, _)| token).collect::<Vec<_>>();
        assert_eq!(only(r#" x[1]~ 'a\'}}'|é_2"#), expected);
        assert_eq!(only(r#"'\\' "'" '"#), [Text(r"\\"), Text("'"), Text("")]);
        assert_eq!(tokens(" é.b").map(|(_, span)| span).collect::<Vec<_>>(), [1..3, 3..4, 4..5]);
    }

    #[test]
    fn brackets_have_partners() {
        let codes: Vec<Code<'_>> = codes("{{ a.f(x[0]) }}{# [ #}{% if {'a': {}}} %}").collect();
        assert_eq!(codes.len(), 2);
        assert!(codes[0].is_balanced() && codes[0].partner(3) == Some(8) && codes[0].ends_call_of(8, '.', "f"));
        assert!(!codes[1].is_balanced() && codes[1].is_statement);
    }
}
