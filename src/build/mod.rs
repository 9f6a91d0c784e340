//! Conversations and rows in, prompts out: batches of the input are built on all cores, and returned in order.
//!
//! ```
//! use metatok::PromptBuilder;
//! use metatok::build::{Build, BuildTotals, IdsForm, PromptForm};
//! use metatok::input::Input;
//! use metatok::sink::{Jsonl, Sink};
//!
//! let builder = PromptBuilder::demo()?;
//! let sink = Sink::lines(Jsonl::new(&builder, false));
//! let build = Build::new(PromptForm::Ids(Box::new(IdsForm::new(builder, sink))));
//! let input = Input::new("memory", &br#"{"id": 7, "messages": [{"role": "user", "content": "Hi!"}]}"#[..]);
//! let (mut totals, mut out) = (BuildTotals::default(), Vec::new());
//! for batch in build.batches(vec![input], None)? {
//!     let batch = batch.into_result()?;
//!     out.extend_from_slice(batch.lines());
//!     let _ = totals.add(batch);
//! }
//! assert!(out.starts_with(br#"{"id":7,"input_ids":["#));
//! assert_eq!(totals.written.prompts, 1);
//! # Ok::<(), metatok::Error>(())
//! ```

mod batch;
mod input_options;
mod messages;
mod notes;
mod omitted;
mod recorded;
mod remarks;
mod repeated_ids;
mod scored_prompt;
mod totals;
mod writer;
mod written;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::answers::ModelAnswers;
use crate::builder::Session;
use crate::conversation::Mode;
use crate::dataset::{InputFormat, RecordReader};
use crate::error::{Result, Warning};
use crate::import::{WORTH_ACCELERATING, accelerate};
use crate::input::{DEFAULT_MAX_LINE_BYTES, Input};
use crate::pipeline;
use crate::prepared::{PreparedDataset, line_batches};
use crate::sink::Sink;
use batch::BatchBuilder;
pub use batch::BuiltBatch;
pub use input_options::InputOptions;
pub use messages::MessagesForm;
pub use notes::Notes;
pub use omitted::answers_omitted;
pub use recorded::RecordedFingerprint;
pub use remarks::InputRemarks;
pub(crate) use repeated_ids::LineIds;
pub use totals::{BatchRemarks, BuildTotals};
pub use writer::IdsForm;
use writer::PromptWriter;
pub use written::{Written, truncated};

/// The format of prompts, and the builder. Shared by all threads.
#[derive(Debug)]
#[non_exhaustive]
pub enum PromptForm {
    /// Token ids.
    Ids(Box<IdsForm>),
    /// Messages, for a server that applies the template.
    Messages(MessagesForm),
}

impl PromptForm {
    /// The purpose of the prompts.
    pub fn mode(&self) -> Mode {
        match self {
            Self::Ids(ids) => ids.builder.mode(),
            Self::Messages(messages) => messages.mode(),
        }
    }

    /// What writes token ids.
    pub fn sink(&self) -> Option<&Sink> {
        match self {
            Self::Ids(ids) => Some(&ids.sink),
            Self::Messages(_) => None,
        }
    }

    /// Whether a server renders the prompts, which has places that templates lack.
    fn is_for_server(&self) -> bool {
        matches!(self, Self::Messages(_))
    }

    /// Reads records with what the prompts have places for.
    fn record_reader(&self, format: InputFormat) -> RecordReader {
        match self {
            Self::Ids(ids) => ids.builder.record_reader(format),
            Self::Messages(messages) => messages.record_reader(format),
        }
    }

    /// What a thread builds with.
    fn session(&self) -> Option<Session> {
        match self {
            Self::Ids(ids) => Some(ids.session()),
            Self::Messages(_) => None,
        }
    }

    /// Lets prompts be built faster from now on, if that is worth its time.
    fn accelerate(&self) {
        if let Self::Ids(ids) = self {
            accelerate(&ids.builder);
        }
    }

    fn writer<'f>(&'f self, session: &'f mut Option<Session>) -> PromptWriter<'f> {
        match self {
            Self::Ids(ids) => PromptWriter::Ids(ids, session.get_or_insert_with(|| ids.session())),
            Self::Messages(messages) => PromptWriter::Messages(messages),
        }
    }
}

/// How inputs become prompts. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Build {
    form: Arc<PromptForm>,
    dataset: Option<Arc<PreparedDataset>>,
    answers: Option<Arc<ModelAnswers>>,
    /// The format of conversations.
    pub input_format: InputFormat,
    /// How long a line may be, in bytes.
    pub max_line_bytes: usize,
    /// Whether the first bad line ends the build; otherwise each one is rejected.
    pub stop_at_error: bool,
    /// How many threads build: one per core by default, and at most.
    pub threads: Option<NonZeroUsize>,
}

impl Build {
    /// Conversations of any format become prompts of this form.
    pub fn new(form: PromptForm) -> Self {
        Self {
            form: Arc::new(form),
            dataset: None,
            answers: None,
            input_format: InputFormat::Auto,
            max_line_bytes: DEFAULT_MAX_LINE_BYTES,
            stop_at_error: true,
            threads: None,
        }
    }

    /// The input is rows of a dataset. The builder must have the options that
    /// [`PreparedDataset::configure`](crate::prepared::PreparedDataset::configure) sets: its mode, stops and layout.
    #[must_use]
    pub fn with_dataset(mut self, dataset: Arc<PreparedDataset>) -> Self {
        self.dataset = Some(dataset);
        self
    }

    /// Earlier turns of rows contain these answers.
    #[must_use]
    pub fn with_answers(mut self, answers: ModelAnswers) -> Self {
        self.answers = Some(Arc::new(answers));
        self
    }

    /// A note about answers that no row asked for so far.
    pub fn unused_answers(&self) -> Option<Warning> {
        self.answers.as_deref()?.unused()
    }

    /// A note about answers of which nothing is left without their thoughts.
    pub fn unfinished_thoughts(&self) -> Option<Warning> {
        self.answers.as_deref()?.unfinished_thoughts()
    }

    /// The format of the prompts.
    pub fn form(&self) -> &PromptForm {
        &self.form
    }

    /// Builds the inputs, up to this many lines, in batches of lines. The threads end when the batches are dropped.
    /// They are not joined, because one may be blocked while reading a terminal.
    ///
    /// # Errors
    /// If the rows of examples are missing, or the system starts no thread. Errors of a line, or of reading, come with the
    /// batch: [`BuiltBatch::into_result`].
    pub fn batches(
        &self,
        inputs: Vec<Input>,
        limit: Option<usize>,
    ) -> Result<impl Iterator<Item = BuiltBatch> + use<>> {
        let batches = line_batches(self.dataset.as_deref(), inputs, self.max_line_bytes, limit)?;
        let build = self.clone();
        let lines = Arc::new(AtomicUsize::new(0));
        let stop_at_error = self.stop_at_error;
        let batches = pipeline::ordered(pipeline::threads(self.threads), batches, move || {
            let build = build.clone();
            let for_server = build.form.is_for_server();
            let reader = build.form.record_reader(build.input_format);
            let mut prompter = build.dataset.as_ref().map(|dataset| dataset.prompter().for_server(for_server));
            let mut session = build.form.session();
            let lines = Arc::clone(&lines);
            Box::new(move |batch| {
                let count = batch.lines.len();
                let before = lines.fetch_add(count, Ordering::Relaxed);
                if (before..before + count).contains(&WORTH_ACCELERATING) {
                    build.form.accelerate();
                }
                let rows = build.dataset.as_deref().zip(prompter.as_mut());
                BatchBuilder {
                    built: BuiltBatch::new(rows.as_ref().map(|(dataset, _)| dataset.missing()).unwrap_or_default()),
                    rows,
                    answers: build.answers.as_deref(),
                    writer: build.form.writer(&mut session),
                    reader,
                    mode: build.form.mode(),
                    max_line_bytes: build.max_line_bytes,
                    stop_at_error: build.stop_at_error,
                }
                .build(batch)
            })
        })?;
        Ok(pipeline::up_to(batches, move |batch: &BuiltBatch| stop_at_error && batch.has_error()))
    }
}
