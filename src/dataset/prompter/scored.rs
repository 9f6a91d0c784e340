//! The part of a text that is scored, as opposed to its context.

use std::ops::Range;

use crate::error::{ErrorKind, Result};

/// The part of a text to score whose likelihood counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ScoredText {
    /// All of it.
    #[default]
    Whole,
    /// Everything after this many bytes.
    After(usize),
    /// The last bytes, this many: an answer after its context. Its tokens are those that the prompt has beyond the
    /// tokens of the context alone, without the white space at the end of the context. See
    /// [`PromptBuilder::context_tokens`](crate::PromptBuilder::context_tokens).
    Continuation(usize),
    /// The last messages, this many: what the prompt has after that of the messages before. See
    /// [`PromptBuilder::tokens_before`](crate::PromptBuilder::tokens_before).
    Messages(usize),
    /// The last occurrence of this text: a continuation, wherever the template puts it.
    Last(String),
}

impl ScoredText {
    /// The bytes of a prompt's text that are scored; none if all are, or if messages are. For
    /// [`TokenizedPrompt::labels`](crate::TokenizedPrompt::labels).
    ///
    /// # Errors
    /// [`ErrorKind::Row`] if the continuation is empty, or not in the text.
    pub fn bytes(&self, text: &str) -> Result<Option<Range<usize>>> {
        match self {
            Self::Whole | Self::Messages(_) => Ok(None),
            Self::After(start) => Ok(Some((*start).min(text.len())..text.len())),
            Self::Continuation(bytes) => Ok(Some(text.len().saturating_sub(*bytes)..text.len())),
            Self::Last(continuation) if continuation.is_empty() => {
                let what = "the continuation is empty, so no token is scored; fill its column";
                Err(ErrorKind::Row(what.into()).into())
            }
            Self::Last(continuation) => match last(text, continuation) {
                Some(start) => Ok(Some(start..start + continuation.len())),
                None => Err(ErrorKind::Row(format!(
                    "the prompt does not contain the continuation {continuation:?}; put its column in the template"
                ))
                .into()),
            },
        }
    }
}

/// Where a text has another for the last time.
fn last(text: &str, other: &str) -> Option<usize> {
    /// Of a template there are hardly more bytes after it. To look there costs less than to prepare a search.
    const NEAR: usize = 64;
    let ends_with = |behind: &usize| {
        let before = text.len().checked_sub(*behind).map(|end| &text.as_bytes()[..end]);
        before.is_some_and(|before| before.ends_with(other.as_bytes()))
    };
    match (0..=NEAR).find(ends_with) {
        Some(behind) => Some(text.len() - behind - other.len()),
        None => text.rfind(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_counts_wherever_it_is() {
        for behind in [0, 1, 63, 64, 65, 200] {
            for other in ["", "é", "ab", &"ab".repeat(50)] {
                let text = format!("{other} {other}{}", "-".repeat(behind));
                assert_eq!(last(&text, other), text.rfind(other), "{behind}, {other:?}");
            }
            assert_eq!(last(&"-".repeat(behind), "é"), None);
        }
    }
}
