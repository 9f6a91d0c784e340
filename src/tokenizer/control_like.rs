//! What looks like a control token in a text.

use std::ops::Range;

use crate::error::Result;
use crate::tokenizer::{Cut, Tokenizer};

impl Tokenizer {
    /// What looks like a control token in a text, and is none of this tokenizer.
    pub(crate) fn unknown_control_tokens<'t>(&self, text: &'t str) -> Result<Vec<&'t str>> {
        let tokens: Vec<Cut> = self.cut(text)?.into_iter().filter(|cut| cut.token.is_some()).collect();
        let is_known = |look: &Range<usize>| {
            tokens.iter().any(|token| token.bytes.start < look.end && look.start < token.bytes.end)
        };
        Ok(control_like(text).into_iter().filter(|look| !is_known(look)).map(|look| &text[look]).collect())
    }
}

/// Where a text has `<|…|>`, `<｜…｜>`, `<word>`, `</word>` or `[WORD_1]`.
fn control_like(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(['<', '[']).map(|at| from + at) {
        let close = if text[start..].starts_with('<') { '>' } else { ']' };
        let end = text[start + 1..].find(close).map(|at| start + 1 + at + close.len_utf8());
        // Doubled brackets are used as text, as in Llama 2's <<SYS>>.
        let is_doubled = |end: usize| text[..start].ends_with('<') && text[end..].starts_with('>');
        match end.filter(|&end| is_control_like(&text[start + 1..end - 1], close) && !is_doubled(end)) {
            Some(end) => {
                found.push(start..end);
                from = end;
            }
            None => from = start + 1,
        }
    }
    found
}

fn is_control_like(inner: &str, close: char) -> bool {
    let is_word = |word: &str| {
        word.starts_with(char::is_alphabetic) && word.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
    };
    let between = |bar: char| inner.strip_prefix(bar).and_then(|rest| rest.strip_suffix(bar));
    match close {
        '>' => {
            between('|').or(between('｜')).is_some_and(|name| !name.is_empty() && !name.contains(['\n', '<']))
                || is_word(inner.strip_prefix('/').unwrap_or(inner))
        }
        // A single word in brackets is too often plain text, as in Llama 2's [INST].
        _ => {
            inner.contains('_')
                && inner.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' || c == '/')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks() {
        let found = |text: &'static str| control_like(text).into_iter().map(|at| &text[at]).collect::<Vec<_>>();
        assert_eq!(found("a<|im_end|>\n<s>b</s>"), ["<|im_end|>", "<s>", "</s>"]);
        assert_eq!(found("<｜User｜>[UNUSED_TOKEN_145]"), ["<｜User｜>", "[UNUSED_TOKEN_145]"]);
        assert_eq!(found("1 < 2 > 1 <3> [INST] <<SYS>> <||> a<b[0]"), Vec::<&str>::new());
        assert_eq!(found("<用户>"), ["<用户>"]);
    }
}
