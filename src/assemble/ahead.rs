//! The runs of a prompt, encoded before the prompt is put together: the new words of all of them are merged together, which
//! takes less time than one run after the other.

use std::ops::Range;

use crate::assemble::cacheable::cacheable;
use crate::assemble::owners::texts;
use crate::assemble::{Assembler, split_runs};
use crate::compile::Atom;
use crate::error::Result;
use crate::render::Segment;
use crate::tokenizer::{LONG_RUN, Neighbour, Run, RunCache, RunPlace, Scratch, TokenId, Tokenizer};

/// The most bytes of text that are encoded ahead: of more, the new words of one run are many by themselves, and all of it
/// is copied.
const MOST: usize = 1 << 20;

/// Runs with their ids, in order.
#[derive(Default)]
pub(super) struct Ahead {
    runs: Vec<Known>,
    /// How many of them were taken.
    taken: usize,
    text: String,
    /// The ids of runs that were found again, and of new ones.
    found: Vec<TokenId>,
    new: Vec<TokenId>,
    /// Where those of each new run end.
    new_ends: Vec<usize>,
}

struct Known {
    before: Neighbour,
    after: Neighbour,
    text: Range<usize>,
    ids: Ids,
}

/// Where the ids of a run are.
enum Ids {
    Found(Range<usize>),
    /// With this number among the new ones, and where it may be kept.
    New(usize, Option<RunPlace>),
}

/// A run that was encoded ahead.
pub(super) struct EncodedRun<'a> {
    pub(super) text: &'a str,
    pub(super) ids: &'a [TokenId],
    pub(super) is_found: bool,
    /// Where it may be kept.
    pub(super) place: Option<RunPlace>,
}

impl Ahead {
    /// Forgets all runs.
    pub(super) fn clear(&mut self) {
        self.taken = 0;
        self.runs.clear();
        self.text.clear();
        self.found.clear();
        self.new.clear();
        self.new_ends.clear();
    }

    /// Encodes the runs of these segments, the first of which has this neighbour, if several may be new.
    pub(super) fn encode(
        &mut self,
        assembler: &Assembler,
        before: Neighbour,
        segments: &[Segment<'_>],
        cache: &mut RunCache,
        buffers: &mut Scratch,
    ) -> Result<()> {
        self.clear();
        let lengths = segments.iter().map(|segment| if let Atom::Text(text) = segment.atom { text.len() } else { 0 });
        let are_several = lengths.clone().filter(|length| *length >= LONG_RUN).nth(1).is_some();
        if !are_several || lengths.sum::<usize>() > MOST {
            return Ok(());
        }
        let Ahead { runs, text: all, found, new, new_ends, .. } = self;
        let mut count = 0;
        for (pieces, [before, after]) in split_runs::runs(before, segments) {
            if !is_nothing(pieces, &assembler.tokenizer) {
                let start = all.len();
                texts(pieces).for_each(|(text, _)| all.push_str(text));
                let text = start..all.len();
                let run = Run { text: &all[text.clone()], before, after };
                let ids = match cacheable(&assembler.tokenizer, run).map(|key| cache.get(key, run.opens_prompt())) {
                    Some(Ok(ids)) => {
                        let start = found.len();
                        found.extend_from_slice(ids);
                        Ids::Found(start..found.len())
                    }
                    missed => {
                        count += 1;
                        Ids::New(count - 1, missed.and_then(|missed| missed.err().flatten()))
                    }
                };
                runs.push(Known { before, after, text, ids });
            }
        }
        let new_runs = runs.iter().filter(|run| matches!(run.ids, Ids::New(..)));
        let new_runs = new_runs.map(|run| Run { text: &all[run.text.clone()], before: run.before, after: run.after });
        assembler.tokenizer.encode_runs(assembler.finder(), new_runs, buffers, new, new_ends)
    }

    /// The next run, if there is one.
    pub(super) fn next(&mut self) -> Option<EncodedRun<'_>> {
        let Known { text, ids, .. } = self.runs.get(self.taken)?;
        self.taken += 1;
        let text = &self.text[text.clone()];
        Some(match ids {
            Ids::Found(ids) => EncodedRun { text, ids: &self.found[ids.clone()], is_found: true, place: None },
            Ids::New(number, place) => {
                let start = number.checked_sub(1).map_or(0, |before| self.new_ends[before]);
                EncodedRun { text, ids: &self.new[start..self.new_ends[*number]], is_found: false, place: *place }
            }
        })
    }
}

/// Whether between two tokens is nothing that could matter.
pub(super) fn is_nothing(pieces: &[Segment<'_>], tokenizer: &Tokenizer) -> bool {
    pieces.is_empty() && !tokenizer.neighbours_matter()
}
