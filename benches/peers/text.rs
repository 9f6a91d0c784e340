//! Pieces of a real text, one after the other.

use std::path::Path;

/// A text that is cut into pieces of as many characters as asked for. White space around a piece is removed. When the text
/// ends, it begins again, each time a little later, so that no piece is like an earlier one.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    text: String,
    at: usize,
    /// How often it began.
    pub(crate) passes: usize,
    /// No piece has any of these, so that guarded content, trusted content and a joined string all have the same ids.
    avoided: Vec<String>,
}

impl Text {
    pub(crate) fn read(path: &Path) -> std::io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        Ok(Self { text, at: 0, passes: 1, avoided: Vec::new() })
    }

    /// The same text from its beginning.
    pub(crate) fn avoiding(&self, avoided: &[String]) -> Self {
        Self { text: self.text.clone(), at: 0, passes: 1, avoided: avoided.to_vec() }
    }

    pub(crate) fn chars(&self) -> usize {
        self.text.chars().count()
    }

    pub(crate) fn take(&mut self, chars: usize) -> String {
        loop {
            let rest = &self.text[self.at..];
            let Some((length, _)) = rest.char_indices().nth(chars) else {
                self.begin_again();
                continue;
            };
            let piece = rest[..length].trim();
            self.at += length;
            if !piece.is_empty() && !self.avoided.iter().any(|token| piece.contains(token)) {
                return piece.to_owned();
            }
        }
    }

    fn begin_again(&mut self) {
        let offset = 97 * self.passes;
        self.at = self.text.char_indices().nth(offset).map_or(0, |(at, _)| at);
        self.passes += 1;
        assert!(self.passes < 10_000, "the text is too short to take a piece of it");
    }
}
