//! The runs of the last prompt that was too long, with their ids. The shortened prompt has most of these runs, and
//! takes their ids from here.

use std::ops::Range;

use crate::assemble::messages_before::Start;
use crate::assemble::owners::texts;
use crate::assemble::split_runs::{SplitRun, split_runs};
use crate::render::Segment;
use crate::tokenizer::{Neighbour, Run, TokenId};

/// The runs of the last prompt that was too long, with their ids.
#[derive(Default)]
pub(crate) struct LastTooLong {
    text: String,
    ids: Vec<TokenId>,
    runs: Vec<Known>,
}

struct Known {
    before: Neighbour,
    after: Neighbour,
    text: Range<usize>,
    ids: Range<usize>,
}

impl LastTooLong {
    /// Takes the place of the last one. `run_ends` says how many ids there are up to the end of each run. Of segments that
    /// start after others, the run in which they start is not taken.
    pub(super) fn set(&mut self, start: Start, segments: &[Segment<'_>], ids: &[TokenId], run_ends: &[usize]) {
        self.text.clear();
        self.runs.clear();
        self.ids.clear();
        self.ids.extend_from_slice(ids);
        let skipped = usize::from(start != Start::default());
        let run_ends = run_ends.get(start.runs..).unwrap_or_default();
        for SplitRun { pieces, before, after, ids } in split_runs(segments, run_ends).skip(skipped) {
            let start = self.text.len();
            texts(pieces).for_each(|(text, _)| self.text.push_str(text));
            self.runs.push(Known { before, after, text: start..self.text.len(), ids });
        }
    }

    /// Forgets them.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }

    /// The ids of a run after which there are `behind` others, if it is the same.
    pub(super) fn get(&self, behind: usize, run: Run<'_>) -> Option<&[TokenId]> {
        let at = self.runs.len().checked_sub(behind + 1)?;
        let Known { before, after, text, ids } = &self.runs[at];
        let is_same = (*before, *after) == (run.before, run.after) && self.text[text.clone()] == *run.text;
        is_same.then(|| &self.ids[ids.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Atom;
    use crate::render::Part;

    #[test]
    fn runs_are_found_from_the_end_with_the_same_text_and_neighbours() {
        let atoms = [Atom::Token(7), Atom::Text("He"), Atom::Text("llo"), Atom::Token(8), Atom::Text("Bye")];
        let segments = atoms.map(|atom| Segment { atom, part: Part::default() });
        let mut last = LastTooLong::default();
        last.set(Start::default(), &segments, &[7, 1, 2, 8, 3], &[0, 3, 5]);
        let [edge, seven, eight] = [Neighbour::Edge, Neighbour::Token(7), Neighbour::Token(8)];
        for (behind, before, text, after, expected) in [
            (0, eight, "Bye", edge, Some(&[3][..])),
            (1, seven, "Hello", eight, Some(&[1, 2])),
            (2, edge, "", seven, Some(&[])),
            (0, eight, "Hello", edge, None),
            (0, seven, "Bye", edge, None),
            (0, eight, "Bye", seven, None),
            (1, seven, "Hell", eight, None),
            (3, edge, "", seven, None),
        ] {
            assert_eq!(last.get(behind, Run { text, before, after }), expected, "{behind}, {text:?}");
        }
        // The first of these runs began before them.
        let start = Start { segments: 4, runs: 1, bytes: 3 };
        last.set(start, &segments[2..], &[7, 1, 2, 8, 3], &[0, 3, 5]);
        assert_eq!(last.get(0, Run { text: "Bye", before: eight, after: edge }), Some(&[3][..]));
        assert_eq!(last.get(1, Run { text: "llo", before: edge, after: eight }), None);
        last.clear();
        assert_eq!(last.get(0, Run { text: "Bye", before: eight, after: edge }), None);
    }
}
