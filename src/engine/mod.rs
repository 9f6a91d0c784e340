//! Engines: what continues prompts. A new engine is a file in this folder.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use metatok::engine::{Engine, OnToken, Request, Sampling};
//!
//! /// Repeats the prompt.
//! struct Echo;
//!
//! impl Engine for Echo {
//!     fn generate(&self, requests: &[Request<'_>], on_token: &mut OnToken<'_>) -> metatok::Result<()> {
//!         for (i, request) in requests.iter().enumerate() {
//!             for &id in request.input_ids.iter().take(request.max_new_tokens) {
//!                 if on_token(i, id)? == ControlFlow::Break(()) {
//!                     break;
//!                 }
//!             }
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let request = Request { input_ids: &[44, 695], max_new_tokens: 8, sampling: Sampling::default() };
//! let mut ids = Vec::new();
//! Echo.generate(&[request], &mut |_, id| {
//!     ids.push(id);
//!     Ok(ControlFlow::Continue(()))
//! })?;
//! assert_eq!(ids, [44, 695]);
//! # Ok::<(), metatok::Error>(())
//! ```

#[cfg(feature = "candle")]
mod candle;
mod generation_config;
mod sampler;

use std::ops::ControlFlow;

use crate::error::{At, Place, Result};
use crate::stop::{Completion, Trimmer};
use crate::tokenizer::TokenId;
#[cfg(feature = "candle")]
pub use candle::{CandleDevice, CandleEngine};
pub use sampler::{Sampler, Sampling};

/// A prompt to continue.
#[derive(Debug, Clone, Copy)]
pub struct Request<'p> {
    /// The prompt.
    pub input_ids: &'p [TokenId],
    /// How many tokens the answer may have.
    pub max_new_tokens: usize,
    /// How its tokens are chosen.
    pub sampling: Sampling,
}

/// Takes a token of a request, given by its index, and returns whether that request continues.
pub type OnToken<'f> = dyn FnMut(usize, TokenId) -> Result<ControlFlow<()>> + 'f;

/// The events of a request while it is answered.
#[derive(Debug, Clone, Copy)]
pub enum GenerationEvent<'p> {
    /// It has a further token.
    Token,
    /// Text of the answer that cannot be part of a stop.
    Text(&'p str),
    /// The answer is complete.
    End(&'p Completion),
}

/// What continues prompts.
pub trait Engine: Send {
    /// Continues requests side by side. Each token is passed to `on_token`, those of one request in order. A request
    /// ends when that breaks off, at its `max_new_tokens`, or when the model's context is full. Equal requests in an
    /// equal order give equal tokens.
    ///
    /// # Errors
    /// Errors of `on_token`, and requests that the engine cannot continue.
    fn generate(&self, requests: &[Request<'_>], on_token: &mut OnToken<'_>) -> Result<()>;

    /// How many tokens a prompt and its answer may have together, if known.
    fn max_seq_len(&self) -> Option<usize> {
        None
    }

    /// Continues requests to where the model stops, and trims them there. `watch` sees the text of each grow.
    ///
    /// # Errors
    /// The same as for [`Self::generate`], errors of `watch`, and an id that the tokenizer does not have.
    fn complete(
        &self,
        requests: &[Request<'_>],
        trimmer: &Trimmer,
        watch: &mut dyn FnMut(usize, GenerationEvent<'_>) -> Result<()>,
    ) -> Result<Vec<Completion>> {
        let mut streams: Vec<_> = requests.iter().map(|_| Some(trimmer.stream())).collect();
        let mut completions: Vec<Option<Completion>> = vec![None; requests.len()];
        let mut text = String::new();
        let mut step = |request: usize, id: Option<TokenId>| -> Result<ControlFlow<()>> {
            let Some(mut stream) = streams[request].take() else { return Ok(ControlFlow::Break(())) };
            text.clear();
            let mut is_last = true;
            if let Some(id) = id {
                watch(request, GenerationEvent::Token)?;
                let has_stopped = stream.push(id, &mut text).at(Place::Request(request))?.is_some();
                is_last = has_stopped || stream.tokens_read() == requests[request].max_new_tokens;
            }
            if !is_last {
                streams[request] = Some(stream);
                if !text.is_empty() {
                    watch(request, GenerationEvent::Text(&text))?;
                }
                return Ok(ControlFlow::Continue(()));
            }
            stream.finish(&mut text);
            if !text.is_empty() {
                watch(request, GenerationEvent::Text(&text))?;
            }
            let completion = completions[request].insert(stream.complete()?);
            watch(request, GenerationEvent::End(completion))?;
            Ok(ControlFlow::Break(()))
        };
        self.generate(requests, &mut |request, id| step(request, Some(id)))?;
        for request in 0..requests.len() {
            let _ = step(request, None)?;
        }
        Ok(completions.into_iter().flatten().collect())
    }
}
