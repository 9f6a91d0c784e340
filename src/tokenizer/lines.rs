//! Lines of a text that came before, where the tokens of a text are those of its lines: examples in a prompt that is one
//! string are found again like those between control tokens.

use crate::tokenizer::TokenId;
use crate::tokenizer::run_cache::RunCache;

/// A shorter line is looked up together with the next one.
const SHORTEST: usize = 48;

/// The lines that came before. One per thread, for one tokenizer.
pub(crate) struct Lines(RunCache);

impl Default for Lines {
    fn default() -> Self {
        Self(RunCache::new())
    }
}

impl Lines {
    /// Appends the tokens of a text, which `encode` makes of a line, and of whether something is put before it, as before
    /// the text if it `has_prefix`. `parts` tells whether a line ends before this byte.
    pub(crate) fn encode(
        &mut self,
        text: &str,
        has_prefix: bool,
        parts: impl Fn(u8) -> bool,
        ids: &mut Vec<TokenId>,
        mut encode: impl FnMut(&str, bool, &mut Vec<TokenId>),
    ) {
        let bytes = text.as_bytes();
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', bytes) {
            let end = newline + 1;
            if end < start + SHORTEST || !bytes.get(end).is_some_and(|next| parts(*next)) {
                continue;
            }
            let (line, has_prefix) = (&text[start..end], has_prefix && start == 0);
            start = end;
            match self.0.get(line, has_prefix) {
                Ok(known) => ids.extend_from_slice(known),
                Err(place) => {
                    let first = ids.len();
                    encode(line, has_prefix, ids);
                    if let Some(place) = place {
                        self.0.put(place, line, has_prefix, &ids[first..]);
                    }
                }
            }
        }
        // The last line is mostly new, or the whole text, which others look up.
        encode(&text[start..], has_prefix && start == 0, ids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_encoded_once_they_are_known() {
        let (mut lines, mut encoded) = (Lines::default(), Vec::new());
        let line = "x".repeat(SHORTEST) + "\n";
        for _ in 0..3 {
            let mut ids = Vec::new();
            lines.encode(
                &format!("{line}{line} \na"),
                true,
                |next| next != b' ',
                &mut ids,
                |text, has_prefix, ids| {
                    encoded.push((text.len(), has_prefix));
                    ids.push(text.len() as TokenId);
                },
            );
            assert_eq!(ids, [49, 51, 1]);
        }
        let once = [(49, true), (51, false), (1, false)];
        assert_eq!(encoded, [&once[..], &once, &once[2..]].concat());
    }
}
