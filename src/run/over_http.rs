//! Answering lines with a server: as many requests as it takes are in progress, and each answer makes room for the
//! next.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::client::{Bodies, Client, ClientRequest, FailedRequest, Finished, Outcome};
use crate::dataset::SamplingParams;
use crate::error::{ErrorKind, Result, Setting, Warning, way_out};
use crate::input::{Batches, LineBatch};
use crate::run::Runner;
use crate::run::ServerTotals;
use crate::run::events::{RunEvent, RunOutcome, TICK};
use crate::run::line_reader::LineReader;
use crate::run::open_lines::{LinePrompt, OpenLine, OpenLines, OpenLinesOptions, Stopped};
use crate::run::runner::{Failed, Run, json};
use crate::server::EngineAnswer;
use crate::sink::{FormOptions, LineSink, OutputForm, RequestOptions, Sink};
use crate::trim::{AnswerTrimmer, TrimOptions, TrimmedAnswer};

/// How many lines may be taken after the first open one, for each request in progress.
const LINES_AHEAD: u64 = 16;

/// A server may ignore stop ids if its answers have ids, because the run itself looks for them.
const STOPPED_HERE: &str = "stop-ids-ignored";

/// The parameters that ask for several answers to a prompt.
const CHOICES: [&str; 3] = ["n", "best_of", "n_cmpl"];

/// An event that the run waits for.
enum Event {
    Batch(Option<LineBatch>),
    Answer(u64, Result<Outcome>),
}

/// Requests in progress.
struct OverHttp<'w, 'r> {
    lines: OpenLines<'w, 'r>,
    client: &'w Client,
    bodies: Bodies,
    trimmer: AnswerTrimmer,
    sampling_params: SamplingParams,
    sender: Sender<Event>,
    /// Whether it was said that answers lack ids.
    is_lack_said: bool,
}

impl Run<'_> {
    pub(super) fn over_http(&mut self, client: &Client, batches: Batches) -> Result<RunOutcome> {
        self.totals.server = Some(ServerTotals::default());
        let bodies = bodies(client, self.runner)?;
        for warning in bodies.streamed.warnings().iter().filter(|warning| warning.code() != STOPPED_HERE) {
            let _ = (self.watch)(RunEvent::Warning(warning.clone()))?;
        }
        let (sender, inbox) = channel();
        let to_inbox = sender.clone();
        let reader = LineReader::start(batches, move |batch| to_inbox.send(Event::Batch(batch)).is_ok());
        let runner = self.runner;
        let most_ahead = LINES_AHEAD.saturating_mul(client.concurrency().get() as u64);
        let requests = OverHttp {
            lines: OpenLines::new(self, reader, OpenLinesOptions { most_ahead, resumes_within_lines: true }),
            client,
            bodies,
            trimmer: AnswerTrimmer::new(&runner.builder, TrimOptions::default())?,
            sampling_params: runner.sampling_params(),
            sender,
            is_lack_said: false,
        };
        requests.work(&inbox)
    }
}

/// What writes the bodies of requests.
fn bodies(client: &Client, runner: &Runner) -> Result<Bodies> {
    refuse_choices(&runner.options.request.params)?;
    Ok(Bodies { streamed: sink(client, runner, true)?, whole: sink(client, runner, false)? })
}

fn sink(client: &Client, runner: &Runner, stream: bool) -> Result<Arc<dyn LineSink>> {
    let served_model_name = client.notes().served.model.clone();
    let request = RequestOptions { served_model_name, stream, few_stops: true, ..runner.options.request.clone() };
    let options = FormOptions { request, ..FormOptions::default() };
    let form: &OutputForm = OutputForm::find(client.protocol().form)?;
    match form.open(&runner.builder, options)? {
        Sink::Lines(sink) => Ok(sink.into()),
        Sink::File(_) => Err(ErrorKind::Usage(format!("{} is not a form of requests", form.name)).into()),
    }
}

/// Rejects parameters that ask for several answers to a prompt: their pieces would come mixed.
fn refuse_choices(params: &Map<String, Value>) -> Result<()> {
    let several = |key: &&&str| params.get(**key).is_some_and(|value| value.as_f64() != Some(1.0) && !value.is_null());
    match CHOICES.iter().find(several) {
        Some(key) => {
            let what = format!("{key:?} is {}, but a run takes one answer to each prompt", params[*key]);
            let way_out = "leave it out, or write requests with `build` and read their answers with `trim`";
            Err(ErrorKind::Usage(what).with_way_out(way_out))
        }
        None => Ok(()),
    }
}

/// How many tokens a server is asked for, as far as parameters do not say something else than a number.
fn most_tokens(client: &Client, params: &Map<String, Value>, max_new_tokens: usize) -> Option<usize> {
    match params.get(client.protocol().max_tokens) {
        None => Some(max_new_tokens),
        Some(value) => value.as_u64().and_then(|most| most.try_into().ok()),
    }
}

impl OverHttp<'_, '_> {
    fn work(mut self, inbox: &Receiver<Event>) -> Result<RunOutcome> {
        loop {
            self.fill()?;
            // Once nobody wants further answers, those that are on their way are not waited for.
            if self.lines.is_done() || self.lines.is_cut() || !self.lines.tick()? {
                return self.lines.outcome();
            }
            match inbox.recv_timeout(TICK) {
                Ok(Event::Batch(batch)) => self.lines.reader.take(batch),
                Ok(Event::Answer(number, outcome)) => self.take_answer(number, outcome?)?,
                // A sender is kept here, so they have not all gone.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Sends prompts while there is room.
    fn fill(&mut self) -> Result<()> {
        while self.lines.len() < self.client.concurrency().get() {
            let Some(asked) = self.lines.next()? else { return Ok(()) };
            self.send(asked)?;
        }
        Ok(())
    }

    fn send(&mut self, LinePrompt { number, ask }: LinePrompt) -> Result<()> {
        let Some(OpenLine { job, .. }) = self.lines.get(number) else { return Ok(()) };
        let request_id = format!("{number}-{}", job.asked);
        if let Some(size) = self.client.notes().served.vocab_size
            && let Some(&id) = ask.prompt.input_ids.iter().find(|id| **id as usize >= size)
            && let Some(OpenLine { job, .. }) = self.lines.take(number)
        {
            let error = job.place().of_error(ErrorKind::OutsideVocabulary { id: id.into(), size });
            return self.lines.refuse(&job, job.asked, error);
        }
        let prompt = ClientRequest {
            request_id,
            prompt: ask.prompt,
            max_new_tokens: ask.max_new_tokens,
            most_tokens: most_tokens(self.client, &self.lines.run.runner.options.request.params, ask.max_new_tokens),
            sampling_params: self.sampling_params,
        };
        let sender = self.sender.clone();
        self.client.send(prompt, self.bodies.clone(), self.lines.run.trimmer.clone(), move |outcome| {
            // The run may be over.
            let _ = sender.send(Event::Answer(number, outcome));
        });
        Ok(())
    }

    fn take_answer(&mut self, number: u64, outcome: Outcome) -> Result<()> {
        let Some(line) = self.lines.take(number) else { return Ok(()) };
        match outcome {
            Outcome::Answered(finished) => self.answered(line, *finished)?,
            Outcome::Failed(failed) => self.failed(&line, failed)?,
            Outcome::GivenUp(why) => {
                let error = match self.lines.run.answers.is_kept() {
                    true => {
                        let way_out = way_out!["fix that, then continue with ", Setting::RESUME];
                        ErrorKind::Engine(why).with_way_out(way_out)
                    }
                    false => ErrorKind::Engine(why).into(),
                };
                self.lines.stop_before(number, Stopped::Failed(error));
            }
        }
        Ok(())
    }

    /// Writes an answer down, and sends what comes after it.
    fn answered(&mut self, line: OpenLine, finished: Finished) -> Result<()> {
        let totals = &mut self.lines.run.totals;
        if let Some(server) = &mut totals.server {
            server.see(line.prompt_tokens, &finished);
        }
        let tokens = finished.answer.tokens().or(finished.answer.usage.completion_tokens).unwrap_or_default() as u64;
        totals.tokens += tokens;
        let _ = (self.lines.run.watch)(RunEvent::Tokens(tokens))?;
        let Finished { answer, raw, .. } = finished;
        let has_only_text = answer.token_ids.is_none() && answer.text.as_ref().is_some_and(|text| !text.is_empty());
        if self.client.protocol().gives_ids && has_only_text && !std::mem::replace(&mut self.is_lack_said, true) {
            let what = "an answer has no token ids; such answers are trimmed as text, in which stop ids are not found";
            let warning = line.job.place().of_warning(Warning::new("ids-missing", what));
            let _ = (self.lines.run.watch)(RunEvent::Warning(warning))?;
        }
        let given = EngineAnswer {
            token_ids: answer.token_ids,
            text: answer.text,
            finish_reason: answer.finish_reason,
            stop_reason: answer.stop_reason,
            ..EngineAnswer::default()
        };
        let trimmed = self.trimmer.trim_answer(given).map_err(|error| line.job.place().of_error(error))?;
        // A line of the answers has no line ends, and neither has a string in JSON.
        let in_one_line = |event: String| RawValue::from_string(event.replace(['\r', '\n'], " ")).ok();
        let raw: Vec<Box<RawValue>> = raw.into_iter().filter_map(in_one_line).collect();
        match self.lines.answered(line, TrimmedAnswer { raw: &raw, ..trimmed })? {
            Some(asked) => self.send(asked),
            None => Ok(()),
        }
    }

    /// Writes an error down in place of an answer.
    fn failed(&mut self, line: &OpenLine, failed: FailedRequest) -> Result<()> {
        let OpenLine { job, turn, .. } = line;
        if let Some(server) = &mut self.lines.run.totals.server {
            server.see_failed(&failed);
        }
        let FailedRequest { error, status, attempts } = failed;
        let shown = job.place().of_error(ErrorKind::Engine(error.clone()));
        let _ = (self.lines.run.watch)(RunEvent::Refused(&shown))?;
        let failed = Failed { status, attempts: Some(attempts), ..Failed::new(&job.key, *turn, error) };
        self.lines.run.answers.refuse((job.number, job.asked), json(&failed)?)?;
        self.lines.run.refuse_later(job, job.asked)?;
        self.lines.hand_out()
    }
}
