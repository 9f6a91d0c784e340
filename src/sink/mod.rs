//! What leaves metatok: built prompts in the forms that engines read.

mod jsonl;

use crate::assemble::TokenizedPrompt;
pub use jsonl::Jsonl;

/// A form in which prompts are written. A new one is a file here.
pub trait Sink: Send + Sync {
    /// Appends one prompt. `id` is JSON, and so is `label`, which a text to score has.
    fn write(&self, id: &str, label: Option<&str>, prompt: &TokenizedPrompt, out: &mut Vec<u8>);
}
