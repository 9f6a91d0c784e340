//! Reserved tokens in content are replaced by other tokens.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use crate::assemble::assembly::Assembly;
use crate::assemble::own_tokens::OwnTokens;
use crate::assemble::owners::Owners;
use crate::assemble::{Assembler, Respelled};
use crate::error::{ErrorKind, Result};
use crate::render::Segment;
use crate::tokenizer::{Run, TokenId};

impl Assembler {
    /// A reserved token's text in other tokens, if possible.
    pub(crate) fn respelled(&self, id: TokenId) -> Respelled {
        let mut respelled = self.respelled.lock().unwrap_or_else(PoisonError::into_inner);
        let respell = || self.tokenizer.respell(id, |id| self.reserved.contains(id)).map(Arc::from);
        respelled.entry(id).or_insert_with(respell).clone()
    }

    /// The bytes of the run for tokens that have these bytes together: each token's own bytes, if they are in the text.
    fn bytes_of(&self, ids: &[TokenId], bytes: &Range<usize>) -> Vec<Range<usize>> {
        let lengths = ids.iter().map(|&id| self.tokenizer.token_bytes(id).unwrap_or_default().len());
        if lengths.clone().sum::<usize>() != bytes.len() {
            return vec![bytes.clone(); ids.len()];
        }
        let each = lengths.scan(bytes.start, |at, length| {
            let start = *at;
            *at += length;
            Some(start..*at)
        });
        each.collect()
    }
}

impl Assembly<'_> {
    /// Text produced reserved tokens. That is only allowed for the template's own; any other is replaced by other
    /// tokens with the same bytes. Returns the bytes of all tokens of the run.
    pub(super) fn write_out(
        &mut self,
        run: Run<'_>,
        pieces: &[Segment<'_>],
        own: Option<&OwnTokens>,
        first: usize,
    ) -> Result<Vec<Range<usize>>> {
        let assembler = self.assembler;
        let found = assembler.tokenizer.offsets(assembler.finder(), run, &self.ids[first..])?;
        let owners = Owners::new(pieces);
        let (mut ids, mut offsets) = (Vec::with_capacity(found.len() + 4), Vec::with_capacity(found.len() + 4));
        for (&id, bytes) in self.ids[first..].iter().zip(found) {
            let is_own = || own.map_or_else(|| !owners.have_content(&bytes), |own| own.contains(id, &bytes));
            if !assembler.reserved.contains(id) || is_own() {
                ids.push(id);
                offsets.push(bytes);
                continue;
            }
            let Some(others) = assembler.respelled(id) else {
                let token = assembler.tokenizer.id_to_token(id).unwrap_or_default();
                let (excerpt, is_listed) = (excerpt(run.text, &bytes), assembler.listed.contains(&id));
                return Err(ErrorKind::ReservedInContent { id, token, excerpt, is_listed }.into());
            };
            offsets.extend(assembler.bytes_of(&others, &bytes));
            ids.extend_from_slice(&others);
        }
        self.ids.truncate(first);
        self.ids.append(&mut ids);
        Ok(offsets)
    }
}

/// The bytes with a little of the text around them, whole characters only.
fn excerpt(text: &str, bytes: &Range<usize>) -> String {
    let start = (0..=bytes.start.saturating_sub(20)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let end =
        ((bytes.end + 20).min(text.len())..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    text[start..end].to_owned()
}
