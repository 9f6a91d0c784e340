//! Cutting a template's text at its control tokens.

use std::ops::Range;

use crate::error::Result;
use crate::tokenizer::added::{AddedTokenMatcher, Form};
use crate::tokenizer::{AddedToken, TokenId, Tokenizer};

/// A piece of a text that was cut at its added tokens: one of them, or text between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) token: Option<TokenId>,
    pub(crate) bytes: Range<usize>,
}

impl Tokenizer {
    /// Cuts a template's text at its added tokens, as the library would in a separate text. White space and single
    /// characters stay text, because in the joined string a longer token may begin with them and end in the content after.
    pub(crate) fn cut(&self, text: &str) -> Result<Vec<Cut>> {
        let mut cuts = Vec::new();
        let mut start = 0;
        for (id, found) in self.finder.find(Form::Raw, text) {
            self.cut_normalized(text, start..found.start, &mut cuts)?;
            start = found.end;
            cuts.push(Cut { token: Some(id), bytes: found });
        }
        self.cut_normalized(text, start..text.len(), &mut cuts)?;
        Ok(self.left_as_text(cuts))
    }

    fn left_as_text(&self, cuts: Vec<Cut>) -> Vec<Cut> {
        let mut merged: Vec<Cut> = Vec::with_capacity(cuts.len());
        for Cut { token, bytes } in cuts {
            let token = token.filter(|id| !self.added.get(id).is_some_and(AddedToken::is_ordinary_text));
            match merged.last_mut() {
                Some(Cut { token: None, bytes: before }) if token.is_none() => before.end = bytes.end,
                _ => merged.push(Cut { token, bytes }),
            }
        }
        merged
    }

    fn cut_normalized(&self, text: &str, part: Range<usize>, cuts: &mut Vec<Cut>) -> Result<()> {
        let text = &text[part.clone()];
        let mut start = 0;
        let mut cut = |finder: &AddedTokenMatcher| {
            for (id, found) in finder.find(Form::Normalized, text) {
                if start < found.start {
                    cuts.push(Cut { token: None, bytes: part.start + start..part.start + found.start });
                }
                start = found.end;
                cuts.push(Cut { token: Some(id), bytes: part.start + found.start..part.start + found.end });
            }
            if start < text.len() {
                cuts.push(Cut { token: None, bytes: part.start + start..part.end });
            }
        };
        if self.finder.is_empty(Form::Normalized) || self.normalize(text)? == text {
            cut(&self.finder);
        } else {
            cut(self.finder_as_written()?);
        }
        Ok(())
    }

    /// Positions in the normalized text are not positions in the text, so there tokens are searched for as written.
    fn finder_as_written(&self) -> Result<&AddedTokenMatcher> {
        if let Some(made) = self.finder_as_written.get() {
            return Ok(made);
        }
        let normalized = self.added.values().filter(|token| token.normalized);
        let finder = AddedTokenMatcher::new(normalized, |form| Ok(form.to_owned()))?;
        Ok(self.finder_as_written.get_or_init(|| finder))
    }
}
