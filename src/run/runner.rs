//! What answers the lines of the input: an engine in this process, or a server.

use std::collections::HashSet;
use std::fmt;
use std::hash::BuildHasher;
use std::ops::ControlFlow;
use std::sync::Arc;

use foldhash::fast::FixedState;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::build::LineIds;
use crate::builder::{PromptBuilder, Session};
#[cfg(feature = "http")]
use crate::client::Client;
#[cfg(feature = "http")]
use crate::dataset::SamplingParams;
use crate::dataset::records::Keys;
use crate::dataset::{Examples, PickedRow, RawRecord, RowKey, RowPrompter};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::input::{Input, LineBatch};
use crate::prepared::{PreparedDataset, line_batches};
use crate::run::events::{RunEvent, RunOutcome, RunTotals, Watch};
use crate::run::job::{Job, JobLine};
use crate::run::options::Room;
use crate::run::read_ahead::read_ahead;
use crate::run::{AnswerPlace, RunAnswers, RunOptions};
use crate::stop::Trimmer;

/// What answers lines.
///
/// ```
/// # #[cfg(feature = "candle")] {
/// use std::ops::ControlFlow;
///
/// use metatok::PromptBuilder;
/// use metatok::engine::CandleEngine;
/// use metatok::input::Input;
/// use metatok::run::{RunAnswers, RunEvent, RunOptions, Runner};
///
/// let options = RunOptions { max_out_len: Some(8), ..RunOptions::default() };
/// let runner = Runner::new(PromptBuilder::demo()?, Box::new(CandleEngine::demo()?), None, options);
/// let input = Input::new("memory", &br#"{"id": 7, "messages": [{"role": "user", "content": "Which planet is red?"}]}"#[..]);
/// let mut lines = Vec::new();
/// let (_, outcome) = runner.run(vec![input], &mut RunAnswers::streamed(), &mut |event| {
///     if let RunEvent::Line(json) = event {
///         lines.push(json.to_owned());
///     }
///     Ok(ControlFlow::Continue(()))
/// })?;
/// outcome.into_result()?;
/// assert!(lines[0].starts_with(r#"{"id":7,"#));
/// # }
/// # Ok::<(), metatok::Error>(())
/// ```
pub struct Runner {
    pub(super) builder: PromptBuilder,
    engine: Answering,
    dataset: Option<Arc<PreparedDataset>>,
    pub(super) options: RunOptions,
    pub(super) room: Room,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { builder, options, room, .. } = self;
        let mut debug = f.debug_struct("Runner");
        debug.field("builder", builder).field("options", options).field("room", room).finish_non_exhaustive()
    }
}

/// What answers prompts.
enum Answering {
    Engine(Box<dyn Engine>),
    #[cfg(feature = "http")]
    Server(Arc<Client>),
}

/// A line without a prompt.
pub(super) struct Refused {
    pub(super) number: u64,
    pub(super) key: RowKey,
    pub(super) error: Error,
}

/// A line's error instead of an answer.
#[derive(Serialize)]
pub(super) struct Failed<'a> {
    pub(super) id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repeat: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) columns: Option<&'a RawValue>,
    pub(super) error: String,
    /// The status of the server's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    /// How often the server was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attempts: Option<u32>,
}

impl<'a> Failed<'a> {
    pub(super) fn new(key: &'a RowKey, turn: Option<usize>, error: String) -> Self {
        let RowKey { id, repeat, columns, .. } = key;
        Self { id, repeat: *repeat, turn, columns: columns.as_deref(), error, status: None, attempts: None }
    }
}

/// A run on its way.
pub(super) struct Run<'r> {
    pub(super) runner: &'r Runner,
    pub(super) trimmer: Trimmer,
    session: Session,
    prompter: Option<RowPrompter>,
    pub(super) answers: &'r mut RunAnswers,
    pub(super) totals: RunTotals,
    /// The hashes of the errors of rows that are asked several times.
    told: HashSet<u64>,
    pub(super) watch: Watch<'r>,
}

impl Runner {
    /// Answers conversations, or the rows of a dataset, with an engine in this process.
    pub fn new(
        builder: PromptBuilder,
        engine: Box<dyn Engine>,
        dataset: Option<Arc<PreparedDataset>>,
        options: RunOptions,
    ) -> Self {
        let room = options.room(engine.max_seq_len(), 0);
        Self { builder, engine: Answering::Engine(engine), dataset, options, room }
    }

    /// Answers conversations, or the rows of a dataset, by a server, with as many requests under way as the client allows.
    #[cfg(feature = "http")]
    pub fn over_http(
        builder: PromptBuilder,
        client: Client,
        dataset: Option<Arc<PreparedDataset>>,
        options: RunOptions,
    ) -> Self {
        let served = &client.notes().served;
        let room = options.room(served.max_model_len, served.least_after_prompt());
        Self { builder, engine: Answering::Server(Arc::new(client)), dataset, options, room }
    }

    /// How the dataset says that answers are drawn.
    #[cfg(feature = "http")]
    pub(super) fn sampling_params(&self) -> SamplingParams {
        let dataset = self.dataset.as_ref();
        dataset.map(|dataset| dataset.dataset().inferencer.sampling_params).unwrap_or_default()
    }

    /// Answers the lines of the inputs, except those that are already answered. A line without a prompt is told by the
    /// [`RunOutcome`], or, without [`RunOptions::stop_at_error`], by [`RunEvent::Refused`].
    ///
    /// # Errors
    /// Errors of reading the input, the engine, the journal or `watch`.
    pub fn run(
        &self,
        inputs: Vec<Input>,
        answers: &mut RunAnswers,
        watch: Watch<'_>,
    ) -> Result<(RunTotals, RunOutcome)> {
        let may_wait = inputs.iter().any(Input::may_wait);
        let RunOptions { max_line_bytes, limit, batch_size, .. } = self.options;
        let batches = line_batches(self.dataset.as_deref(), inputs, max_line_bytes, limit)?;
        let prompter = self.dataset.as_ref().map(|dataset| dataset.prompter());
        let mut totals = RunTotals::default();
        totals.remarks.missing = self.dataset.as_ref().map(|dataset| dataset.missing()).unwrap_or_default();
        let (trimmer, session) = (self.builder.trimmer()?, self.builder.session());
        let told = HashSet::default();
        let mut run = Run { runner: self, trimmer, session, prompter, answers, totals, told, watch };
        let outcome = match &self.engine {
            Answering::Engine(engine) if may_wait => run.in_process(&**engine, batches, batch_size),
            Answering::Engine(engine) => {
                let (batches, lines) = read_ahead(batches, batch_size);
                run.in_process(&**engine, batches, lines)
            }
            #[cfg(feature = "http")]
            Answering::Server(client) => run.over_http(client, batches),
        };
        let rest = match outcome {
            Ok(RunOutcome::Complete) => Ok(()),
            // What has arrived is not lost where an earlier line has no answer.
            _ => run.answers.hand_out_rest(|json| (run.watch)(RunEvent::Line(json))),
        };
        let outcome = outcome?;
        rest?;
        Ok((run.totals, outcome))
    }
}

impl Run<'_> {
    /// Takes the next line, this one of its batch.
    pub(super) fn take_line(
        &mut self,
        batch: &LineBatch,
        i: usize,
        examples: Examples,
    ) -> std::result::Result<Job, Refused> {
        let (number, pick) = (batch.first + i as u64, batch.pick(i));
        let line = JobLine { number, pick, batch, line: &batch.lines[i].record.line };
        let record = || batch.raw(&batch.lines[i], self.runner.options.max_line_bytes);
        let job = record().and_then(|record| self.job(line, record, examples));
        self.totals.lines += 1;
        job.map_err(|error| Refused {
            number,
            key: record().ok().and_then(|record| self.own_key(record, pick)).unwrap_or_else(|| RowKey::numbered(pick)),
            error: batch.place(&batch.lines[i]).of_error(error),
        })
    }

    /// The key of a line that asks for nothing, if it has an id of its own.
    fn own_key(&self, record: RawRecord<'_>, pick: PickedRow) -> Option<RowKey> {
        match &self.runner.dataset {
            Some(dataset) => {
                let row = dataset.row(record, pick).ok()??;
                dataset.kept_columns().key(&row, pick).ok()
            }
            None => {
                let id = Keys::parse(&record.json().ok()?).ok()?.id().ok()??.to_owned();
                Some(RowKey { id, has_id: true, ..RowKey::numbered(pick) })
            }
        }
    }

    /// What a line asks for.
    fn job(&mut self, line: JobLine<'_>, record: RawRecord<'_>, examples: Examples) -> Result<Job> {
        let place = line.place();
        let remarks = &mut self.totals.remarks;
        let job = match (&self.runner.dataset, &mut self.prompter) {
            (Some(dataset), Some(prompter)) => {
                let Some(row) = dataset.row(record, line.pick)? else {
                    return Ok(Job::unasked(line));
                };
                remarks.missing.see(&row);
                let mut warnings = dataset.warnings(&row, |code| remarks.is_new(code));
                remarks.notes.see_row(&row, place);
                let strip_thoughts = self.runner.options.strip_thoughts;
                let session = &mut self.session;
                let job = Job::row(line, &row, examples, dataset, prompter, session, strip_thoughts);
                if let Ok(job) = &job {
                    warnings.extend(dataset.unasked(job.leaves_question()));
                }
                for warning in remarks.new_warnings(warnings) {
                    let _ = (self.watch)(RunEvent::Warning(place.of_warning(warning)))?;
                }
                let job = job?;
                job.note_omissions(self.session.builder(), &mut remarks.notes);
                Ok(job)
            }
            _ => {
                let (format, builder) = (self.runner.options.input_format, self.session.builder());
                Job::conversation(line, &record.json()?, format, builder, remarks)
            }
        }?;
        let mut ids = LineIds::default();
        ids.push_row(job.key.has_id.then(|| job.key.id.get()), line.pick, line.line);
        remarks.ids.see(&line.batch.input, ids);
        Ok(job)
    }

    /// Records a line or turn without a prompt. Breaks off with the error if that ends the run.
    pub(super) fn refuse(
        &mut self,
        place: AnswerPlace,
        key: &RowKey,
        turn: Option<usize>,
        error: Error,
    ) -> Result<ControlFlow<Error>> {
        if self.runner.options.stop_at_error || error.concerns_every_prompt() {
            return Ok(ControlFlow::Break(error));
        }
        let text = error.display_with(&self.runner.options.setting_name).to_string();
        // The repeats of a row have the same error.
        if key.repeat.is_none() || self.told.insert(FixedState::with_seed(0).hash_one(&text)) {
            let _ = (self.watch)(RunEvent::Refused(&error))?;
        }
        self.answers.refuse(place, json(&Failed::new(key, turn, text))?)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Records that the prompts after this one are not asked: each of them counts as one without an answer.
    pub(super) fn refuse_later(&mut self, job: &Job, failed: u64) -> Result<()> {
        let before = job.turn.map_or_else(|| "the prompt before it".to_owned(), |turn| format!("turn {turn}"));
        for (place, turn) in (failed + 1..).zip(job.later_turns()) {
            let error = format!("not asked, because {before} has no answer");
            self.answers.refuse((job.number, place), json(&Failed::new(&job.key, turn, error))?)?;
        }
        Ok(())
    }
}

/// A line of JSON.
pub(super) fn json(line: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(line).map_err(|error| ErrorKind::Parse(error.to_string()))?)
}

/// A part of a line.
pub(super) fn raw(part: &impl Serialize) -> Result<Box<RawValue>> {
    Ok(serde_json::value::to_raw_value(part).map_err(|error| ErrorKind::Parse(error.to_string()))?)
}
