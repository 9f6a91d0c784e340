//! A slot for one of the sequences that are continued side by side, with its cache.

use std::ops::ControlFlow;

use super::cache::Cache;
use crate::common_prefix::common_prefix;
use crate::engine::{Request, Requests, Sampler};
use crate::error::Result;
use crate::tokenizer::TokenId;

/// A slot for one sequence.
pub(super) struct Slot {
    pub(super) cache: Cache,
    /// The tokens in the cache.
    ids: Vec<TokenId>,
    /// The dialogue that these belong to.
    dialogue: Option<u64>,
    running: Option<Running>,
}

/// A request that is being continued.
struct Running {
    number: usize,
    sampler: Sampler,
    /// How many further tokens it may have.
    room: usize,
    /// Its last token, which is not in the cache yet.
    last: TokenId,
}

impl Slot {
    pub(super) fn new(cache: Cache) -> Self {
        Self { cache, ids: Vec::new(), dialogue: None, running: None }
    }

    pub(super) fn is_free(&self) -> bool {
        self.running.is_none()
    }

    /// A free slot: the one that has this dialogue, if there is one.
    pub(super) fn free_for(slots: &mut [Self], dialogue: Option<u64>) -> Option<&mut Self> {
        let has_dialogue = |slot: &Self| slot.is_free() && dialogue.is_some() && slot.dialogue == dialogue;
        let found = slots.iter().position(has_dialogue).or_else(|| slots.iter().position(Self::is_free))?;
        slots.get_mut(found)
    }

    /// Keeps the common prefix of the prompt and the cache if they belong to one dialogue, and returns how many tokens
    /// it has. At least the prompt's last token remains to be read.
    pub(super) fn keep(&mut self, request: &Request<'_>) -> usize {
        let same = common_prefix(&self.ids, request.input_ids);
        let is_same_dialogue = request.dialogue.is_some() && request.dialogue == self.dialogue;
        let kept = if is_same_dialogue { same.min(request.input_ids.len() - 1) } else { 0 };
        self.cache.truncate(kept);
        self.ids.clear();
        self.ids.extend_from_slice(request.input_ids);
        self.dialogue = request.dialogue;
        kept
    }

    /// Begins with the request whose prompt is now in the cache.
    pub(super) fn run(&mut self, number: usize, sampler: Sampler, room: usize) {
        self.running = Some(Running { number, sampler, room, last: 0 });
    }

    /// The token to read next, and its position. A free slot reads any.
    pub(super) fn next(&self) -> (TokenId, u32) {
        self.running.as_ref().map_or((0, 0), |running| (running.last, self.ids.len() as u32))
    }

    /// The cache, if there is a sequence.
    pub(super) fn running_cache(&mut self) -> Option<&mut Cache> {
        self.running.as_ref().map(|_| &mut self.cache)
    }

    /// The token that [`Self::next`] returned is now in the cache.
    pub(super) fn was_read(&mut self) {
        self.ids.extend(self.running.as_ref().map(|running| running.last));
    }

    /// Takes the logits after the last token in the cache: passes on the next token, and ends the request if it is the
    /// last.
    pub(super) fn take(&mut self, logits: &[f32], requests: &mut dyn Requests) -> Result<()> {
        let Some(running) = &mut self.running else { return Ok(()) };
        running.last = running.sampler.sample(logits)?;
        running.room -= 1;
        let number = running.number;
        if requests.token(number, running.last)? == ControlFlow::Continue(()) && running.room > 0 {
            return Ok(());
        }
        self.running = None;
        requests.end(number)
    }
}
