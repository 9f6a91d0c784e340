//! Strings that look like control tokens but are not.

use std::ops::Range;

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;
use crate::template::AffixItem;

pub(super) const LINT: Lint = Lint {
    code: "unknown-control-token",
    level: Level::Warning,
    about: "A string looks like a control token, or like its id, but is not a token of this tokenizer.",
    why: "It is split into ordinary pieces, which the model rarely saw in training, and content can write the same. \
        Look for a spelling mistake, or for a template that belongs to another tokenizer. A few models do use such \
        strings as text: for these, put allow = [\"unknown-control-token\"] in the model file.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    for (place, affix) in subject.affixes() {
        for item in &affix.0 {
            let AffixItem::Text(text) = item else { continue };
            if let Some(id) = text.parse().ok().filter(|id| subject.tokenizer.added_token(*id).is_some()) {
                let message = format!("{text:?} is text, not the token {}", subject.name(id));
                findings.add(&place, message, "write the id in a list, without quotes");
            }
            let tokens: Vec<_> = subject.tokenizer.cut(text)?.into_iter().filter(|cut| cut.token.is_some()).collect();
            for found in control_like(text) {
                let is_token = |cut: &crate::tokenizer::Cut| cut.bytes.start < found.end && found.start < cut.bytes.end;
                if !tokens.iter().any(is_token) {
                    let look = &text[found];
                    let message = format!(
                        "{look:?} is not a token in this vocabulary; it is split into {}",
                        subject.pieces(look)?
                    );
                    let help = "write a token that the tokenizer has, or plain words";
                    let help = match subject.tokenizer.added_like(look) {
                        Some(near) => format!("did you mean `{near}`? otherwise, {help}"),
                        None => help.to_owned(),
                    };
                    findings.add(&place, message, help);
                }
            }
        }
    }
    Ok(())
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
