//! Segments become token ids.
//!
//! Adjacent text, whatever its origin, is encoded as one run; runs are cut only at tokens. So the ids equal those of
//! the whole prompt as one string, and yet no content can write a reserved token.

mod ahead;
mod assembler;
mod assembly;
mod beginning;
mod cacheable;
mod content_trust;
mod continuation;
mod detail;
mod locating;
mod last_too_long;
mod messages_before;
mod own_tokens;
mod owners;
mod placeholders;
mod prompt;
mod reachable;
mod reserved;
mod respell;
mod scratch;
mod seams;
mod special_tokens;
mod split_runs;

pub(crate) use assembler::{Assembler, Respelled};
pub use content_trust::ContentTrust;
pub(crate) use detail::Detail;
pub(crate) use messages_before::{Rendered, Start};
pub(crate) use own_tokens::come_by_merges;
pub(crate) use placeholders::Placeholders;
pub use prompt::{IGNORE_INDEX, MediaSpan, Span, TokenizedPrompt};
pub(crate) use reserved::Reserved;
pub(crate) use scratch::AssembleScratch;
