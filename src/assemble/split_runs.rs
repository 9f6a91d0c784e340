//! The runs of a prompt that was encoded, one after the other.

use std::ops::Range;

use crate::compile::Atom;
use crate::render::Segment;
use crate::tokenizer::Neighbour;

/// A run with the ids that it has in the prompt.
pub(super) struct SplitRun<'s, 'a> {
    pub(super) pieces: &'s [Segment<'a>],
    pub(super) before: Neighbour,
    pub(super) after: Neighbour,
    pub(super) ids: Range<usize>,
}

/// The runs of these segments. `run_ends` gives the number of ids up to the end of each run. Between two runs is one token.
pub(super) fn split_runs<'s, 'a>(
    segments: &'s [Segment<'a>],
    run_ends: &[usize],
) -> impl Iterator<Item = SplitRun<'s, 'a>> {
    let tokens = segments.iter().enumerate().filter_map(|(at, segment)| match segment.atom {
        Atom::Token(id) => Some((at, Neighbour::Token(id))),
        Atom::Text(_) => None,
    });
    let (mut before, mut start, mut ids_start) = (Neighbour::Edge, 0, 0);
    tokens.chain([(segments.len(), Neighbour::Edge)]).zip(run_ends).map(move |((end, after), ids_end)| {
        let run = SplitRun { pieces: &segments[start..end], before, after, ids: ids_start..*ids_end };
        (before, start, ids_start) = (after, end + 1, ids_end + 1);
        run
    })
}
