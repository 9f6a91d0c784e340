//! The first symbols of a piece, before any merge: its bytes, or its characters.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::bytes::{byte_of, char_of};

/// The mark of SentencePiece for a space.
pub(super) const META_SPACE: char = '▁';

/// How a text becomes symbols.
pub(crate) enum Symbols {
    /// Each byte is one.
    Bytes(Box<[TokenId; 256]>),
    Characters(Characters),
}

/// Each character is one, or else its bytes are.
pub(crate) struct Characters {
    /// The ids of characters below U+10000, or [`NONE`].
    ids: Box<[TokenId]>,
    /// The others, in order.
    beyond: Vec<(char, TokenId)>,
    /// `<0x00>` to `<0xFF>`, or [`NONE`] for a character of ASCII that has an id of its own.
    bytes: Box<[TokenId; 256]>,
}

const NONE: TokenId = TokenId::MAX;

impl Symbols {
    /// None if the vocabulary lacks a byte.
    pub(crate) fn of_bytes(vocabulary: &Vocabulary) -> Option<Self> {
        let mut ids = Box::new([NONE; 256]);
        for byte in 0..=255 {
            ids[usize::from(byte)] = vocabulary.id(char_of(byte).encode_utf8(&mut [0; 4]))?;
        }
        Some(Self::Bytes(ids))
    }

    /// None if there is a text that the vocabulary cannot write. A space is a meta space.
    pub(crate) fn of_characters(vocabulary: &Vocabulary) -> Option<Self> {
        let mut characters =
            Characters { ids: vec![NONE; 0x10000].into(), beyond: Vec::new(), bytes: Box::new([NONE; 256]) };
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
        Some(Self::Characters(characters))
    }

    /// The text of an entry. None if no text is spelled so.
    pub(crate) fn text<'t>(&self, entry: &str, bytes: &'t mut Vec<u8>) -> Option<&'t str> {
        bytes.clear();
        for c in entry.chars() {
            match (self, c) {
                (Self::Bytes(_), c) => bytes.push(byte_of(c)?),
                (Self::Characters(_), ' ') => return None,
                (Self::Characters(_), META_SPACE) => bytes.push(b' '),
                (Self::Characters(_), c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        str::from_utf8(bytes).ok()
    }

    /// Appends the symbols of these bytes.
    #[inline]
    pub(crate) fn append_bytes(&self, bytes: &[u8], symbols: &mut Vec<TokenId>) {
        let (Self::Bytes(ids) | Self::Characters(Characters { bytes: ids, .. })) = self;
        symbols.extend(bytes.iter().map(|byte| ids[usize::from(*byte)]));
    }

    /// Appends the symbols of a short ASCII text. False if not all characters are symbols.
    #[inline]
    pub(crate) fn append_ascii(&self, bytes: [u8; 16], len: usize, symbols: &mut Vec<TokenId>) -> bool {
        // Always the same number, so that nothing depends on how many they are.
        let all = match self {
            Self::Bytes(ids) => bytes.map(|byte| ids[usize::from(byte)]),
            Self::Characters(Characters { ids, .. }) => bytes.map(|byte| ids[usize::from(byte)]),
        };
        let are_symbols = all[..len].iter().all(|id| *id != NONE);
        if are_symbols {
            let end = symbols.len() + len;
            symbols.extend_from_slice(&all);
            symbols.truncate(end);
        }
        are_symbols
    }

    /// Appends the symbols of a text.
    pub(crate) fn append(&self, text: &str, symbols: &mut Vec<TokenId>) {
        match self {
            Self::Bytes(_) => self.append_bytes(text.as_bytes(), symbols),
            Self::Characters(characters) => {
                for c in text.chars() {
                    match characters.id(c) {
                        Some(id) => symbols.push(id),
                        None => {
                            let mut bytes = [0; 4];
                            let bytes = c.encode_utf8(&mut bytes).bytes();
                            symbols.extend(bytes.map(|byte| characters.bytes[usize::from(byte)]));
                        }
                    }
                }
            }
        }
    }
}

impl Characters {
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
