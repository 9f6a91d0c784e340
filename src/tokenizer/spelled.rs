//! Whether the bytes of tokens are a text, and where each of them is in it then.

use std::ops::Range;

use crate::tokenizer::{ByteTable, TokenId};

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
    pub(crate) fn of(text: &str, ids: &[TokenId], table: &ByteTable) -> Self {
        let is = |prefix| is_spelled(table, text.as_bytes(), prefix, ids);
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
        table: &ByteTable,
        begin: usize,
        out: &mut Vec<Range<usize>>,
    ) {
        let (mut end, mut prefix) = (0, self.prefix());
        out.extend(ids.iter().map(|id| {
            let start = end;
            end += table.len_in_text(*id) - prefix;
            prefix = 0;
            let whole = whole_characters(text, start..end);
            begin + whole.start..begin + whole.end
        }));
    }

    /// Replaces each end of a piece of a text, in order, by how many tokens there are up to it. Only the tokens around the
    /// longest piece are looked at.
    pub(crate) fn tokens_until(self, length: usize, ids: &[TokenId], table: &ByteTable, ends: &mut [usize]) {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let lengths = ends.iter().zip(starts).map(|(end, start)| end - start);
        let longest = lengths.enumerate().max_by_key(|(_, length)| *length).map_or(0, |(piece, _)| piece);
        let (before, after) = ends.split_at_mut(longest);
        let (mut count, mut at, mut prefix) = (0, 0, self.prefix());
        for end in before {
            while count < ids.len() && *end > 0 {
                let next = at + table.len_in_text(ids[count]) - prefix;
                if next > *end {
                    break;
                }
                (at, prefix) = (next, 0);
                count += 1;
            }
            *end = count;
        }
        let (mut count, mut at) = (ids.len(), length);
        for end in after.iter_mut().rev() {
            while count > 0 && at > *end {
                count -= 1;
                at = at.saturating_sub(table.len_in_text(ids[count]));
            }
            *end = count;
        }
    }
}

/// Whether the bytes of tokens are `prefix` and `text`.
fn is_spelled(table: &ByteTable, text: &[u8], prefix: &str, ids: &[TokenId]) -> bool {
    let (mut prefix, mut rest) = (prefix.as_bytes(), text);
    for &id in ids {
        let Some(mut token) = table.in_text(id) else { return false };
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
