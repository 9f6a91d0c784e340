//! Lines are answered by a server: as many requests as it takes are under way, and each that is answered makes room for the next.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::vec;

use serde_json::value::RawValue;

use crate::client::{Ask as Prompt, Client, FailedRequest, Finished, Outcome};
use crate::dataset::{Examples, RowKey, SamplingParams};
use crate::error::{Error, ErrorKind, Result, Setting, way_out};
use crate::input::{Batches, LineBatch};
use crate::run::events::{RunEvent, RunOutcome};
use crate::run::job::{Ask, Job, JobKey};
use crate::run::runner::{Failed, Refused, Run, json};
use crate::run::{KnownAnswer, ServerTotals};
use crate::server::EngineAnswer;
use crate::sink::{FormOptions, LineSink, OutputForm, RequestOptions, Sink};
use crate::trim::{AnswerTrimmer, TrimOptions, TrimmedAnswer};

/// So many lines may be done before the one they wait for, for each request under way. They are in memory where no journal
/// has them.
const LINES_AHEAD: usize = 16;

/// That a server ignores stop ids does not matter: the run itself looks for them.
const STOPPED_HERE: &str = "stop-ids-ignored";

/// What the run waits for.
enum Event {
    Batch(Option<LineBatch>),
    Answer(u64, Result<Outcome>),
}

/// A batch of lines that are being taken.
struct Lines {
    batch: LineBatch,
    next: usize,
    examples: vec::IntoIter<Examples>,
}

/// Requests under way.
struct Window<'w, 'r> {
    run: &'w mut Run<'r>,
    client: &'w Client,
    sink: Arc<dyn LineSink>,
    trimmer: AnswerTrimmer,
    sampling_params: SamplingParams,
    /// The lines whose answers are awaited, with the prompts that were sent.
    open: BTreeMap<u64, (Job, Sent)>,
    lines: Option<Lines>,
    /// Asks for a further batch.
    more: SyncSender<()>,
    is_more_asked: bool,
    is_input_done: bool,
    sender: Sender<Event>,
    /// Why nothing further is sent.
    stopped: Option<Stopped>,
}

/// What is kept of a prompt until its answer comes.
struct Sent {
    turn: Option<usize>,
    tokens: usize,
    answer_omitted: bool,
}

/// Why a run sends nothing further. What is under way is awaited.
enum Stopped {
    Cut,
    At(Error),
    Failed(Error),
}

impl Run<'_> {
    pub(super) fn over_http(&mut self, client: &Client, batches: Batches) -> Result<RunOutcome> {
        self.totals.server = Some(ServerTotals::default());
        let sink = requests(client, self.runner)?;
        for warning in sink.warnings().iter().filter(|warning| warning.code() != STOPPED_HERE) {
            let _ = (self.watch)(RunEvent::Warning(warning.clone()))?;
        }
        let (sender, inbox) = channel();
        let more = read_ahead(batches, sender.clone());
        let runner = self.runner;
        let mut window = Window {
            client,
            sink,
            trimmer: AnswerTrimmer::new(&runner.builder, TrimOptions::default())?,
            sampling_params: runner.sampling_params(),
            open: BTreeMap::new(),
            lines: None,
            more,
            is_more_asked: false,
            is_input_done: false,
            sender,
            stopped: None,
            run: self,
        };
        window.work(&inbox)
    }
}

/// Reads a batch whenever one is asked for. The thread is not waited for: it may be blocked reading a terminal.
fn read_ahead(mut batches: Batches, sender: Sender<Event>) -> SyncSender<()> {
    let (more, asked) = sync_channel::<()>(1);
    thread::spawn(move || {
        while asked.recv().is_ok() {
            let batch = batches();
            let is_last = batch.is_none();
            if sender.send(Event::Batch(batch)).is_err() || is_last {
                return;
            }
        }
    });
    more
}

/// What writes the bodies of requests.
fn requests(client: &Client, runner: &crate::run::Runner) -> Result<Arc<dyn LineSink>> {
    let served_model_name = client.notes().served.model.clone();
    let request = RequestOptions { served_model_name, stream: true, ..runner.request.clone() };
    let options = FormOptions { request, ..FormOptions::default() };
    let form: &OutputForm = OutputForm::find(client.protocol().form)?;
    match form.open(&runner.builder, options)? {
        Sink::Lines(sink) => Ok(sink.into()),
        Sink::File(_) => Err(ErrorKind::Usage(format!("{} is no form of requests", form.name)).into()),
    }
}

impl Window<'_, '_> {
    fn work(&mut self, inbox: &Receiver<Event>) -> Result<RunOutcome> {
        loop {
            self.fill()?;
            let is_idle = self.open.is_empty();
            match self.stopped.take_if(|_| is_idle) {
                Some(Stopped::Cut) => return Ok(RunOutcome::Cut),
                Some(Stopped::At(error)) => return Ok(RunOutcome::StoppedAt(error)),
                Some(Stopped::Failed(error)) => return Err(error),
                None if is_idle && self.is_input_done && self.lines.is_none() => return Ok(RunOutcome::Complete),
                None => {}
            }
            match inbox.recv().expect("the window itself holds a sender") {
                Event::Batch(batch) => self.take_batch(batch),
                Event::Answer(number, outcome) => self.take_answer(number, outcome?)?,
            }
        }
    }

    /// Sends prompts while there is room.
    fn fill(&mut self) -> Result<()> {
        let room = self.client.concurrency().get();
        while self.stopped.is_none() && self.open.len() < room && self.ahead() < (room * LINES_AHEAD) as u64 {
            if self.lines.is_none() {
                if !self.is_more_asked && !self.is_input_done {
                    self.is_more_asked = true;
                    // The reader takes one at a time, and waits for it.
                    let _ = self.more.send(());
                }
                return Ok(());
            }
            self.next_line()?;
        }
        Ok(())
    }

    /// How many lines were taken since the first whose answer is awaited.
    fn ahead(&self) -> u64 {
        self.run.totals.lines - self.done()
    }

    /// How many lines are done, up to the first that is not.
    fn done(&self) -> u64 {
        self.open.first_key_value().map_or(self.run.totals.lines, |(first, _)| *first)
    }

    fn take_batch(&mut self, batch: Option<LineBatch>) {
        self.is_more_asked = false;
        self.is_input_done = batch.is_none();
        self.lines = batch.map(|mut batch| {
            let examples = std::mem::take(&mut batch.examples).into_iter();
            Lines { batch, next: 0, examples }
        });
    }

    /// Takes a line of the batch, and sends its first prompt.
    fn next_line(&mut self) -> Result<()> {
        let Some(mut lines) = self.lines.take() else { return Ok(()) };
        let Lines { batch, next, examples } = &mut lines;
        if *next == batch.lines.len() {
            // Whoever watches a run that goes on has no reason to end it here.
            let _ = (self.run.watch)(RunEvent::Read(batch.size as u64))?;
            if let Some(error) = batch.error.take() {
                self.stopped = Some(Stopped::Failed(error));
            }
            return Ok(());
        }
        let number = batch.first + *next as u64;
        let job = self.run.take_line(batch, *next, examples.next().unwrap_or_default());
        *next += 1;
        self.lines = Some(lines);
        if number < self.run.answers.rows() {
            return Ok(());
        }
        match job {
            Ok(job) => self.advance(job),
            Err(Refused { number, pick, error }) => {
                self.refuse(number, &RowKey::numbered(pick).into(), 0, error)?;
                self.hand_out()
            }
        }
    }

    /// Sends the next prompt of a line that is not answered already, or is done with the line.
    fn advance(&mut self, mut job: Job) -> Result<()> {
        loop {
            let runner = self.run.runner;
            let ask = match job.next(&runner.builder, runner.budget, runner.max_out_len) {
                Ok(Some(ask)) => ask,
                Ok(None) => return self.hand_out(),
                Err(error) => {
                    let error = job.place().of_error(error);
                    self.refuse(job.number, &job.key, job.asked, error)?;
                    return self.hand_out();
                }
            };
            match self.run.answers.known((job.number, job.asked))? {
                None => return self.send(job, ask),
                Some(KnownAnswer { is_refused: true, .. }) => return self.hand_out(),
                Some(KnownAnswer { json, .. }) => job.answer_again(&json)?,
            }
        }
    }

    fn send(&mut self, job: Job, ask: Ask) -> Result<()> {
        let Ask { prompt, turn, max_new_tokens } = ask;
        if let Some(size) = self.client.notes().served.vocab_size
            && let Some(&id) = prompt.input_ids.iter().find(|id| **id as usize >= size)
        {
            let error = job.place().of_error(ErrorKind::OutsideVocabulary { id: id.into(), size });
            self.refuse(job.number, &job.key, job.asked - 1, error)?;
            return self.hand_out();
        }
        let sent = Sent { turn, tokens: prompt.input_ids.len(), answer_omitted: prompt.answer_omitted };
        let number = job.number;
        let ask = Prompt {
            request_id: format!("{number}-{}", job.asked),
            prompt,
            max_new_tokens,
            sampling_params: self.sampling_params,
        };
        self.open.insert(number, (job, sent));
        let sender = self.sender.clone();
        self.client.send(ask, Arc::clone(&self.sink), self.run.trimmer.clone(), move |outcome| {
            // The run may be over.
            let _ = sender.send(Event::Answer(number, outcome));
        });
        Ok(())
    }

    fn take_answer(&mut self, number: u64, outcome: Outcome) -> Result<()> {
        let Some((job, sent)) = self.open.remove(&number) else { return Ok(()) };
        match outcome {
            Outcome::Answered(finished) => self.answered(job, &sent, *finished),
            Outcome::Failed(failed) => {
                self.failed(&job, &sent, failed)?;
                self.hand_out()
            }
            Outcome::GivenUp(why) => {
                let way_out = way_out!["start it again and go on from there with ", Setting::RESUME];
                self.stopped = Some(Stopped::Failed(ErrorKind::Engine(why).with_way_out(way_out)));
                // The line stays open: nothing after it is done.
                self.stop_before(number);
                Ok(())
            }
        }
    }

    /// Nothing from this line on is done.
    fn stop_before(&mut self, number: u64) {
        self.run.totals.lines = self.run.totals.lines.min(number);
    }

    /// Writes an answer down, and sends what comes after it.
    fn answered(&mut self, mut job: Job, sent: &Sent, finished: Finished) -> Result<()> {
        let totals = &mut self.run.totals;
        if let Some(server) = &mut totals.server {
            server.see(sent.tokens, &finished);
        }
        let tokens = finished.answer.tokens().or(finished.answer.usage.completion_tokens).unwrap_or_default() as u64;
        let Finished { answer, raw, .. } = finished;
        let given = EngineAnswer {
            token_ids: answer.token_ids,
            text: answer.text,
            finish_reason: answer.finish_reason,
            stop_reason: answer.stop_reason,
            ..EngineAnswer::default()
        };
        let trimmed = self.trimmer.trim_answer(given).map_err(|error| job.place().of_error(error))?;
        totals.answers += 1;
        totals.tokens += tokens;
        totals.answers_omitted += u64::from(sent.answer_omitted);
        *totals.reasons.entry(known_reason(&trimmed.finish_reason)).or_default() += 1;
        let raw: Vec<Box<RawValue>> = raw.into_iter().filter_map(|event| RawValue::from_string(event).ok()).collect();
        let JobKey { id, repeat, columns, .. } = &job.key;
        let line = TrimmedAnswer {
            id: Some(Cow::Borrowed(&**id)),
            repeat: *repeat,
            turn: sent.turn,
            columns: columns.as_deref(),
            raw: &raw,
            ..trimmed
        };
        self.run.answers.add((job.number, job.asked), json(&line)?)?;
        let TrimmedAnswer { token_ids, text, stop, .. } = line;
        let _ = (self.run.watch)(RunEvent::Tokens(tokens))?;
        let _ = (self.run.watch)(RunEvent::Answer)?;
        let answered = job.answer(token_ids, &text, stop.as_ref());
        answered.map_err(|error| job.place().of_error(error))?;
        self.advance(job)
    }

    /// Writes an error down in place of an answer.
    fn failed(&mut self, job: &Job, sent: &Sent, failed: FailedRequest) -> Result<()> {
        let FailedRequest { error, status, attempts } = failed;
        let shown = job.place().of_error(ErrorKind::Engine(error.clone()));
        let _ = (self.run.watch)(RunEvent::Refused(&shown))?;
        let JobKey { id, repeat, columns, .. } = &job.key;
        let (repeat, columns, attempts) = (*repeat, columns.as_deref(), Some(attempts));
        let line = Failed { id, repeat, turn: sent.turn, columns, error, status, attempts };
        self.run.answers.refuse((job.number, job.asked), json(&line)?)
    }

    fn refuse(&mut self, number: u64, key: &JobKey, asked: u64, error: Error) -> Result<()> {
        if let ControlFlow::Break(error) = self.run.refuse(number, key, asked, error)? {
            self.stopped = Some(Stopped::At(error));
            self.stop_before(number);
        }
        Ok(())
    }

    /// The lines up to the first that is open are done.
    fn hand_out(&mut self) -> Result<()> {
        let done = self.done();
        let watch = &mut *self.run.watch;
        if self.run.answers.done(done, |json| watch(RunEvent::Line(json)))?.is_break() {
            self.stopped = Some(Stopped::Cut);
        }
        Ok(())
    }
}

/// One of few words, by which answers are counted.
fn known_reason(reason: &str) -> &'static str {
    ["stop", "length", "abort"].into_iter().find(|known| *known == reason).unwrap_or("other")
}
