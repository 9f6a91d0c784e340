//! Engines: what continues prompts.
//!
//! ```
//! use std::num::NonZeroUsize;
//!
//! use metatok::engine::{Engine, Request, Requests};
//! use metatok::PromptBuilder;
//!
//! /// Repeats the prompt.
//! struct Echo;
//!
//! impl Engine for Echo {
//!     fn generate(&self, requests: &mut dyn Requests, _max_num_seqs: NonZeroUsize) -> metatok::Result<()> {
//!         for number in 0.. {
//!             let Some(Request { input_ids, max_new_tokens, .. }) = requests.next()? else { break };
//!             for id in input_ids[..max_new_tokens.min(input_ids.len())].to_vec() {
//!                 if requests.token(number, id)?.is_break() {
//!                     break;
//!                 }
//!             }
//!             requests.end(number)?;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let trimmer = PromptBuilder::demo()?.trimmer()?;
//! let answers = Echo.complete(&[Request::new(&[44, 695], 8), Request::new(&[773, 13], 1)], &trimmer, &mut |_, _| Ok(()))?;
//! assert_eq!([&answers[0].token_ids[..], &answers[1].token_ids[..]], [&[44, 695][..], &[773]]);
//! # Ok::<(), metatok::Error>(())
//! ```

#[cfg(feature = "candle")]
mod candle;
mod complete;
mod generation_config;
mod requests;
mod sampler;

use std::num::NonZeroUsize;

use crate::error::Result;
use crate::stop::{Completion, Trimmer};
#[cfg(feature = "candle")]
pub use candle::{CandleDevice, CandleEngine};
pub use complete::GenerationEvent;
pub use requests::{Request, Requests};
pub use sampler::{Sampler, Sampling};

/// How many requests [`Engine::complete`] continues side by side.
const MAX_NUM_SEQS: usize = 16;

/// What continues prompts.
pub trait Engine: Send {
    /// Continues requests, up to `max_num_seqs` side by side: where one ends, the next takes its place. The tokens of
    /// one request come in order. A request ends when [`Requests::token`] breaks off, at its `max_new_tokens`, or when
    /// the model's context is full. Equal requests give equal tokens.
    ///
    /// # Errors
    /// Errors of `requests`, and requests that the engine cannot continue.
    fn generate(&self, requests: &mut dyn Requests, max_num_seqs: NonZeroUsize) -> Result<()>;

    /// How many tokens a prompt and its answer may have together, if known.
    fn max_seq_len(&self) -> Option<usize> {
        None
    }

    /// Continues requests to where the model stops, up to 16 side by side, and trims them there. `watch` sees the text
    /// of each grow. A request is named by its index.
    ///
    /// # Errors
    /// The same as for [`Self::generate`], errors of `watch`, and an id that the tokenizer does not have.
    fn complete(
        &self,
        requests: &[Request<'_>],
        trimmer: &Trimmer,
        watch: &mut dyn FnMut(usize, GenerationEvent<'_>) -> Result<()>,
    ) -> Result<Vec<Completion>> {
        let max_num_seqs = NonZeroUsize::new(requests.len().min(MAX_NUM_SEQS)).unwrap_or(NonZeroUsize::MIN);
        let mut completing = complete::Completing::new(requests, trimmer, watch);
        self.generate(&mut completing, max_num_seqs)?;
        completing.completions()
    }
}
