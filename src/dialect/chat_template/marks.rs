//! Marks around what a conversation brings, by which its text is found again in a rendered prompt.
//!
//! A mark is one of the last characters for private use, which hardly any text has: fonts of icons have others. An opening
//! mark names the owner of the text after it, and the closing mark ends that text.

use std::borrow::Cow;
use std::ops::Range;

/// The first opening mark, that of owner 0.
const FIRST: u32 = 0x10_8000;
/// The last opening mark.
const LAST: u32 = 0x10_FFFC;
const CLOSE: char = '\u{10_FFFD}';
/// The first byte of each mark.
const FIRST_BYTE: u8 = 0xF4;

/// Whose a text is: an index that the caller gives meaning to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner(u32);

impl Owner {
    /// The first one, whose texts are nobody's in particular.
    pub(super) const NOBODY: Self = Self(0);

    /// The owner with this index; owners after the last mark share it.
    pub(super) fn new(index: usize) -> Self {
        Self(u32::try_from(index).map_or(LAST, |index| index.saturating_add(FIRST).min(LAST)) - FIRST)
    }

    /// Its index; none for owners that share a mark.
    pub(super) fn index(self) -> Option<u32> {
        Some(self.0).filter(|index| index + FIRST < LAST)
    }

    fn open(self) -> char {
        char::from_u32(FIRST + self.0).expect("the range has no surrogates")
    }
}

/// Whether a character is used as a mark.
pub(super) fn is_mark(c: char) -> bool {
    c as u32 >= FIRST
}

/// The first character of a text that is used as a mark.
pub(super) fn first_mark(text: &str) -> Option<char> {
    let mut found = memchr::memchr_iter(FIRST_BYTE, text.as_bytes()).filter_map(|at| text[at..].chars().next());
    found.find(|c| is_mark(*c))
}

/// Whether a text has characters that are used as marks.
pub(super) fn has_marks(text: &str) -> bool {
    first_mark(text).is_some()
}

/// A text with marks around it; an empty text stays empty, because templates ask whether it is.
pub(super) fn mark(text: &str, owner: Owner) -> String {
    let mut marked = String::with_capacity(text.len() + 8);
    push(&mut marked, text, Some(owner));
    marked
}

fn push(marked: &mut String, text: &str, owner: Option<Owner>) {
    match owner {
        Some(owner) if !text.is_empty() => {
            marked.push(owner.open());
            marked.push_str(text);
            marked.push(CLOSE);
        }
        _ => marked.push_str(text),
    }
}

/// A text without its marks, and the owners of its parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) text: String,
    /// Which bytes have an owner, in order.
    pub(super) owned: Vec<(Range<usize>, Owner)>,
}

impl Marked {
    /// Reads a text with marks; none if they do not pair.
    pub(super) fn read(marked: &str) -> Option<Self> {
        let mut read = Self { text: String::with_capacity(marked.len()), owned: Vec::new() };
        let (mut rest, mut open) = (marked, None);
        while let Some((before, mark)) = next_mark(rest) {
            read.text.push_str(&rest[..before]);
            let end = read.text.len();
            open = match (open, mark) {
                (None, Mark::Open(owner)) => Some((end, owner)),
                (Some((start, owner)), Mark::Close) => {
                    read.own(start..end, owner);
                    None
                }
                _ => return None,
            };
            rest = &rest[before + CLOSE.len_utf8()..];
        }
        read.text.push_str(rest);
        open.is_none().then_some(read)
    }

    fn own(&mut self, bytes: Range<usize>, owner: Owner) {
        match self.owned.last_mut() {
            _ if bytes.is_empty() => {}
            Some((last, same)) if last.end == bytes.start && *same == owner => last.end = bytes.end,
            _ => self.owned.push((bytes, owner)),
        }
    }

    /// Some of its bytes, with marks.
    pub(super) fn slice(&self, bytes: Range<usize>) -> String {
        let mut marked = String::with_capacity(bytes.len() + 8);
        for (piece, owner) in self.pieces(bytes) {
            push(&mut marked, &self.text[piece], owner);
        }
        marked
    }

    /// The pieces of these bytes, each of one owner or none.
    pub(super) fn pieces(&self, bytes: Range<usize>) -> impl Iterator<Item = (Range<usize>, Option<Owner>)> {
        let mut at = bytes.start;
        let mut owned =
            self.owned[self.owned.partition_point(|(owned, _)| owned.end <= bytes.start)..].iter().peekable();
        std::iter::from_fn(move || {
            if at >= bytes.end {
                return None;
            }
            let (end, owner) = match owned.peek() {
                Some((next, _)) if next.start > at => (next.start, None),
                Some((next, owner)) => {
                    let end = next.end;
                    let owner = *owner;
                    owned.next();
                    (end, Some(owner))
                }
                None => (bytes.end, None),
            };
            let piece = at..end.min(bytes.end);
            at = piece.end;
            Some((piece, owner))
        })
    }
}

/// A text without its marks, if it has any that pair.
pub(super) fn without_marks(text: &str) -> Cow<'_, str> {
    if !has_marks(text) {
        return text.into();
    }
    Marked::read(text).map_or(text.into(), |marked| marked.text.into())
}

enum Mark {
    Open(Owner),
    Close,
}

/// The next mark, and how many bytes are before it.
fn next_mark(text: &str) -> Option<(usize, Mark)> {
    memchr::memchr_iter(FIRST_BYTE, text.as_bytes()).find_map(|at| match text[at..].chars().next()? {
        CLOSE => Some((at, Mark::Close)),
        c => (FIRST..=LAST).contains(&(c as u32)).then(|| (at, Mark::Open(Owner(c as u32 - FIRST)))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_text_is_read_again() {
        let (one, two) = (Owner::new(0), Owner::new(7));
        let marked = format!("<{}{}>{}", mark("Ä b", one), mark("", two), mark("c", two));
        let read = Marked::read(&marked).expect("marks pair");
        assert_eq!(read.text, "<Ä b>c");
        assert_eq!(read.owned, [(1..5, one), (6..7, two)]);
        assert_eq!(read.slice(0..read.text.len()), marked);
        assert_eq!(read.slice(3..6), format!("{}>", mark(" b", one)));
    }

    #[test]
    fn marks_that_do_not_pair_are_not_read() {
        let whole = mark("abc", Owner::new(3));
        for broken in [&whole[4..], &whole[..whole.len() - 4], &whole[..6].repeat(2)] {
            assert_eq!(Marked::read(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn icons_are_no_marks() {
        assert!(!has_marks("a \u{E000} 🏴\u{E0067}\u{E007F} 猫 \u{F0001}\u{100186}\u{107FFF}"));
        assert!(has_marks("a\u{108000}") && has_marks("\u{10FFFD}"));
        assert!(has_marks(&mark("a", Owner::new(0))) && has_marks(&mark("a", Owner::new(usize::MAX))));
    }
}
