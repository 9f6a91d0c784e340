//! What becomes of the batches of `metatok build`: the output, the file of rejected rows, and what is printed meanwhile.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;

use indicatif::ProgressBar;

use crate::args::BuildArgs;
use crate::exit::FOUND;
use crate::loaded::Loaded;
use crate::output::{Output, written};
use crate::progress;
use crate::rejects::{Rejects, rejects_path};
use crate::say::{InFlags, say};
use metatok::build::{BatchRemarks, BuildTotals, BuiltBatch, PromptForm};
use metatok::error::{Result, counted};
use metatok::sink::{PromptSpool, Sink};

/// The results so far.
pub(crate) struct Results<'a> {
    args: &'a BuildArgs,
    output: Output,
    rejects: Rejects,
    /// The prompts of a file that is written at the end.
    prompts: PromptSpool,
    pub(crate) totals: BuildTotals,
    pub(crate) progress: ProgressBar,
}

impl<'a> Results<'a> {
    /// Opens the outputs for an input with this many bytes, if that is known.
    pub(crate) fn open(args: &'a BuildArgs, bytes: Option<u64>) -> Result<Self> {
        let output = Output::open(args.output.as_deref())?;
        let rejects = Rejects::open(rejects_path(&args.errors, args.output.as_deref()), "row", &output)?;
        // A bar would be written between the records.
        let shows_records = args.output.is_none() && io::stdout().is_terminal();
        let progress = ProgressBar::hidden();
        progress::show(&progress, bytes, args.quiet || shows_records);
        let prompts = PromptSpool::new(output.scratch());
        Ok(Self { args, output, rejects, prompts, totals: BuildTotals::default(), progress })
    }

    /// Writes a batch. Breaks with the exit code if nothing more is to be built.
    pub(crate) fn take(
        &mut self,
        mut batch: BuiltBatch,
        form: &PromptForm,
        loaded: &Loaded,
    ) -> Result<ControlFlow<u8>> {
        self.progress.inc(batch.bytes);
        if self.output.stream(batch.lines())?.is_break() {
            self.rejects.take_last(self.totals.add(batch).rejected, &self.progress)?;
            return Ok(ControlFlow::Break(0));
        }
        for prompt in batch.take_records() {
            self.prompts.push(&prompt).map_err(|error| self.output.failed(error))?;
        }
        let remarks = self.totals.add(batch);
        self.progress.set_message(counted(self.totals.written.prompts, "prompt"));
        if !self.args.quiet {
            self.progress.suspend(|| say_remarks(&remarks, form, loaded));
        }
        for rejected in remarks.rejected {
            let before = || written(self.totals.written.prompts, "prompt", self.args.output.as_deref());
            if self.rejects.take(rejected, &self.progress, before)?.is_break() {
                return Ok(ControlFlow::Break(FOUND));
            }
        }
        remarks.error.map_or(Ok(ControlFlow::Continue(())), Err)
    }

    /// Whether there was no row at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.totals.written.prompts + self.rejects.count() == 0
    }

    /// Ends a build before its input ends. The rejects are kept if the prompts before them are.
    pub(crate) fn end_early(self) -> Result<BuildTotals> {
        self.progress.finish_and_clear();
        self.rejects.end_early(&self.output)?;
        Ok(self.totals)
    }

    /// Makes the output final.
    pub(crate) fn finish(mut self, form: &PromptForm) -> Result<(BuildTotals, Rejects)> {
        if let Some(Sink::File(sink)) = form.sink() {
            self.output.write_file(|file| sink.finish(&self.prompts, file))?;
        }
        self.output.finish()?;
        Ok((self.totals, self.rejects))
    }
}

/// Prints what a batch says for the first time.
fn say_remarks(remarks: &BatchRemarks, form: &PromptForm, loaded: &Loaded) {
    if let PromptForm::Ids(ids) = form {
        let notes = remarks.omitted_tokens(ids.builder.tokenizer());
        loaded.say_new(notes.iter().map(|note| format!("note: {}", note.in_flags())));
    }
    for warning in &remarks.warnings {
        say!("warning: {}", warning.in_flags());
    }
}
