//! The reserved tokens that content could produce by spelling them out.

use crate::assemble::Assembler;
use crate::error::{Place, Result, Warning};
use crate::tokenizer::{Neighbour, Run, Scratch, TokenId};
use crate::wording::and_more;

impl Assembler {
    /// The reserved tokens that content could produce by spelling them out, by ordinary merges.
    pub(crate) fn reachable(&self) -> Result<Vec<TokenId>> {
        if self.unreserved.is_none() {
            return Ok(Vec::new());
        }
        let (mut scratch, mut ids, mut reachable) = (Scratch::default(), Vec::new(), Vec::new());
        for token in self.tokenizer.added_tokens().filter(|token| self.reserved.contains(token.id)) {
            let run =
                Run { text: &token.content, before: Neighbour::Token(token.id), after: Neighbour::Token(token.id) };
            ids.clear();
            self.tokenizer.encode_run(self.finder(), run, &mut scratch, &mut ids)?;
            if self.reserved.any(&ids) {
                reachable.push(token.id);
            }
        }
        Ok(reachable)
    }

    /// A warning if there are some that no other tokens can write; the error itself if a token cannot be encoded.
    pub(crate) fn refused(&self) -> Option<Warning> {
        let reachable = match self.reachable() {
            Ok(reachable) => reachable,
            Err(error) => return Some(error.into()),
        };
        let refused: Vec<TokenId> = reachable.into_iter().filter(|id| self.respelled(*id).is_none()).collect();
        let (first, others) = refused.split_first()?;
        let token = self.tokenizer.id_to_token(*first).unwrap_or_default();
        let more = and_more(others.len());
        let what = format!(
            "ordinary merges produce the reserved token {token:?} (id {first}){more}, and no other tokens have the same text: content that spells it is rejected"
        );
        Some(Warning::new("reserved-reachable", what).at(Place::file(self.tokenizer.name())))
    }
}
