//! `metatok run`: prompts are built, answered by an engine in this process, and trimmed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Instant;

use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::builder::PromptBuilder;
use crate::cli::args::{OnError, RunArgs};
use crate::cli::batches::batches;
use crate::cli::job::{Ask, Job, number_id};
use crate::cli::journal::Answers;
use crate::cli::notes::Notes;
use crate::cli::output::count;
use crate::cli::rows::Rows;
use crate::cli::source::Source;
use crate::cli::trimmed::Trimmed;
use crate::cli::{REJECTED, progress, setup};
use crate::conversation::Mode;
use crate::dataset::RecordReader;
use crate::engine::{Engine, Progress, Request, Sampling};
use crate::error::{At, Error, ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::stop::{Completion, Trimmer};
use crate::truncate::Budget;

/// The lines that are answered side by side, each a job or why there is none.
type Window<'b> = Vec<std::result::Result<Job<'b>, Refused>>;

/// A line that gives no prompt.
struct Refused {
    number: u64,
    place: String,
    error: Error,
}

/// What a line has in place of an answer.
#[derive(Serialize)]
struct Failed<'a> {
    id: &'a RawValue,
    error: String,
}

/// What answers.
struct Run<'b> {
    args: &'b RunArgs,
    builder: &'b PromptBuilder,
    engine: Box<dyn Engine>,
    trimmer: Trimmer,
    budget: Budget,
    answers: Answers,
    progress: ProgressBar,
    started: Instant,
    tally: Tally,
}

/// How much was answered.
#[derive(Default)]
struct Tally {
    answers: u64,
    tokens: u64,
    /// How many answers ended for this reason.
    reasons: BTreeMap<&'static str, u64>,
}

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    sampling(args, 0).check()?;
    let source = Source::find(&args.input.inputs)?;
    if args.resume && source.has_stdin() {
        let what = "--resume reads the input once more, and standard input is gone; give it as a file";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let longest = args.input.read.max_line_bytes;
    let rows = Rows::open_for_input(&args.input, &source, longest)?;
    let options = setup::options(&args.prompts, rows.as_ref());
    if options.mode == Mode::Score {
        let what = "`run` writes answers, and these are texts to score; leave --mode ppl out, or `build` them";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let weights = args.weights.clone().map_or_else(|| setup::weights_name(&args.model, source.is_some()), Ok)?;
    let (model, tokenizer) = setup::load(&args.model, source.is_some())?;
    let builder = PromptBuilder::new(&model, tokenizer, &options)?;
    let fingerprint = || {
        let prompts = setup::fingerprint(&args.input, Some(args.truncate), &model, builder.tokenizer(), &options)?;
        fingerprint_of(args, &weights, prompts)
    };
    let Some(answers) = Answers::open(args.output.as_deref(), args.resume, fingerprint)? else {
        if !args.quiet {
            eprintln!("metatok: nothing to resume: all answers are there already");
        }
        return Ok(ExitCode::SUCCESS);
    };
    if !args.quiet {
        builder.warnings().iter().for_each(|warning| eprintln!("metatok: warning: {warning}"));
        if answers.rows() > 0 {
            eprintln!("metatok: note: {} answered already", count(answers.rows(), "line"));
        }
    }
    let engine = engine(&weights, &args.device)?;
    let mut inputs = source.open_or_demo()?;
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let progress = progress::bar(inputs.iter().map(|input| input.bytes).sum(), args.quiet || args.stream);
    if let Some(rows) = rows.as_ref().filter(|_| args.input.arrow_compat) {
        inputs = rows.through_arrow(inputs, longest)?;
    }
    let max_seq_len = args.input.max_seq_len.or(engine.max_seq_len()).unwrap_or(usize::MAX);
    let budget = Budget { max_seq_len, max_out_len: args.input.max_out_len, truncation: args.truncate };
    let trimmer = builder.trimmer()?;
    let (started, tally) = (Instant::now(), Tally::default());
    let mut run = Run { args, builder: &builder, engine, trimmer, budget, answers, progress, started, tally };

    let mut inference = rows.as_ref().map(Rows::inference);
    let (reader, mut notes) = (RecordReader::new(args.input.input_format), Notes::default());
    let batch_size = if args.stream { 1 } else { args.batch_size.get() };
    let (mut window, mut lines) = (Vec::with_capacity(batch_size), 0);
    let mut next = batches(inputs, longest, rows.as_ref())?;
    while let Some(mut batch) = next() {
        let mut examples = std::mem::take(&mut batch.examples).into_iter();
        for (i, (line, range)) in batch.lines.iter().enumerate() {
            let (number, place) = (batch.first + i as u64, format!("{}: {line}", batch.input));
            let examples = examples.next().unwrap_or_default();
            let job = line.text(&batch.bytes[range.clone()], longest).and_then(|text| match (&rows, &mut inference) {
                (Some(rows), Some(inference)) => {
                    let rows = (rows, inference, &mut notes);
                    Job::row(text, number, place.clone(), examples, rows, &builder, args.strip_thoughts)
                }
                _ => Job::conversation(text, number, place.clone(), reader, &mut notes),
            });
            window.push(job.map_err(|error| Refused { number, place, error }));
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
    run.finish(&notes)
}

impl<'b> Run<'b> {
    /// Answers lines side by side, up to this number. Breaks off where a line stops the run, or nobody reads any more.
    fn window(&mut self, window: Window<'b>, lines: u64) -> Result<ControlFlow<ExitCode>> {
        if window.is_empty() || lines <= self.answers.rows() {
            return Ok(ControlFlow::Continue(()));
        }
        let mut jobs = Vec::with_capacity(window.len());
        for line in window {
            match line {
                Ok(job) => jobs.push(job),
                Err(Refused { number, place, error }) => {
                    if let ControlFlow::Break(code) = self.refuse(number, &number_id(number), 0, error.at(place))? {
                        return Ok(ControlFlow::Break(code));
                    }
                }
            }
        }
        loop {
            let mut asks = Vec::with_capacity(jobs.len());
            for (i, job) in jobs.iter_mut().enumerate() {
                match job.next(self.builder, &self.budget) {
                    Ok(ask) => asks.extend(ask.map(|ask| (i, ask))),
                    Err(error) => {
                        job.fail();
                        let error = error.at(&job.place);
                        if let ControlFlow::Break(code) = self.refuse(job.number, &job.id, job.asked, error)? {
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
    fn complete(&mut self, jobs: &[Job<'_>], asks: &[(usize, Ask)]) -> Result<Vec<Completion>> {
        let Self { args, builder, engine, trimmer, answers, progress, started, tally, .. } = self;
        let requests: Vec<Request<'_>> = asks
            .iter()
            .map(|(i, Ask { prompt, max_new_tokens, .. })| Request {
                input_ids: &prompt.input_ids,
                max_new_tokens: *max_new_tokens,
                sampling: sampling(args, jobs[*i].number),
            })
            .collect();
        let mut watch = |request: usize, step: Progress<'_>| -> Result<()> {
            let (i, ask) = &asks[request];
            match step {
                Progress::Token => {
                    tally.tokens += 1;
                    progress.set_message(format!(
                        "{}, {}",
                        count(tally.answers, "answer"),
                        rate(tally.tokens, started)
                    ));
                }
                Progress::Text(text) if args.stream => eprint!("{text}"),
                Progress::Text(_) => {}
                Progress::End(completion) => {
                    if args.stream {
                        eprintln!();
                    }
                    let job = &jobs[*i];
                    let turn = ask.turn.map(|turn| number_id(turn as u64));
                    let line = Trimmed::new(completion.clone(), trimmer, builder.tokenizer());
                    let line = Trimmed { id: Some(&job.id), turn: turn.as_deref(), ..line };
                    tally.answers += 1;
                    *tally.reasons.entry(line.finish_reason).or_default() += 1;
                    answers.add((job.number, job.asked), &json(&line)?)?;
                }
            }
            Ok(())
        };
        engine.complete(&requests, trimmer, &mut watch)
    }

    /// Takes notice of a line, or a turn, that gives no prompt.
    fn refuse(&mut self, number: u64, id: &RawValue, asked: u64, error: Error) -> Result<ControlFlow<ExitCode>> {
        if self.args.on_error == OnError::Stop {
            self.progress.finish_and_clear();
            eprintln!("metatok: {error}");
            let resume = if self.args.output.is_some() { ", with --resume from here" } else { "" };
            eprintln!(
                "metatok: stopped there, after {}; --on-error reject goes on without such rows{resume}",
                count(self.tally.answers, "answer")
            );
            return Ok(ControlFlow::Break(ExitCode::from(REJECTED)));
        }
        self.progress.suspend(|| eprintln!("metatok: {error}"));
        // Behind the answers that there are.
        self.answers.refuse((number, asked + 1), &json(&Failed { id, error: error.to_string() })?)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(self, notes: &Notes) -> Result<ExitCode> {
        self.progress.finish_and_clear();
        if !self.args.quiet {
            notes.print();
        }
        let refused = self.answers.finish()?;
        let Tally { answers, tokens, reasons } = self.tally;
        if !self.args.quiet {
            let reasons: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
            let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
            eprintln!("metatok: {}{reasons}, {}", count(answers, "answer"), rate(tokens, &self.started));
        }
        if refused > 0 {
            eprintln!("metatok: {} without an answer, each with its error in place of one", count(refused, "row"));
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

fn sampling(args: &RunArgs, stream: u64) -> Sampling {
    Sampling { temperature: args.temperature, top_p: args.top_p, seed: args.seed, stream }
}

/// All that answers depend on, so that no two kinds of them come into one file.
fn fingerprint_of(args: &RunArgs, weights: &str, fingerprint: Fingerprint) -> Result<Fingerprint> {
    let mut fingerprint = fingerprint
        .with("weights", weights)
        .with("device", args.device.as_str())
        .with("batch_size", args.batch_size.get())
        .with("temperature", args.temperature)
        .with("top_p", args.top_p)
        .with("seed", args.seed)
        .with("max_out_len", args.input.max_out_len)
        .with("strip_thoughts", args.strip_thoughts)
        .with("stream", args.stream);
    if let Some(max_seq_len) = args.input.max_seq_len {
        fingerprint = fingerprint.with("max_seq_len", max_seq_len);
    }
    let digests = args.input.inputs.iter().map(|path| setup::digest_of_file(path)).collect::<Result<Vec<_>>>()?;
    Ok(fingerprint.with("input", digests))
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
