//! Lines of a text that came before, where the tokens of a text are those of its lines: examples in a prompt that is one
//! string are found again like those between control tokens.

use crate::tokenizer::TokenId;
use crate::tokenizer::first_lines::FirstLines;
use crate::tokenizer::run_cache::{LONG, RunCache};

/// The lines that came before. One per thread, for one tokenizer.
pub(crate) struct Lines {
    first: FirstLines,
    known: RunCache,
}

/// One or more lines of a text that are encoded together.
pub(crate) struct Part<'t> {
    pub(crate) text: &'t str,
    /// Whether something is put before them, as before the text.
    pub(crate) has_prefix: bool,
    /// Whether their tokens are kept: then none of them may be missing.
    pub(crate) is_kept: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { first: FirstLines::default(), known: RunCache::new() }
    }
}

impl Lines {
    /// Appends the tokens of a text, which `encode` makes of its parts, and before which something is put if it `has_prefix`.
    /// `parts` tells whether a line ends before this byte.
    pub(crate) fn encode(
        &mut self,
        text: &str,
        has_prefix: bool,
        parts: impl Fn(u8) -> bool,
        ids: &mut Vec<TokenId>,
        mut encode: impl FnMut(Part<'_>, &mut Vec<TokenId>),
    ) {
        let bytes = text.as_bytes();
        let (common, common_ids) = self.first.common(text, has_prefix, &parts);
        ids.extend_from_slice(common_ids);
        // New lines are encoded together.
        let (mut new, mut start) = (common, common);
        let mut is_known = true;
        let mut encode = |lines: std::ops::Range<usize>, is_kept: bool, ids: &mut Vec<TokenId>| {
            if !lines.is_empty() {
                encode(Part { text: &text[lines.clone()], has_prefix: has_prefix && lines.start == 0, is_kept }, ids);
            }
        };
        // While none comes again, they are mostly left alone.
        let newlines = if self.known.should_look_up_long() { &bytes[common..] } else { &[] };
        for newline in memchr::memchr_iter(b'\n', newlines) {
            let end = common + newline + 1;
            // A shorter line is looked up together with the next one.
            if end < start + LONG || !bytes.get(end).is_some_and(|next| parts(*next)) {
                continue;
            }
            let line = start..end;
            start = end;
            let (text, has_prefix) = (&text[line.clone()], has_prefix && line.start == 0);
            let place = match self.known.look_up(text, has_prefix) {
                Ok(known) => {
                    encode(new..line.start, false, ids);
                    ids.extend_from_slice(known);
                    if is_known {
                        self.first.push(text, known);
                    }
                    new = end;
                    continue;
                }
                Err(place) => place,
            };
            is_known = false;
            if self.known.comes_again(place, text) {
                encode(new..line.start, false, ids);
                let first = ids.len();
                encode(line, true, ids);
                self.known.keep(place, text, has_prefix, &ids[first..]);
                new = end;
            }
        }
        // The last line is mostly new, or the whole text, which others look up.
        encode(new..text.len(), false, ids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_encoded_once_they_are_known() {
        let (mut lines, mut encoded) = (Lines::default(), Vec::new());
        let line = "x".repeat(LONG) + "\n";
        for _ in 0..3 {
            let mut ids = Vec::new();
            lines.encode(
                &format!("{line}{line} \na"),
                true,
                |next| next != b' ',
                &mut ids,
                |Part { text, has_prefix, is_kept }, ids| {
                    encoded.push((text.len(), has_prefix, is_kept));
                    ids.push(text.len() as TokenId);
                },
            );
            assert_eq!(ids.iter().sum::<TokenId>(), 101);
        }
        assert_eq!(
            encoded,
            [(101, true, false), (49, true, true), (51, false, true), (1, false, false), (1, false, false)]
        );
    }

    #[test]
    fn lines_that_come_again_are_always_found() {
        let mut lines = Lines::default();
        let line = "x".repeat(LONG) + "\n";
        for text in 0..3_000 {
            let mut encoded = Vec::new();
            let known = format!("{line}{text}");
            lines.encode(&known, false, |_| true, &mut Vec::new(), |part, _| encoded.push(part.text.len()));
            assert!(text < 2 || encoded == [text.to_string().len()], "{text}: {encoded:?}");
        }
    }
}
