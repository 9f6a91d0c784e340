//! The first symbols of a piece, before any merge: its characters, or the bytes of those that have no entry.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::vocabulary::Vocabulary;

/// The mark of SentencePiece for a space.
pub(super) const META_SPACE: char = '▁';

/// Each character is one, or else its bytes are.
pub(crate) struct Symbols {
    /// The ids of characters below U+10000, or [`NONE`].
    ids: Box<[TokenId]>,
    /// The others, in order.
    beyond: Vec<(char, TokenId)>,
    /// `<0x00>` to `<0xFF>`, or [`NONE`] for a character of ASCII that has an id of its own.
    bytes: Box<[TokenId; 256]>,
}

const NONE: TokenId = TokenId::MAX;

impl Symbols {
    /// None if there is a text that the vocabulary cannot write. A space is a meta space.
    pub(crate) fn new(vocabulary: &Vocabulary) -> Option<Self> {
        let mut characters = Self { ids: vec![NONE; 0x10000].into(), beyond: Vec::new(), bytes: Box::new([NONE; 256]) };
        for (id, entry) in vocabulary.iter() {
            let mut chars = entry.chars();
            let (Some(c), None) = (chars.next(), chars.next()) else { continue };
            match characters.ids.get_mut(c as usize) {
                Some(slot) => *slot = id,
                None => characters.beyond.push((c, id)),
            }
        }
        characters.beyond.sort_unstable();
        let space = characters.id(META_SPACE)?;
        characters.ids[usize::from(b' ')] = space;
        for byte in 0..=255_u8 {
            let id = vocabulary.id(&format!("<0x{byte:02X}>")).unwrap_or(NONE);
            if id == NONE && (byte >= 0x80 || characters.ids[usize::from(byte)] == NONE) {
                return None;
            }
            characters.bytes[usize::from(byte)] = id;
        }
        Some(characters)
    }

    /// Appends the symbols of a text.
    pub(crate) fn append(&self, text: &str, symbols: &mut Vec<TokenId>) {
        for c in text.chars() {
            match self.id(c) {
                Some(id) => symbols.push(id),
                None => {
                    let mut bytes = [0; 4];
                    let bytes = c.encode_utf8(&mut bytes).bytes();
                    symbols.extend(bytes.map(|byte| self.bytes[usize::from(byte)]));
                }
            }
        }
    }

    fn id(&self, c: char) -> Option<TokenId> {
        match self.ids.get(c as usize) {
            Some(id) => Some(*id).filter(|id| *id != NONE),
            None => {
                let at = self.beyond.binary_search_by_key(&c, |(c, _)| *c).ok()?;
                Some(self.beyond[at].1)
            }
        }
    }
}
