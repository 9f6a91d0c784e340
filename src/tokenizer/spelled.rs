//! Whether the bytes of tokens are a text, and where each of them is in it then.

use std::ops::Range;

use crate::tokenizer::TokenId;

/// How the bytes of a run's tokens are its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelled {
    Exactly,
    /// With one space before, which the tokenizer put there.
    AfterSpace,
    /// They are not, as of text that a normalizer changes, or it is for the library to say.
    Otherwise,
}

impl Spelled {
    /// How many bytes are before the text.
    fn prefix(self) -> usize {
        usize::from(self == Self::AfterSpace)
    }

    /// How the bytes of tokens are a text.
    pub(crate) fn of<B: AsRef<[u8]>>(text: &str, ids: &[TokenId], bytes: impl Fn(TokenId) -> Option<B>) -> Self {
        let is = |prefix| is_spelled(&bytes, text.as_bytes(), prefix, ids);
        if is("") {
            Self::Exactly
        } else if is(" ") {
            Self::AfterSpace
        } else {
            Self::Otherwise
        }
    }

    /// Appends the bytes of a text that each of its tokens comes from, counted from `begin`: whole characters, so that all
    /// tokens that share a character have its bytes.
    pub(crate) fn offsets(
        self,
        text: &str,
        ids: &[TokenId],
        length: impl Fn(TokenId) -> usize,
        begin: usize,
        out: &mut Vec<Range<usize>>,
    ) {
        // Where the characters begin that the last token did not end.
        let mut whole = 0;
        let (mut end, mut prefix) = (0, self.prefix());
        out.extend(ids.iter().map(|id| {
            let start = end;
            end += length(*id) - prefix;
            prefix = 0;
            if start < end && text.is_char_boundary(end) {
                let from = std::mem::replace(&mut whole, end);
                return begin + from..begin + end;
            }
            let characters = whole_characters(text, start..end);
            whole = whole_characters(text, end..end).start;
            begin + characters.start..begin + characters.end
        }));
    }

    /// Replaces each end of a piece of a text, in order, by how many tokens there are up to it. Only the tokens around the
    /// longest piece are looked at.
    pub(crate) fn tokens_until(
        self,
        text_length: usize,
        ids: &[TokenId],
        length: impl Fn(TokenId) -> usize,
        ends: &mut [usize],
    ) {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let lengths = ends.iter().zip(starts).map(|(end, start)| end - start);
        let longest = lengths.enumerate().max_by_key(|(_, length)| *length).map_or(0, |(piece, _)| piece);
        let (before, after) = ends.split_at_mut(longest);
        let (mut count, mut at, mut prefix) = (0, 0, self.prefix());
        for end in before {
            while count < ids.len() && *end > 0 {
                let next = at + length(ids[count]) - prefix;
                if next > *end {
                    break;
                }
                (at, prefix) = (next, 0);
                count += 1;
            }
            *end = count;
        }
        let (mut count, mut at) = (ids.len(), text_length);
        for end in after.iter_mut().rev() {
            while count > 0 && at > *end {
                count -= 1;
                at = at.saturating_sub(length(ids[count]));
            }
            *end = count;
        }
    }
}

/// Whether the bytes of tokens are `prefix` and `text`.
fn is_spelled<B: AsRef<[u8]>>(
    bytes: impl Fn(TokenId) -> Option<B>,
    text: &[u8],
    prefix: &str,
    ids: &[TokenId],
) -> bool {
    let (mut prefix, mut rest) = (prefix.as_bytes(), text);
    for &id in ids {
        let Some(token) = bytes(id) else { return false };
        let mut token = token.as_ref();
        if !prefix.is_empty() {
            let Some(after) = token.strip_prefix(prefix) else { return false };
            (token, prefix) = (after, b"");
        }
        let Some(after) = rest.strip_prefix(token) else { return false };
        rest = after;
    }
    rest.is_empty()
}

/// The characters with these bytes; if there are no bytes, the character at this position.
fn whole_characters(text: &str, bytes: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = bytes;
    if start == end && end < text.len() {
        end += 1;
    }
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}
