//! The origin of each byte of a run.

use std::ops::Range;

use crate::compile::Atom;
use crate::render::{Part, Segment};

/// The texts of a run with their origins.
pub(super) fn texts<'a>(pieces: &[Segment<'a>]) -> impl Iterator<Item = (&'a str, Part)> {
    pieces.iter().filter_map(|piece| match piece.atom {
        Atom::Text(text) => Some((text, piece.part)),
        Atom::Token(_) => None,
    })
}

/// Which piece of a run each of its bytes belongs to.
pub(super) struct Owners(Vec<(usize, Part)>);

impl Owners {
    pub(super) fn new(pieces: &[Segment<'_>]) -> Self {
        let mut end = 0;
        Self(
            texts(pieces)
                .map(|(text, part)| {
                    end += text.len();
                    (end, part)
                })
                .collect(),
        )
    }

    /// Whether any of these bytes is content.
    pub(super) fn have_content(&self, bytes: &Range<usize>) -> bool {
        let first = self.0.partition_point(|(end, _)| *end <= bytes.start);
        let starts = std::iter::once(0).chain(self.0.iter().map(|(end, _)| *end));
        let pieces = self.0.iter().zip(starts).skip(first);
        pieces.take_while(|(_, start)| *start < bytes.end.max(bytes.start + 1)).any(|((_, part), _)| part.is_content())
    }

    /// The piece of the last of these bytes.
    pub(super) fn of(&self, bytes: &Range<usize>) -> Part {
        let last_byte = bytes.end.saturating_sub(1).max(bytes.start);
        let piece = self.0.partition_point(|(end, _)| *end <= last_byte);
        self.0.get(piece).or(self.0.last()).map_or(Part::default(), |(_, part)| *part)
    }
}
