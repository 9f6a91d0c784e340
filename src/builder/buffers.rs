//! Memory that is reused from one prompt to the next.

use std::fmt;

use crate::assemble::AssembleScratch;
use crate::render::{MessageEnd, Segment};

/// What makes repeated building cheap: the segments' memory, and the assembler's buffers.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) segments: Vec<Segment<'static>>,
    pub(super) message_ends: Vec<MessageEnd>,
    pub(super) assemble: AssembleScratch,
}

impl Buffers {
    /// Empties the segments, keeping their memory for segments of another conversation: collecting into the same layout
    /// reuses the allocation.
    pub(super) fn reuse<'b>(mut segments: Vec<Segment<'_>>) -> Vec<Segment<'b>> {
        segments.clear();
        segments.into_iter().map(|_| -> Segment<'b> { unreachable!("it was just emptied") }).collect()
    }
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers").finish_non_exhaustive()
    }
}
