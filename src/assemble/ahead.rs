//! The runs of a prompt, encoded before the prompt is put together: the new words of all of them are merged together, which
//! takes less time than one run after the other.

use std::ops::Range;

use crate::assemble::cacheable::cacheable;
use crate::assemble::owners::texts;
use crate::assemble::{Assembler, split_runs};
use crate::compile::Atom;
use crate::error::Result;
use crate::render::Segment;
use crate::tokenizer::{LONG_RUN, Neighbour, Run, RunCache, Scratch, TokenId, Tokenizer};

/// The most bytes of text that are encoded ahead, because all of it is copied.
const MOST: usize = 1 << 20;

/// Runs with their ids, in order.
#[derive(Default)]
pub(super) struct Ahead {
    runs: Vec<Known>,
    /// How many of them were taken.
    taken: usize,
    text: String,
    /// The ids of runs that are kept, and of new ones.
    kept: Vec<TokenId>,
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
    /// Kept from now on.
    Kept(Range<usize>),
    /// With this number among the new ones.
    New(usize),
}

/// A run that was encoded ahead.
pub(super) struct EncodedRun<'a> {
    pub(super) text: &'a str,
    pub(super) ids: &'a [TokenId],
    /// Whether it was found again.
    pub(super) is_found: bool,
}

impl Ahead {
    /// Forgets all runs.
    pub(super) fn clear(&mut self) {
        self.taken = 0;
        self.runs.clear();
        self.text.clear();
        self.kept.clear();
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
        let Ahead { runs, text: all, kept, new, new_ends, .. } = self;
        let mut count = 0;
        for (pieces, [before, after]) in split_runs::runs(before, segments) {
            if !is_nothing(pieces, &assembler.tokenizer) {
                let start = all.len();
                texts(pieces).for_each(|(text, _)| all.push_str(text));
                let text = start..all.len();
                let run = Run { text: &all[text.clone()], before, after };
                let start = kept.len();
                let key = cacheable(&assembler.tokenizer, run);
                let found =
                    key.map(|key| (key, cache.get(key, run.opens_prompt()).map(|ids| kept.extend_from_slice(ids))));
                let ids = match found {
                    Some((_, Ok(()))) => Ids::Found(start..kept.len()),
                    // It may come a third time in this prompt.
                    Some((key, Err(Some(place)))) if cache.comes_again(place, key) => {
                        assembler.tokenizer.encode_run(assembler.finder(), run, buffers, kept)?;
                        if assembler.is_clean(&kept[start..]) {
                            cache.keep(place, key, run.opens_prompt(), &kept[start..]);
                        }
                        Ids::Kept(start..kept.len())
                    }
                    _ => {
                        count += 1;
                        Ids::New(count - 1)
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
        let ids = match ids {
            Ids::Found(ids) => return Some(EncodedRun { text, ids: &self.kept[ids.clone()], is_found: true }),
            Ids::Kept(ids) => &self.kept[ids.clone()],
            Ids::New(number) => {
                let start = number.checked_sub(1).map_or(0, |before| self.new_ends[before]);
                &self.new[start..self.new_ends[*number]]
            }
        };
        Some(EncodedRun { text, ids, is_found: false })
    }
}

/// Whether between two tokens is nothing that could matter.
pub(super) fn is_nothing(pieces: &[Segment<'_>], tokenizer: &Tokenizer) -> bool {
    pieces.is_empty() && !tokenizer.neighbours_matter()
}
