//! The bytes of every token at once, for reading a model's output without decoding it again and again.

use crate::error::Result;
use crate::tokenizer::TokenId;

/// The bytes of each id of a vocabulary in a text without special tokens. Made once; a look-up is two array accesses.
#[derive(Debug)]
pub(crate) struct ByteTable {
    bytes: Vec<u8>,
    /// Where the bytes of each id begin, and then where the last ones end.
    starts: Vec<u32>,
    /// The special tokens in the order of their ids, with the bytes that they would have otherwise.
    special: Vec<(TokenId, Vec<u8>)>,
    /// The ids that do not exist.
    gaps: Vec<TokenId>,
}

impl ByteTable {
    /// For this many ids, the bytes of each, and the special tokens.
    pub(crate) fn new(
        ids: TokenId,
        bytes: impl Fn(TokenId) -> Option<Vec<u8>>,
        mut special: Vec<(TokenId, Vec<u8>)>,
    ) -> Self {
        special.sort_unstable();
        let mut table = Self { bytes: Vec::new(), starts: vec![0], special, gaps: Vec::new() };
        for id in 0..ids {
            match bytes(id) {
                Some(_) if table.special(id).is_some() => {}
                Some(bytes) => table.bytes.extend_from_slice(&bytes),
                None => table.gaps.push(id),
            }
            table.starts.push(table.bytes.len() as u32);
        }
        table
    }

    /// Where the bytes of an id begin and end.
    #[inline]
    fn bounds(&self, id: TokenId) -> Option<[usize; 2]> {
        match self.starts.get(id as usize..id as usize + 2)? {
            [start, end] => Some([*start as usize, *end as usize]),
            _ => None,
        }
    }

    /// The bytes of an id, if it exists.
    pub(crate) fn get(&self, id: TokenId) -> Option<&[u8]> {
        let [start, end] = self.bounds(id)?;
        if start == end && self.gaps.binary_search(&id).is_ok() {
            return None;
        }
        Some(&self.bytes[start..end])
    }

    /// The bytes of an id in a text with special tokens; none if it does not exist, or has none.
    #[inline]
    pub(crate) fn in_text(&self, id: TokenId) -> Option<&[u8]> {
        self.get(id).filter(|token| !token.is_empty()).or_else(|| self.special(id))
    }

    /// How many bytes that are.
    #[inline]
    pub(crate) fn len_in_text(&self, id: TokenId) -> usize {
        match self.bounds(id) {
            Some([start, end]) if start < end => end - start,
            _ => self.special(id).map_or(0, <[u8]>::len),
        }
    }

    /// The bytes of a special token if it is not left out; none if it is not special.
    pub(crate) fn special(&self, id: TokenId) -> Option<&[u8]> {
        let at = self.special.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(&self.special[at].1)
    }

    /// The bytes of an id.
    ///
    /// # Errors
    /// Names an id that does not exist.
    pub(crate) fn require(&self, id: TokenId) -> Result<&[u8]> {
        self.get(id).ok_or_else(|| {
            let size = self.starts.len() - 1;
            if (id as usize) < size {
                crate::ErrorKind::UnusedTokenId(id).into()
            } else {
                crate::ErrorKind::OutsideVocabulary { id: id.into(), size }.into()
            }
        })
    }
}
