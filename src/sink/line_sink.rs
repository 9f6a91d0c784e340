//! Forms of lines: each prompt is one, whatever the others are.

use crate::error::{Result, Warning};
use crate::sink::{BuiltPrompt, PromptKey};

/// Writes prompts as lines. A new form of lines is a file here.
pub trait LineSink: Send + Sync {
    /// Appends one prompt.
    ///
    /// # Errors
    /// Says what of the prompt the form has no place for. What was appended is then unspecified.
    fn write(&self, key: &PromptKey<'_>, prompt: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()>;

    /// What the engine that the prompts are for will ignore or refuse.
    fn warnings(&self) -> &[Warning] {
        &[]
    }
}
