//! Forms that write each prompt as a line, independently of the others.

use crate::error::{Result, Warning};
use crate::sink::{BuiltPrompt, PromptKey};

/// Writes prompts as lines. A new form of lines is a file here.
pub trait LineSink: Send + Sync {
    /// Appends one prompt.
    ///
    /// # Errors
    /// If the form cannot write a part of the prompt. The contents of `out` after its old end are then unspecified.
    fn write(&self, key: &PromptKey<'_>, prompt: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()>;

    /// Warnings about what the prompts' engine will ignore or reject.
    fn warnings(&self) -> &[Warning] {
        &[]
    }
}
