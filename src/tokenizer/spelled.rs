//! Whether the bytes of a run's tokens are its text, and where each token is in it then.

use std::ops::Range;

use crate::tokenizer::{ByteTable, Neighbour, Run, TokenId, Tokenizer, strip};

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
}

impl Tokenizer {
    /// How the bytes of tokens are a text, from which its neighbours have taken what they take.
    pub(crate) fn spelled(&self, text: &str, ids: &[TokenId]) -> Spelled {
        // The classic library knows better.
        if self.fallback.is_some() {
            return Spelled::Otherwise;
        }
        let is = |prefix| is_spelled(self.byte_table(), text.as_bytes(), prefix, ids);
        if is("") {
            Spelled::Exactly
        } else if is(" ") {
            Spelled::AfterSpace
        } else {
            Spelled::Otherwise
        }
    }

    /// Appends the bytes of the run that each of its tokens comes from, if they are spelled: whole characters, counted from
    /// where the run begins.
    pub(crate) fn spelled_offsets(
        &self,
        run: Run<'_>,
        spelled: Spelled,
        ids: &[TokenId],
        begin: usize,
        offsets: &mut Vec<Range<usize>>,
    ) {
        let (bytes, table) = (self.left_of(run), self.byte_table());
        let (text, begin) = (&run.text[bytes.clone()], begin + bytes.start);
        let (mut end, mut prefix) = (0, spelled.prefix());
        offsets.extend(ids.iter().map(|id| {
            let start = end;
            end += table.len_in_text(*id) - prefix;
            prefix = 0;
            let whole = whole_characters(text, start..end);
            begin + whole.start..begin + whole.end
        }));
    }

    /// Replaces each end of a piece of the run, in order, by how many tokens there are up to it, if they are spelled. Only
    /// the tokens around the longest piece are looked at.
    pub(crate) fn tokens_until(&self, run: Run<'_>, spelled: Spelled, ids: &[TokenId], ends: &mut [usize]) {
        let (bytes, table) = (self.left_of(run), self.byte_table());
        for end in ends.iter_mut() {
            *end = (*end).clamp(bytes.start, bytes.end) - bytes.start;
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let lengths = ends.iter().zip(starts).map(|(end, start)| end - start);
        let longest = lengths.enumerate().max_by_key(|(_, length)| *length).map_or(0, |(piece, _)| piece);
        let (before, after) = ends.split_at_mut(longest);
        let (mut count, mut at) = (0, 0);
        let mut prefix = spelled.prefix();
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
        let (mut count, mut at) = (ids.len(), bytes.len());
        for end in after.iter_mut().rev() {
            while count > 0 && at > *end {
                count -= 1;
                at = at.saturating_sub(table.len_in_text(ids[count]));
            }
            *end = count;
        }
    }

    /// The bytes of a run that its neighbours leave.
    fn left_of(&self, run: Run<'_>) -> Range<usize> {
        if !self.neighbours_matter {
            return 0..run.text.len();
        }
        let token = |neighbour| match neighbour {
            Neighbour::Token(id) => self.added.get(&id),
            Neighbour::Edge => None,
        };
        strip(run.text, token(run.before), token(run.after))
    }

    /// The text that its neighbours leave of a run.
    pub(crate) fn text_left_of<'r>(&self, run: Run<'r>) -> &'r str {
        &run.text[self.left_of(run)]
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
