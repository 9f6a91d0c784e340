//! The bytes of a single token, and those of every token at once.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::tokenizer::added::is_character;
use crate::tokenizer::{AddedToken, ByteTable, TokenId, Tokenizer};

/// Looking up more tokens one by one costs a part of what reading the vocabulary does.
const FEW: usize = 1 << 13;

impl Tokenizer {
    /// The bytes of a token within a text, which need not be whole characters: `[0x20, 0x68, 0x69]` for `Ġhi` or `▁hi`,
    /// `[0xe4]` for `<0xE4>`, the string of an added token. Joined, the bytes of a text's tokens are the normalizer's
    /// output for the text.
    ///
    /// ```
    /// let tokenizer = metatok::Tokenizer::demo()?;
    /// let ids = tokenizer.encode("Grüße 🎉")?;
    /// let bytes: Vec<u8> = ids.iter().filter_map(|&id| tokenizer.token_bytes(id)).flatten().collect();
    /// assert_eq!(bytes, "Grüße 🎉".as_bytes());
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn token_bytes(&self, id: TokenId) -> Option<Vec<u8>> {
        let entry = self.backend.id_to_token(id);
        match self.added.get(&id) {
            // Gemma also lists its runs of white space, which come from the model, as added tokens.
            Some(token) if self.spelling.is_byte_level() || entry.as_ref() != Some(&token.content) => {
                Some(token.content.clone().into_bytes())
            }
            _ => Some(self.spelling.bytes(&entry?)),
        }
    }

    /// The bytes of the vocabulary's entry with this id. They are not those of an added token that a file declares at the
    /// id of another text.
    pub(crate) fn entry_bytes(&self, id: TokenId) -> Option<Vec<u8>> {
        Some(self.spelling.bytes(&self.backend.id_to_token(id)?))
    }

    /// The text that becomes the id of an added token too, because a file declares the token at the id of an entry.
    pub(crate) fn entry_beside(&self, token: &AddedToken) -> Option<AddedToken> {
        let content = String::from_utf8(self.entry_bytes(token.id)?).ok()?;
        (content != token.content && !self.is_character(token.id)).then(|| AddedToken { content, ..token.clone() })
    }

    /// Whether the vocabulary's entry with this id is a single character, which everybody writes.
    pub(crate) fn is_character(&self, id: TokenId) -> bool {
        self.entry_bytes(id).is_some_and(|bytes| is_character(&bytes))
    }

    /// The bytes of a token in a text with special tokens; none if it does not exist, or has none.
    pub(crate) fn bytes_in_text(&self, id: TokenId) -> Option<Cow<'_, [u8]>> {
        match self.added.get(&id).filter(|token| token.special) {
            Some(token) => Some(Cow::Borrowed(token.content.as_bytes())),
            None => self.token_bytes(id).filter(|bytes| !bytes.is_empty()).map(Cow::Owned),
        }
    }

    /// The bytes of every token for this many look-ups, unless single ones still cost less than reading the vocabulary.
    pub(crate) fn table_for(&self, look_ups: usize) -> Option<&ByteTable> {
        if let Some(table) = self.bytes.get() {
            return Some(table);
        }
        let before = self.look_ups.fetch_add(look_ups, Ordering::Relaxed);
        (before + look_ups > FEW).then(|| &**self.byte_table())
    }

    /// The bytes of every token. The first call reads the whole vocabulary.
    pub(crate) fn byte_table(&self) -> &Arc<ByteTable> {
        self.bytes.get_or_init(|| {
            let special = self.added_tokens().filter(|token| token.special);
            let special = special.map(|token| (token.id, token.content.clone().into_bytes())).collect();
            Arc::new(ByteTable::new(self.vocab_size() as TokenId, |id| self.token_bytes(id), special))
        })
    }
}
