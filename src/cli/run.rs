//! `metatok run`: prompts are built, answered by an engine in this process, and trimmed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::builder::PromptBuilder;
use crate::cli::args::{OnError, RunArgs};
use crate::cli::batches::batches;
use crate::cli::build::answers_omitted;
use crate::cli::ids::{Id, Ids};
use crate::cli::job::{Ask, Job, JobKey, MAX_OUT_LEN, number_id};
use crate::cli::journal::{self, Answers};
use crate::cli::notes::Notes;
use crate::cli::output::count;
use crate::cli::outputs::Outputs;
use crate::cli::rows::Rows;
use crate::cli::say::{self, InFlags, say};
use crate::cli::source::Source;
use crate::cli::trimmed::Trimmed;
use crate::cli::{REJECTED, flags, progress, resume, setup};
use crate::conversation::Mode;
use crate::dataset::{MissingColumns, PickedRow, RecordReader, Row, RowKey};
use crate::engine::{Engine, GenerationEvent, Request, Sampling};
use crate::error::{At, Error, ErrorKind, Result};
use crate::stop::{Completion, Trimmer};
use crate::truncate::ContextBudget;

/// The lines that are answered side by side, each a job or why there is none.
type Window = Vec<std::result::Result<Job, Refused>>;

/// A line that gives no prompt.
struct Refused {
    number: u64,
    pick: PickedRow,
    place: String,
    error: Error,
}

/// What a line has in place of an answer.
#[derive(Serialize)]
struct Failed<'a> {
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<&'a RawValue>,
    error: String,
}

/// What answers.
struct Run<'b> {
    args: &'b RunArgs,
    builder: &'b PromptBuilder,
    engine: Box<dyn Engine>,
    trimmer: Trimmer,
    sampling: Sampling,
    budget: ContextBudget,
    /// How many tokens an answer may have, where its row does not say.
    max_out_len: usize,
    answers: Answers,
    progress: ProgressBar,
    started: Instant,
    tally: Tally,
    /// Whether what is answered is not the demo's own.
    has_input: bool,
}

/// How much was answered.
#[derive(Default)]
struct Tally {
    answers: u64,
    tokens: u64,
    /// How many conversations end with an answer, which was left out.
    answers_omitted: u64,
    /// How many answers ended for this reason.
    reasons: BTreeMap<&'static str, u64>,
}

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    let source = Source::find_for(&args.input, &args.model)?;
    if args.resume {
        resume::check_is_there(&source)?;
    }
    let longest = args.input.read.max_line_bytes;
    let mut rows = Rows::open_for_input(&args.input, &source, longest)?;
    flags::check_run(args, rows.as_ref())?;
    let sampling = sampling(args, rows.as_ref());
    sampling.check()?;
    let max_out_len = max_out_len(args)?;
    if let Some(rows) = &mut rows {
        rows.default_max_out_len(max_out_len);
    }
    outputs(args, &source, rows.as_ref())?;
    let options = setup::options(&args.prompts, rows.as_ref());
    if options.mode == Mode::Score {
        let what = "`run` writes answers, and these are texts to score; leave --mode ppl out, or `build` them";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let weights = args.weights.clone().map_or_else(|| setup::weights_name(&args.model, source.is_some()), Ok)?;
    let (model, tokenizer) = setup::load(&args.model, source.is_some())?;
    let builder = PromptBuilder::new(&model, tokenizer, &options)?;
    let fingerprint = || {
        let (input, truncate) = (&args.input, Some(args.truncate));
        let prompts = setup::fingerprint(input, rows.as_ref(), truncate, &model, builder.tokenizer(), &options)?;
        resume::fingerprint(args, &sampling, &source, &weights, prompts)
    };
    let Some(answers) = Answers::open(args.output.as_deref(), args.resume, fingerprint)? else {
        if !args.quiet {
            say!("nothing to resume: all answers are there already");
        }
        return Ok(ExitCode::SUCCESS);
    };
    if !args.quiet {
        rows.iter().for_each(Rows::say_notes);
        let remarks = setup::remarks(&model, &builder, rows.as_ref(), &options);
        remarks.iter().for_each(|remark| say!("{remark}"));
        if answers.rows() > 0 {
            say!("note: {} answered already", count(answers.rows(), "line"));
        }
    }
    let engine = engine(&weights, &args.device)?;
    let has_input = source.is_some();
    let mut inputs = source.open_or_demo(args.input.columns.as_deref())?;
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let progress = progress::bar(inputs.iter().map(|input| input.bytes).sum(), args.quiet || args.stream);
    if let Some(rows) = rows.as_ref().filter(|_| args.input.arrow_compat) {
        inputs = rows.through_arrow(inputs, longest)?;
    }
    let max_seq_len = args.input.max_seq_len.or(engine.max_seq_len()).unwrap_or(usize::MAX);
    // Where nobody says how long the context is, an answer takes what is left of the model's.
    let is_said = args.input.max_seq_len.is_some() || args.input.max_out_len.is_some();
    let room = if is_said { max_out_len } else { 0 };
    let budget = ContextBudget { max_seq_len, max_out_len: room, truncation: args.truncate };
    let trimmer = builder.trimmer()?;
    let (started, tally) = (Instant::now(), Tally::default());
    let mut run = Run {
        args,
        builder: &builder,
        engine,
        trimmer,
        sampling,
        budget,
        max_out_len,
        answers,
        progress,
        started,
        tally,
        has_input,
    };

    let mut inference = rows.as_ref().map(Rows::inference);
    let (reader, mut notes) = (RecordReader::new(args.input.input_format), Notes::default());
    let batch_size = if args.stream { 1 } else { args.batch_size.get() };
    let (mut window, mut lines) = (Vec::new(), 0);
    let (mut ids, mut has_said) = (Ids::default(), args.quiet);
    let mut missing = rows.as_ref().map(Rows::missing).unwrap_or_default();
    let mut next = batches(inputs, longest, rows.as_ref(), args.input.limit)?;
    while let Some(mut batch) = next() {
        let mut examples = std::mem::take(&mut batch.examples).into_iter();
        for (i, (line, range)) in batch.lines.iter().enumerate() {
            let (number, pick) = (batch.first + i as u64, batch.pick(i));
            let place = format!("{}: {line}", batch.input);
            let examples = examples.next().unwrap_or_default();
            let job = line.text(&batch.bytes[range.clone()], longest).and_then(|text| match (&rows, &mut inference) {
                (Some(rows), Some(inference)) => match rows.row(text, pick)? {
                    None => Ok(Job::unasked(number, place.clone(), pick)),
                    Some(row) => {
                        warn(rows, &row, &place, &mut missing, &mut has_said, &run.progress);
                        let rows = (rows, inference, &mut notes);
                        let strip_thoughts = args.input.strip_thoughts;
                        Job::row(&row, (number, pick), place.clone(), examples, rows, &builder, strip_thoughts)
                    }
                },
                _ => Job::conversation(text, number, place.clone(), reader, &mut notes),
            });
            if let Some(key) = job.as_ref().ok().map(|job| &job.key).filter(|key| key.has_id)
                && pick.repeat.is_none_or(|repeat| repeat == 0)
            {
                ids.see(&batch.input, vec![Id::new(key.id.get(), line)]);
            }
            window.push(job.map_err(|error| Refused { number, pick, place, error }));
            lines += 1;
            if window.len() == batch_size
                && let ControlFlow::Break(code) = run.window(std::mem::take(&mut window), lines)?
            {
                return Ok(code);
            }
        }
        run.progress.inc(batch.bytes.len() as u64);
        if let Some(error) = batch.error {
            return Err(error);
        }
    }
    if let ControlFlow::Break(code) = run.window(window, lines)? {
        return Ok(code);
    }
    if lines == 0 {
        let kind = if rows.is_some() { ErrorKind::NoRows } else { ErrorKind::EmptyInput };
        return Err(Error::from(kind).at(names.join(", ")));
    }
    let code = run.finish(&notes)?;
    // The answers are there; whether they were worth asking for is said behind them.
    let lacking = rows.as_ref().map(|rows| rows.check_missing(&missing)).transpose()?.unwrap_or_default();
    let lacking: Vec<String> = lacking.iter().map(InFlags::in_flags).collect();
    let unjudged = rows.as_ref().map(Rows::check_judged).transpose()?.unwrap_or_default();
    if !args.quiet {
        unjudged.iter().chain(&lacking).chain(&ids.note()).for_each(|note| say!("note: {note}"));
    }
    Ok(code)
}

/// Says of the first row that is not as it should be.
fn warn(
    rows: &Rows,
    row: &Row,
    place: &str,
    missing: &mut MissingColumns,
    has_said: &mut bool,
    progress: &ProgressBar,
) {
    missing.see(row);
    if *has_said {
        return;
    }
    if let Some(warning) = rows.warning(row) {
        *has_said = true;
        progress.suspend(|| say!("warning: {place}: {}", warning.in_flags()));
    }
}

/// How many tokens an answer may have, where its row does not say.
fn max_out_len(args: &RunArgs) -> Result<usize> {
    match (args.input.max_out_len, args.input.max_seq_len) {
        (None, Some(max_seq_len)) if MAX_OUT_LEN >= max_seq_len => {
            let what = format!(
                "the {MAX_OUT_LEN} tokens that an answer may have leave no room in `--max-seq-len {max_seq_len}`; say how many it may have, with --max-out-len"
            );
            Err(ErrorKind::Usage(what).into())
        }
        (max_out_len, _) => Ok(max_out_len.unwrap_or(MAX_OUT_LEN)),
    }
}

/// Looks whether what is written is anything that is read.
fn outputs(args: &RunArgs, source: &Source, rows: Option<&Rows>) -> Result<()> {
    let mut outputs = Outputs::to("--output", args.output.as_deref());
    if let Some(path) = &args.output {
        outputs = outputs.and("the journal of --output", &journal::path(path))?;
    }
    outputs.check_inputs(&args.input, source, rows)?;
    outputs.check("the weights", args.weights.as_deref().map(Path::new))?;
    outputs.check_model(&args.model, source.is_some())
}

impl<'b> Run<'b> {
    /// Answers lines side by side, up to this number. Breaks off where a line stops the run, or nobody reads any more.
    fn window(&mut self, window: Window, lines: u64) -> Result<ControlFlow<ExitCode>> {
        if window.is_empty() || lines <= self.answers.rows() {
            return Ok(ControlFlow::Continue(()));
        }
        let mut jobs = Vec::with_capacity(window.len());
        for line in window {
            match line {
                Ok(job) => jobs.push(job),
                Err(Refused { number, pick, place, error }) => {
                    let key = RowKey::numbered(pick).into();
                    if let ControlFlow::Break(code) = self.refuse(number, &key, 0, error.at(place))? {
                        return Ok(ControlFlow::Break(code));
                    }
                }
            }
        }
        loop {
            let mut asks = Vec::with_capacity(jobs.len());
            for (i, job) in jobs.iter_mut().enumerate() {
                match job.next(self.builder, self.budget, self.max_out_len) {
                    Ok(ask) => asks.extend(ask.map(|ask| (i, ask))),
                    Err(error) => {
                        job.fail();
                        let error = error.at(&job.place);
                        if let ControlFlow::Break(code) = self.refuse(job.number, &job.key, job.asked, error)? {
                            return Ok(ControlFlow::Break(code));
                        }
                    }
                }
            }
            if asks.is_empty() {
                break;
            }
            let completions = self.complete(&jobs, &asks)?;
            for ((i, _), completion) in asks.iter().zip(completions) {
                jobs[*i].answer(&completion).at(&jobs[*i].place)?;
            }
        }
        Ok(match self.answers.done(lines)? {
            ControlFlow::Break(()) => ControlFlow::Break(ExitCode::SUCCESS),
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
        })
    }

    /// Answers one prompt of each of these lines.
    fn complete(&mut self, jobs: &[Job], asks: &[(usize, Ask)]) -> Result<Vec<Completion>> {
        let Self { args, builder, engine, trimmer, answers, progress, started, tally, .. } = self;
        let requests: Vec<Request<'_>> = asks
            .iter()
            .map(|(i, Ask { prompt, max_new_tokens, .. })| Request {
                input_ids: &prompt.input_ids,
                max_new_tokens: *max_new_tokens,
                sampling: Sampling { stream: jobs[*i].number, ..self.sampling },
            })
            .collect();
        let mut watch = |request: usize, step: GenerationEvent<'_>| -> Result<()> {
            let (i, ask) = &asks[request];
            match step {
                GenerationEvent::Token => {
                    tally.tokens += 1;
                    progress.set_message(format!(
                        "{}, {}",
                        count(tally.answers, "answer"),
                        rate(tally.tokens, started)
                    ));
                }
                GenerationEvent::Text(text) if args.stream => say::piece(text),
                GenerationEvent::Text(_) => {}
                GenerationEvent::End(completion) => {
                    if args.stream {
                        say::piece("\n");
                    }
                    let job = &jobs[*i];
                    let turn = ask.turn.map(|turn| number_id(turn as u64));
                    let line = Trimmed::new(completion.clone(), trimmer, builder.tokenizer());
                    let JobKey { id, repeat, columns, .. } = &job.key;
                    let (repeat, columns) = (repeat.as_deref(), columns.as_deref());
                    let line = Trimmed { id: Some(id), repeat, turn: turn.as_deref(), columns, ..line };
                    tally.answers += 1;
                    tally.answers_omitted += u64::from(ask.prompt.answer_omitted);
                    *tally.reasons.entry(line.finish_reason).or_default() += 1;
                    answers.add((job.number, job.asked), &json(&line)?)?;
                }
            }
            Ok(())
        };
        engine.complete(&requests, trimmer, &mut watch)
    }

    /// Takes notice of a line, or a turn, that gives no prompt.
    fn refuse(&mut self, number: u64, key: &JobKey, asked: u64, error: Error) -> Result<ControlFlow<ExitCode>> {
        if self.args.on_error == OnError::Stop {
            self.progress.finish_and_clear();
            say!("{}", error.in_flags());
            let resume = if self.args.output.is_some() { ", with --resume from here" } else { "" };
            say!(
                "stopped there, after {}; --on-error reject goes on without such rows{resume}",
                count(self.tally.answers, "answer")
            );
            return Ok(ControlFlow::Break(ExitCode::from(REJECTED)));
        }
        self.progress.suspend(|| say!("{}", error.in_flags()));
        // Behind the answers that there are.
        let JobKey { id, repeat, columns, .. } = key;
        let failed = Failed { id, repeat: repeat.as_deref(), columns: columns.as_deref(), error: error.in_flags() };
        self.answers.refuse((number, asked + 1), &json(&failed)?)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(self, notes: &Notes) -> Result<ExitCode> {
        self.progress.finish_and_clear();
        if !self.args.quiet {
            notes.print();
        }
        let refused = self.answers.finish()?;
        let Tally { answers, tokens, answers_omitted: omitted, reasons } = self.tally;
        if !self.args.quiet {
            if omitted > 0 && self.has_input {
                say!("note: {}", answers_omitted(omitted));
            }
            let reasons: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
            let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
            say!("{}{reasons}, {}", count(answers, "answer"), rate(tokens, &self.started));
        }
        if refused > 0 {
            say!("{} without an answer, each with its error in place of one", count(refused, "row"));
            return Ok(ExitCode::from(REJECTED));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn rate(tokens: u64, started: &Instant) -> String {
    let seconds = started.elapsed().as_secs_f64();
    format!("{}, {seconds:.2} s, {:.0} tokens/s", count(tokens, "token"), tokens as f64 / seconds.max(1e-9))
}

fn json(line: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(line).map_err(|error| ErrorKind::Parse(error.to_string()))?)
}

/// How answers are drawn: as the arguments say, or else as the dataset does.
pub(crate) fn sampling(args: &RunArgs, rows: Option<&Rows>) -> Sampling {
    let said = rows.map(|rows| rows.dataset.inferencer.sampling_params).unwrap_or_default();
    let usual = Sampling::default();
    Sampling {
        temperature: args.temperature.or(said.temperature).unwrap_or(usual.temperature),
        top_p: args.top_p.or(said.top_p).unwrap_or(usual.top_p),
        seed: args.seed,
        ..usual
    }
}

/// The engine. A further one is a line here.
#[cfg(feature = "candle")]
fn engine(weights: &str, device: &str) -> Result<Box<dyn Engine>> {
    use crate::engine::{CandleDevice, CandleEngine};

    let device = match (device, device.strip_prefix("cuda:").map(str::parse)) {
        ("cpu", _) => CandleDevice::Cpu,
        ("cuda", _) => CandleDevice::Cuda(0),
        (_, Some(Ok(number))) => CandleDevice::Cuda(number),
        _ => {
            let what = format!("--device {device:?} is neither cpu, nor cuda, nor cuda:N");
            return Err(ErrorKind::Usage(what).into());
        }
    };
    Ok(Box::new(CandleEngine::load(weights, device)?))
}

#[cfg(not(feature = "candle"))]
fn engine(_: &str, _: &str) -> Result<Box<dyn Engine>> {
    let what = "this metatok is built without an engine; build it with --features candle";
    Err(ErrorKind::Usage(what.into()).into())
}
