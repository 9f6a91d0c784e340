//! Requests: the prompts that an engine continues, and the source that it takes them from and returns their tokens to.

use std::ops::ControlFlow;

use crate::engine::Sampling;
use crate::error::Result;
use crate::tokenizer::TokenId;

/// A prompt to continue.
#[derive(Debug, Clone, Copy)]
pub struct Request<'p> {
    /// The prompt.
    pub input_ids: &'p [TokenId],
    /// How many tokens the answer may have.
    pub max_new_tokens: usize,
    /// How its tokens are chosen.
    pub sampling: Sampling,
    /// The dialogue that it belongs to. An engine may keep what it has read of a dialogue, so that only the rest of its
    /// next prompt is read. Requests of one dialogue come one after the other, never side by side.
    pub dialogue: Option<u64>,
}

impl<'p> Request<'p> {
    /// A prompt that belongs to no dialogue and is continued greedily.
    ///
    /// ```
    /// use metatok::engine::Request;
    ///
    /// let request = Request::new(&[44, 695], 8);
    /// assert_eq!((request.sampling.temperature, request.dialogue), (0.0, None));
    /// ```
    pub fn new(input_ids: &'p [TokenId], max_new_tokens: usize) -> Self {
        Self { input_ids, max_new_tokens, sampling: Sampling::default(), dialogue: None }
    }
}

/// The source of an engine's requests, which also receives their tokens. The engine numbers requests from 0, in the
/// order in which it takes them.
pub trait Requests {
    /// The next request. The engine asks whenever it has room for one. After none, it asks again as long as other
    /// requests are in progress, and is done when there are none. The next turn of a dialogue finds its cache if it
    /// comes right after the end of the previous one.
    ///
    /// # Errors
    /// Any error ends the engine's work.
    fn next(&mut self) -> Result<Option<Request<'_>>>;

    /// The prompt of a request is read. This many of its tokens were in the cache.
    ///
    /// # Errors
    /// Any error ends the engine's work.
    fn prefilled(&mut self, _request: usize, _cached_tokens: usize) -> Result<()> {
        Ok(())
    }

    /// Takes the next token of a request, and returns whether that request continues. It ends at a stop and at its
    /// `max_new_tokens`; tokens after that are not read.
    ///
    /// # Errors
    /// Any error ends the engine's work.
    fn token(&mut self, request: usize, id: TokenId) -> Result<ControlFlow<()>>;

    /// A request is complete: [`Self::token`] broke off, or it has its `max_new_tokens`, or the context is full. The
    /// engine calls this once for each request.
    ///
    /// # Errors
    /// Any error ends the engine's work.
    fn end(&mut self, request: usize) -> Result<()>;
}
