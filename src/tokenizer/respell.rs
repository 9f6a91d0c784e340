//! A token's text in other tokens, for content that would produce it by merges but must not.

use foldhash::HashMap;

use crate::tokenizer::{TokenId, Tokenizer};

impl Tokenizer {
    /// The fewest tokens, none of them `avoided`, with the same bytes as this entry; none if there are none, or if this
    /// vocabulary's tokens do not stand for bytes, so that the text would be different.
    pub(crate) fn respell(&self, id: TokenId, avoided: impl Fn(TokenId) -> bool) -> Option<Vec<TokenId>> {
        if !self.spelling.is_exact() {
            return None;
        }
        let whole = self.entry_bytes(id)?;
        let pieces = self.pieces_of(&whole, avoided);
        // From each byte on: how many tokens it takes, and the first of them with its length.
        let mut best: Vec<Option<(usize, TokenId, usize)>> = vec![None; whole.len()];
        for start in (0..whole.len()).rev() {
            let from_here = (start + 1..=whole.len()).rev().filter_map(|end| {
                let rest = if end == whole.len() { 0 } else { best[end]?.0 };
                Some((rest + 1, *pieces.get(&whole[start..end])?, end - start))
            });
            best[start] = from_here.min_by_key(|(count, ..)| *count);
        }
        let mut spelled = Vec::new();
        let mut at = 0;
        while at < whole.len() {
            let (_, piece, length) = best[at]?;
            spelled.push(piece);
            at += length;
        }
        Some(spelled).filter(|spelled| !spelled.is_empty())
    }

    /// The model's own tokens for a part of these bytes. If there are several for one part, the one with the shortest
    /// spelling in the vocabulary: a character rather than its bytes.
    fn pieces_of(&self, whole: &[u8], avoided: impl Fn(TokenId) -> bool) -> HashMap<&[u8], TokenId> {
        let table = self.byte_table();
        let is_part = |bytes: &&[u8]| {
            !bytes.is_empty() && bytes.len() <= whole.len() && memchr::memmem::find(whole, bytes).is_some()
        };
        let mut pieces: HashMap<&[u8], (usize, TokenId)> = HashMap::default();
        for id in 0..self.vocab_size as TokenId {
            let Some(bytes) = table.get(id).filter(is_part) else { continue };
            if self.added.contains_key(&id) || self.unk_token_id == Some(id) || avoided(id) {
                continue;
            }
            let length = self.backend.id_to_token(id).map_or(0, |token| token.len());
            let known = pieces.entry(bytes).or_insert((length, id));
            *known = (*known).min((length, id));
        }
        pieces.into_iter().map(|(bytes, (_, id))| (bytes, id)).collect()
    }
}
