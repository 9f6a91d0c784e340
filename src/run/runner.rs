//! Answers the lines of the input, several side by side.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::build::{InputRemarks, OwnId};
use crate::builder::{PromptBuilder, Session};
use crate::dataset::{Examples, InputFormat, Line, PickedRow, RecordReader, RowKey, RowPrompter};
use crate::engine::{Engine, GenerationEvent, Request, Sampling};
use crate::error::{Error, ErrorKind, Result, Setting, Warning};
use crate::input::{DEFAULT_MAX_LINE_BYTES, Input, LineBatch, RecordPlace};
use crate::prepared::{PreparedDataset, line_batches};
use crate::run::job::{Ask, Job, JobKey, number_id};
use crate::run::{DEFAULT_MAX_OUT_LEN, RunAnswers};
use crate::stop::{Completion, Trimmer};
use crate::trim::TrimmedAnswer;
use crate::truncate::ContextBudget;

/// The events of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// This many bytes of the input are done.
    Read(u64),
    /// There is a further token.
    Token,
    /// More text of an answer.
    Text(&'a str),
    /// An answer is complete.
    Answer,
    /// A line of JSON for readers of the answers, in the order of the input. Not sent if a journal keeps them.
    Line(&'a str),
    /// A warning about a row: the first one.
    Warning(Warning),
    /// A line, or a turn, that is not a valid prompt. Its error is written instead of an answer.
    Refused(&'a Error),
}

/// How a run ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunOutcome {
    /// All lines are answered.
    Complete,
    /// The receiver stopped taking answers.
    Cut,
    /// This line is not a valid prompt, and lines are not to be rejected.
    StoppedAt(Error),
}

/// The totals of a run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RunTotals {
    /// How many lines there were.
    pub lines: u64,
    /// How many answers.
    pub answers: u64,
    /// How many tokens they have, including the stops.
    pub tokens: u64,
    /// How many conversations end with an answer, which was left out.
    pub answers_omitted: u64,
    /// How many answers ended for this reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// What was noticed in the input.
    pub remarks: InputRemarks,
}

/// Answers lines.
pub struct Runner {
    /// The prompt builder.
    pub builder: PromptBuilder,
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// How tokens are sampled.
    pub sampling: Sampling,
    /// How long prompts may be.
    pub budget: ContextBudget,
    /// How many tokens an answer may have if its row has no limit.
    pub max_out_len: usize,
    /// The format of conversations.
    pub input_format: InputFormat,
    /// How long a line may be, in bytes.
    pub max_line_bytes: usize,
    /// How many lines are answered side by side.
    pub batch_size: NonZeroUsize,
    /// Whether the first bad line ends the run; otherwise each is rejected.
    pub stop_at_error: bool,
    /// Whether a model's thoughts are removed from its answers in later turns.
    pub strip_thoughts: bool,
    /// The names of settings in the texts of errors that are written instead of answers.
    pub setting_name: fn(&Setting) -> String,
    dataset: Option<Arc<PreparedDataset>>,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { builder, sampling, budget, .. } = self;
        let mut debug = f.debug_struct("Runner");
        debug.field("builder", builder).field("sampling", sampling).field("budget", budget).finish_non_exhaustive()
    }
}

/// Receives events; breaks off when no more answers are wanted.
type Watch<'w> = &'w mut dyn FnMut(RunEvent<'_>) -> Result<ControlFlow<()>>;

/// A line without a prompt.
struct Refused {
    number: u64,
    pick: PickedRow,
    error: Error,
}

/// A line's error instead of an answer.
#[derive(Serialize)]
struct Failed<'a> {
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<&'a RawValue>,
    error: String,
}

/// A run in progress.
struct Run<'r> {
    runner: &'r mut Runner,
    trimmer: Trimmer,
    session: Session,
    prompter: Option<RowPrompter>,
    answers: &'r mut RunAnswers,
    totals: RunTotals,
    watch: Watch<'r>,
}

impl Runner {
    /// Answers conversations, or the rows of a dataset, greedily and one by one, in a context of any length.
    pub fn new(builder: PromptBuilder, engine: Box<dyn Engine>, dataset: Option<Arc<PreparedDataset>>) -> Self {
        let max_seq_len = engine.max_seq_len().unwrap_or(usize::MAX);
        Self {
            builder,
            engine,
            sampling: Sampling::default(),
            budget: ContextBudget { max_seq_len, max_out_len: 0, truncation: Default::default() },
            max_out_len: DEFAULT_MAX_OUT_LEN,
            input_format: InputFormat::Auto,
            max_line_bytes: DEFAULT_MAX_LINE_BYTES,
            batch_size: NonZeroUsize::MIN,
            stop_at_error: true,
            strip_thoughts: false,
            setting_name: Setting::to_string,
            dataset,
        }
    }

    /// Answers the inputs, up to this many lines, except those that are already answered.
    ///
    /// # Errors
    /// Errors of reading the input, the engine, the journal or `watch`.
    pub fn run(
        &mut self,
        inputs: Vec<Input>,
        limit: Option<usize>,
        answers: &mut RunAnswers,
        watch: Watch<'_>,
    ) -> Result<(RunTotals, RunOutcome)> {
        let batches = line_batches(self.dataset.as_deref(), inputs, self.max_line_bytes, limit)?;
        let prompter = self.dataset.as_ref().map(|dataset| dataset.prompter());
        let mut totals = RunTotals::default();
        totals.remarks.missing = self.dataset.as_ref().map(|dataset| dataset.missing()).unwrap_or_default();
        let (trimmer, session) = (self.builder.trimmer()?, self.builder.session());
        let mut run = Run { runner: self, trimmer, session, prompter, answers, totals, watch };
        let outcome = run.batches(batches)?;
        Ok((run.totals, outcome))
    }
}

impl Run<'_> {
    fn batches(&mut self, mut next: impl FnMut() -> Option<LineBatch>) -> Result<RunOutcome> {
        let mut window = Vec::new();
        while let Some(mut batch) = next() {
            let mut examples = std::mem::take(&mut batch.examples).into_iter();
            for (i, (line, range)) in batch.lines.iter().enumerate() {
                let (number, pick) = (batch.first + i as u64, batch.pick(i));
                let text = line.text(&batch.bytes[range.clone()], self.runner.max_line_bytes);
                let examples = examples.next().unwrap_or_default();
                let job = text.and_then(|text| self.job(text, (number, pick), (&batch, line), examples));
                let refused = |error: Error| Refused {
                    number,
                    pick,
                    error: RecordPlace::new(&batch.input, line).of_error(error),
                };
                window.push(job.map_err(refused));
                self.totals.lines += 1;
                if window.len() == self.runner.batch_size.get()
                    && let ControlFlow::Break(outcome) = self.window(std::mem::take(&mut window))?
                {
                    return Ok(outcome);
                }
            }
            // A watcher of a run that continues has no reason to end it here.
            let _ = (self.watch)(RunEvent::Read(batch.bytes.len() as u64))?;
            if let Some(error) = batch.error {
                return Err(error);
            }
        }
        match self.window(window)? {
            ControlFlow::Break(outcome) => Ok(outcome),
            ControlFlow::Continue(()) => Ok(RunOutcome::Complete),
        }
    }

    /// The prompts of a line.
    fn job(
        &mut self,
        text: &str,
        (number, pick): (u64, PickedRow),
        (batch, line): (&LineBatch, &Line),
        examples: Examples,
    ) -> Result<Job> {
        let place = RecordPlace::new(&batch.input, line);
        let remarks = &mut self.totals.remarks;
        let job = match (&self.runner.dataset, &mut self.prompter) {
            (Some(dataset), Some(prompter)) => {
                let Some(row) = dataset.row(text, pick)? else { return Ok(Job::unasked(number, (batch, line), pick)) };
                remarks.missing.see(&row);
                if let Some(warning) = remarks.first_warning(|| dataset.warning(&row)) {
                    let _ = (self.watch)(RunEvent::Warning(place.of_warning(warning)))?;
                }
                remarks.notes.see_row(&row, place);
                let strip_thoughts = self.runner.strip_thoughts;
                let dataset = (&**dataset, prompter);
                Job::row(&row, (number, pick), (batch, line), examples, dataset, &mut self.session, strip_thoughts)
            }
            _ => Job::conversation(text, number, (batch, line), RecordReader::new(self.runner.input_format), remarks),
        }?;
        if job.key.has_id && pick.repeat.is_none_or(|repeat| repeat == 0) {
            remarks.ids.see(&batch.input, vec![OwnId::new(job.key.id.get(), line)]);
        }
        Ok(job)
    }

    /// Answers lines side by side.
    fn window(&mut self, window: Vec<std::result::Result<Job, Refused>>) -> Result<ControlFlow<RunOutcome>> {
        let lines = self.totals.lines;
        if window.is_empty() || lines <= self.answers.rows() {
            return Ok(ControlFlow::Continue(()));
        }
        let mut jobs = Vec::with_capacity(window.len());
        for line in window {
            match line {
                Ok(job) => jobs.push(job),
                Err(Refused { number, pick, error }) => {
                    let key = RowKey::numbered(pick).into();
                    if let ControlFlow::Break(error) = self.refuse(number, &key, 0, error)? {
                        return Ok(ControlFlow::Break(RunOutcome::StoppedAt(error)));
                    }
                }
            }
        }
        loop {
            let mut asks = Vec::with_capacity(jobs.len());
            for (i, job) in jobs.iter_mut().enumerate() {
                let Runner { builder, budget, max_out_len, .. } = &*self.runner;
                match job.next(builder, *budget, *max_out_len) {
                    Ok(ask) => asks.extend(ask.map(|ask| (i, ask))),
                    Err(error) => {
                        job.fail();
                        let error = job.place().of_error(error);
                        if let ControlFlow::Break(error) = self.refuse(job.number, &job.key, job.asked, error)? {
                            return Ok(ControlFlow::Break(RunOutcome::StoppedAt(error)));
                        }
                    }
                }
            }
            if asks.is_empty() {
                break;
            }
            let completions = self.complete(&jobs, &asks)?;
            for ((i, _), completion) in asks.iter().zip(completions) {
                let answered = jobs[*i].answer(&completion);
                answered.map_err(|error| jobs[*i].place().of_error(error))?;
            }
        }
        let watch = &mut *self.watch;
        Ok(match self.answers.done(lines, |json| watch(RunEvent::Line(json)))? {
            ControlFlow::Break(()) => ControlFlow::Break(RunOutcome::Cut),
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
        })
    }

    /// Answers one prompt of each of these lines.
    fn complete(&mut self, jobs: &[Job], asks: &[(usize, Ask)]) -> Result<Vec<Completion>> {
        let Self { runner, trimmer, answers, totals, watch, .. } = self;
        let Runner { engine, sampling, .. } = &mut **runner;
        let requests: Vec<Request<'_>> = asks
            .iter()
            .map(|(i, Ask { prompt, max_new_tokens, .. })| Request {
                input_ids: &prompt.input_ids,
                max_new_tokens: *max_new_tokens,
                sampling: Sampling { stream: jobs[*i].number, ..*sampling },
            })
            .collect();
        let mut on_event = |request: usize, event: GenerationEvent<'_>| -> Result<()> {
            let (i, ask) = &asks[request];
            let _ = match event {
                GenerationEvent::Token => {
                    totals.tokens += 1;
                    watch(RunEvent::Token)?
                }
                GenerationEvent::Text(text) => watch(RunEvent::Text(text))?,
                GenerationEvent::End(completion) => {
                    let job = &jobs[*i];
                    let turn = ask.turn.map(|turn| number_id(turn as u64));
                    let line = TrimmedAnswer::new(completion.clone());
                    let JobKey { id, repeat, columns, .. } = &job.key;
                    let (repeat, columns) = (repeat.as_deref(), columns.as_deref());
                    let line = TrimmedAnswer { id: Some(id), repeat, turn: turn.as_deref(), columns, ..line };
                    totals.answers += 1;
                    totals.answers_omitted += u64::from(ask.prompt.answer_omitted);
                    *totals.reasons.entry(line.finish_reason).or_default() += 1;
                    answers.add((job.number, job.asked), json(&line)?)?;
                    watch(RunEvent::Answer)?
                }
            };
            Ok(())
        };
        engine.complete(&requests, trimmer, &mut on_event)
    }

    /// Reports a line, or a turn, that is not a valid prompt; breaks off with the error if that ends the run.
    fn refuse(&mut self, number: u64, key: &JobKey, asked: u64, error: Error) -> Result<ControlFlow<Error>> {
        if self.runner.stop_at_error {
            return Ok(ControlFlow::Break(error));
        }
        let _ = (self.watch)(RunEvent::Refused(&error))?;
        // After the existing answers.
        let JobKey { id, repeat, columns, .. } = key;
        let error = error.display_with(&self.runner.setting_name).to_string();
        let failed = Failed { id, repeat: repeat.as_deref(), columns: columns.as_deref(), error };
        self.answers.refuse((number, asked + 1), json(&failed)?)?;
        Ok(ControlFlow::Continue(()))
    }
}

fn json(line: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(line).map_err(|error| ErrorKind::Parse(error.to_string()))?)
}
