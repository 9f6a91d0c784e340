//! Checks that a command does not write to anything that it reads, which would be lost.

use std::path::{Path, PathBuf};

use crate::args::{InputArgs, ModelArgs};
use crate::setup;
use crate::source::Source;
use metatok::error::Result;
use metatok::input::OutputFiles;
use metatok::prepared::PreparedDataset;

/// The outputs of a command.
pub(crate) struct Outputs(OutputFiles);

impl Outputs {
    /// Writes only to standard output.
    pub(crate) fn stdout() -> Self {
        Self(OutputFiles::stdout())
    }

    /// Writes to the file of an option, or to standard output.
    pub(crate) fn to(option: &str, path: Option<&Path>) -> Self {
        path.map_or_else(Self::stdout, |path| Self(OutputFiles::file(option, path)))
    }

    /// Writes to this file too.
    pub(crate) fn and(self, option: &str, path: &Path) -> Result<Self> {
        self.0.and(option, path).map(Self)
    }

    /// Checks that no source of prompts is one of them.
    pub(crate) fn check_inputs(
        &self,
        args: &InputArgs,
        source: &Source,
        dataset: Option<&PreparedDataset>,
    ) -> Result<()> {
        self.check_source(&args.inputs, source)?;
        args.judge.iter().try_for_each(|path| self.check("--judge", Some(path)))?;
        let neighbours = dataset.and_then(|dataset| dataset.dataset().task.retriever.neighbours());
        for (what, path) in
            [("--dataset", args.dataset.as_deref()), ("--train", args.train.as_deref()), ("the neighbours", neighbours)]
        {
            self.check(what, path)?;
        }
        Ok(())
    }

    /// Checks that no input is one of them.
    pub(crate) fn check_source(&self, inputs: &[PathBuf], source: &Source) -> Result<()> {
        inputs.iter().try_for_each(|path| self.check("the input", Some(path)))?;
        if source.has_stdin() { self.check("standard input", Some(Path::new("-"))) } else { Ok(()) }
    }

    /// Checks that no file of the model or its tokenizer is one of them.
    pub(crate) fn check_model(&self, args: &ModelArgs, has_input: bool) -> Result<()> {
        self.check("the model", args.model.as_deref().map(Path::new))?;
        self.check("the conversation template", args.conversation.as_deref().map(Path::new))?;
        self.check("the chat template", args.chat_template.as_deref().map(Path::new))?;
        // If none is found, the code that needs one reports it.
        let tokenizer = setup::choice(args, has_input)?.tokenizer_name().ok();
        self.check("the tokenizer", tokenizer.as_deref().map(Path::new))
    }

    /// Checks that a file, or one in a folder, is not one of them.
    pub(crate) fn check(&self, what: &str, path: Option<&Path>) -> Result<()> {
        path.map_or(Ok(()), |path| self.0.check(what, path))
    }
}
