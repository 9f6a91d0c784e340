//! Forms that write all prompts into one file at the end.

use std::fs::File;

use crate::error::Result;
use crate::sink::PromptSpool;

/// Makes one file from all prompts. A new form of files is a file here.
pub trait FileSink: Send + Sync {
    /// The kind of the file, in messages: `an array`, `a table`.
    fn unit(&self) -> &'static str;

    /// Writes the file, which is empty before, piece by piece.
    ///
    /// # Errors
    /// If the prompts do not fit into one file; those of reading the prompts, and of writing.
    fn finish(&self, prompts: &PromptSpool, file: &mut File) -> Result<()>;
}
