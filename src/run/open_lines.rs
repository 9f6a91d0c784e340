//! Lines in progress: taken in the order of the input, answered in any order, and handed out in the order of the input.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::dataset::RowKey;
use crate::error::{Error, Result};
use crate::run::KnownAnswer;
use crate::run::events::{RunEvent, RunOutcome};
use crate::run::job::{Answered, Job, JobPrompt};
use crate::run::line_reader::{LineReader, Read};
use crate::run::runner::{Refused, Run, json, raw};
use crate::trim::TrimmedAnswer;
use crate::truncate::Truncated;

/// Lines that are being answered.
pub(super) struct OpenLines<'w, 'r> {
    pub(super) run: &'w mut Run<'r>,
    pub(super) reader: LineReader,
    open: BTreeMap<u64, OpenLine>,
    /// How many bytes of the input the lines have that are not done.
    sizes: BTreeMap<u64, usize>,
    options: OpenLinesOptions,
    stopped: Option<Stopped>,
    /// Whether nobody wants further answers, whatever stopped it first.
    is_cut: bool,
}

/// How lines are taken.
pub(super) struct OpenLinesOptions {
    /// How many lines may be taken from the first open one on. Finished lines wait for it, in memory if there is no
    /// journal.
    pub(super) most_ahead: u64,
    /// Whether an interrupted line continues after the answers that an earlier run recorded. Otherwise all of its
    /// prompts are answered again.
    pub(super) resumes_within_lines: bool,
}

/// A line that is being answered.
pub(super) struct OpenLine {
    pub(super) job: Job,
    pub(super) turn: Option<usize>,
    pub(super) prompt_tokens: usize,
    truncated: Option<Truncated>,
    answer_omitted: bool,
}

/// A prompt to answer.
pub(super) struct LinePrompt {
    /// The number of its line.
    pub(super) number: u64,
    pub(super) ask: JobPrompt,
}

/// Why no further line is taken. Open lines are still answered.
pub(super) enum Stopped {
    /// The reader of the answers wants no more.
    Cut,
    /// Open lines are not answered either.
    Interrupted,
    /// A line has no prompt.
    At(Error),
    Failed(Error),
}

impl<'w, 'r> OpenLines<'w, 'r> {
    pub(super) fn new(run: &'w mut Run<'r>, reader: LineReader, options: OpenLinesOptions) -> Self {
        Self { run, reader, open: BTreeMap::new(), sizes: BTreeMap::new(), options, stopped: None, is_cut: false }
    }

    /// How many lines are open.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether nobody wants further answers.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn cut(&mut self, why: Stopped) {
        self.is_cut = true;
        self.stopped.get_or_insert(why);
    }

    /// Asks whether the run continues. Returns false if it is interrupted.
    pub(super) fn tick(&mut self) -> Result<bool> {
        let continues = (self.run.watch)(RunEvent::Tick)?.is_continue();
        if !continues {
            self.cut(Stopped::Interrupted);
        }
        Ok(continues)
    }

    /// Whether no line is open, and none will be.
    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty() && (self.stopped.is_some() || self.reader.is_at_end())
    }

    /// How the run ended.
    pub(super) fn outcome(self) -> Result<RunOutcome> {
        match self.stopped {
            None => Ok(RunOutcome::Complete),
            Some(Stopped::Cut) => Ok(RunOutcome::Cut),
            Some(Stopped::Interrupted) => Ok(RunOutcome::Interrupted),
            Some(Stopped::At(error)) => Ok(RunOutcome::StoppedAt(error)),
            Some(Stopped::Failed(error)) => Err(error),
        }
    }

    /// The first prompt of the next line that has one to answer. None at the end of the input, while a batch is being
    /// read, if the first open line is too far behind, and if the run is stopped.
    pub(super) fn next(&mut self) -> Result<Option<LinePrompt>> {
        while self.stopped.is_none() && self.ahead() < self.options.most_ahead {
            match self.reader.next() {
                Read::Line(batch, i, examples) => {
                    let number = batch.first + i as u64;
                    self.sizes.insert(number, batch.share(i));
                    let line = self.run.take_line(batch, i, examples);
                    if number < self.run.answers.rows() {
                        self.show_progress()?;
                    } else if let Some(asked) = self.begin(line)? {
                        return Ok(Some(asked));
                    }
                }
                Read::Batch(error) => {
                    self.stopped = error.map(Stopped::Failed);
                }
                Read::Awaited | Read::End => return Ok(None),
            }
        }
        Ok(None)
    }

    /// How many lines were taken since the first that is open.
    fn ahead(&self) -> u64 {
        self.run.totals.lines - self.done()
    }

    /// How many lines are done, up to the first that is not.
    fn done(&self) -> u64 {
        let lines = self.run.totals.lines;
        self.open.first_key_value().map_or(lines, |(first, _)| lines.min(*first))
    }

    fn begin(&mut self, line: std::result::Result<Job, Refused>) -> Result<Option<LinePrompt>> {
        match line {
            Ok(job) if self.run.answers.has_all(job.number, job.prompts_left()) => self.hand_out()?,
            Ok(job) => return self.advance(job),
            Err(Refused { number, key, error }) => {
                if let ControlFlow::Break(error) = self.run.refuse((number, 1), &key, None, error)? {
                    self.stop_before(number, Stopped::At(error));
                }
                self.hand_out()?;
            }
        }
        Ok(None)
    }

    /// The next prompt of a line, which is open then.
    fn advance(&mut self, mut job: Job) -> Result<Option<LinePrompt>> {
        loop {
            if self.is_cut {
                return Ok(None);
            }
            let runner = self.run.runner;
            let ask = match job.next(&runner.builder, &runner.room) {
                Ok(Some(ask)) => ask,
                Ok(None) => break,
                Err(error) => {
                    let error = job.place().of_error(error);
                    self.refuse(&job, job.asked + 1, error)?;
                    return Ok(None);
                }
            };
            let known =
                if self.options.resumes_within_lines { self.run.answers.known((job.number, job.asked))? } else { None };
            match known {
                None => return Ok(Some(self.open(job, ask))),
                Some(KnownAnswer { is_refused: true, .. }) => {
                    // The run may have been interrupted before it wrote the errors of the later turns.
                    self.run.refuse_later(&job, job.asked)?;
                    break;
                }
                Some(KnownAnswer { json, .. }) => job.answer_again(&json)?,
            }
        }
        self.hand_out()?;
        Ok(None)
    }

    fn open(&mut self, job: Job, ask: JobPrompt) -> LinePrompt {
        let number = job.number;
        let (turn, prompt_tokens) = (ask.turn, ask.prompt.input_ids.len());
        let (truncated, answer_omitted) = (ask.truncated.clone(), ask.prompt.answer_omitted);
        let line = OpenLine { job, turn, prompt_tokens, truncated, answer_omitted };
        self.open.insert(number, line);
        LinePrompt { number, ask }
    }

    /// The line with this number, if it is open.
    pub(super) fn get(&self, number: u64) -> Option<&OpenLine> {
        self.open.get(&number)
    }

    /// The line with this number, if it is open, and closes it.
    pub(super) fn take(&mut self, number: u64) -> Option<OpenLine> {
        self.open.remove(&number)
    }

    /// Records an answer, and returns the line's next prompt.
    pub(super) fn answered(&mut self, line: OpenLine, answer: TrimmedAnswer<'_>) -> Result<Option<LinePrompt>> {
        let OpenLine { mut job, turn, prompt_tokens, truncated, answer_omitted } = line;
        let totals = &mut self.run.totals;
        totals.answers += 1;
        totals.prompt_tokens += prompt_tokens as u64;
        totals.answers_omitted += u64::from(answer_omitted);
        totals.truncated += u64::from(truncated.is_some());
        *totals.reasons.entry(known_reason(&answer.finish_reason)).or_default() += 1;
        let RowKey { id, repeat, columns, .. } = &job.key;
        let (id, columns) = (Some(Cow::Borrowed(&**id)), columns.as_deref());
        let truncated = truncated.as_ref().map(raw).transpose()?.map(Cow::Owned);
        let answer = TrimmedAnswer { id, repeat: *repeat, turn, columns, truncated, ..answer };
        self.run.answers.add((job.number, job.asked), json(&answer)?)?;
        let TrimmedAnswer { token_ids, tail, text, stop, .. } = answer;
        let _ = (self.run.watch)(RunEvent::Answer)?;
        let answered = job.answer(Answered { token_ids, tail, text, stop });
        answered.map_err(|error| job.place().of_error(error))?;
        self.advance(job)
    }

    /// A line has no prompt where this answer would be, and none after it.
    pub(super) fn refuse(&mut self, job: &Job, answer: u64, error: Error) -> Result<()> {
        match self.run.refuse((job.number, answer), &job.key, job.turn, error)? {
            ControlFlow::Break(error) => self.stop_before(job.number, Stopped::At(error)),
            ControlFlow::Continue(()) => self.run.refuse_later(job, answer)?,
        }
        self.hand_out()
    }

    /// Takes no further line. No line from this one on counts as done.
    pub(super) fn stop_before(&mut self, number: u64, why: Stopped) {
        self.run.totals.lines = self.run.totals.lines.min(number);
        self.stopped = Some(why);
    }

    /// Shows how much of the input is done.
    fn show_progress(&mut self) -> Result<()> {
        let mut done = 0;
        self.sizes.retain(|number, size| {
            let is_open = self.open.contains_key(number);
            done += if is_open { 0 } else { *size as u64 };
            is_open
        });
        // The watcher can stop the run at its next event.
        let _ = (self.run.watch)(RunEvent::Read(done))?;
        Ok(())
    }

    /// A line has no further prompts: hands out what is done.
    pub(super) fn hand_out(&mut self) -> Result<()> {
        self.show_progress()?;
        let done = self.done();
        let watch = &mut *self.run.watch;
        if self.run.answers.done(done, |json| watch(RunEvent::Line(json)))?.is_break() {
            self.cut(Stopped::Cut);
        }
        Ok(())
    }
}

/// The word by which an answer is counted: one of few.
fn known_reason(reason: &str) -> &'static str {
    ["stop", "length", "abort"].into_iter().find(|known| *known == reason).unwrap_or("other")
}
