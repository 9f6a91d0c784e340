//! The runs of a prompt, one after the other.

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

/// The runs of these segments, each with its neighbours. Between two runs is one token.
pub(super) fn runs<'s, 'a>(
    mut before: Neighbour,
    segments: &'s [Segment<'a>],
) -> impl Iterator<Item = (&'s [Segment<'a>], [Neighbour; 2])> {
    let tokens = segments.iter().enumerate().filter_map(|(at, segment)| match segment.atom {
        Atom::Token(id) => Some((at, Neighbour::Token(id))),
        Atom::Text(_) => None,
    });
    let mut start = 0;
    tokens.chain([(segments.len(), Neighbour::Edge)]).map(move |(end, after)| {
        let run = (&segments[start..end], [before, after]);
        (before, start) = (after, end + 1);
        run
    })
}

/// The runs of the segments of a prompt that was encoded. `run_ends` gives the number of ids up to the end of each run.
pub(super) fn split_runs<'s, 'a>(
    segments: &'s [Segment<'a>],
    run_ends: &[usize],
) -> impl Iterator<Item = SplitRun<'s, 'a>> {
    let mut ids_start = 0;
    runs(Neighbour::Edge, segments).zip(run_ends).map(move |((pieces, [before, after]), ids_end)| {
        let run = SplitRun { pieces, before, after, ids: ids_start..*ids_end };
        ids_start = ids_end + 1;
        run
    })
}
