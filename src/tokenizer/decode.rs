//! Decoding ids to text.

use crate::error::Result;
use crate::tokenizer::{TokenId, Tokenizer};

impl Tokenizer {
    /// The text of ids, without the special tokens among them if `skip_special_tokens`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutsideVocabulary`] for an id that is too high, [`crate::ErrorKind::UnusedTokenId`] for one in a gap.
    pub fn decode(&self, ids: &[TokenId], skip_special_tokens: bool) -> Result<String> {
        let kept = ids.iter().copied().filter(|id| !(skip_special_tokens && self.is_special(*id)));
        if self.backend.decode_ids(&[]).is_none() {
            let tokens = kept.map(|id| self.spelling(id)).collect::<Result<_>>()?;
            return self.try_library(|| self.backend.decode(tokens));
        }
        let (mut text, mut own) = (String::new(), Vec::new());
        let flush = |own: &mut Vec<TokenId>, text: &mut String| -> Result<()> {
            if let Some(decoded) = self.try_library(|| self.backend.decode_ids(own).transpose())? {
                text.push_str(&decoded);
            }
            own.clear();
            Ok(())
        };
        for id in kept {
            match self.added.get(&id) {
                Some(token) => {
                    flush(&mut own, &mut text)?;
                    text.push_str(&token.content);
                }
                None => {
                    self.check_id(i128::from(id))?;
                    own.push(id);
                }
            }
        }
        flush(&mut own, &mut text)?;
        Ok(text)
    }

    fn spelling(&self, id: TokenId) -> Result<String> {
        match self.added.get(&id) {
            Some(token) if token.normalized => self.normalize(&token.content),
            _ => self.id_to_token(id).ok_or_else(|| self.missing(id)),
        }
    }

    fn is_special(&self, id: TokenId) -> bool {
        self.added.get(&id).is_some_and(|token| token.special)
    }
}
