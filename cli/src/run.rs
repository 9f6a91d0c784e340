//! `metatok run`: prompts are built, answered by an engine in this process or by a server, and trimmed.

use std::fs::File;
use std::io::BufReader;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use indicatif::ProgressBar;

use crate::answering::{Answering, usual_sampling};
use crate::args::{InputArgs, OnError, RunArgs};
use crate::output::{Output, becomes_a_file};
use crate::outputs::Outputs;
use crate::run_front::Front;
use crate::say::{self, flag, say};
use crate::source::{Source, names, nothing_in};
use crate::{flags, progress, request, setup};
use metatok::builder::{BuilderOptions, PromptBuilder};
use metatok::conversation::Mode;
use metatok::error::{At, ErrorKind, Result, Setting, counted};
use metatok::fingerprint::Fingerprint;
use metatok::input::{Input, RecordPlace, each_line};
use metatok::prepared::PreparedDataset;
use metatok::run::{ResumeOptions, RunAnswers, RunOptions, RunOutcome, RunTotals, journal_path};
use metatok::score::ScoredAnswer;

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    let source = Source::find_for(&args.input, &args.model)?;
    source.check_stdin(args.input.other_files())?;
    if args.resume {
        source.check_readable_again()?;
    }
    let Work { dataset, options, builder_options } = work(args, &source)?;
    let (model, tokenizer) = setup::load(&args.model, source.is_some())?;
    let builder = PromptBuilder::new(&model, tokenizer, &builder_options)?;
    let progress = ProgressBar::hidden();
    let answering = Answering::find(args, &builder, &progress, source.is_some())?;
    let fingerprint = || {
        let of_builder = Fingerprint::new(&model, builder.tokenizer(), &builder_options);
        options.fingerprint(
            of_builder,
            dataset.as_deref(),
            answering.answered_by(args)?,
            source.digests(args.input.field.as_deref())?,
        )
    };
    let Some((mut answers, output)) = answers(args, fingerprint)? else { return Ok(ExitCode::SUCCESS) };
    if !args.quiet {
        say::notes(dataset.iter().flat_map(|dataset| dataset.notes()));
        let remarks = setup::remarks(&model, &builder, dataset.as_deref(), &builder_options);
        remarks.iter().for_each(|remark| say!("{remark}"));
        say_answered(&answers);
    }
    let has_input = source.is_some();
    let mut inputs = source.open_or_demo(args.input.shape())?;
    let names = names(&inputs);
    let bytes = inputs.iter().map(Input::bytes).sum();
    if let Some(dataset) = &dataset {
        inputs = dataset.through_arrow(inputs)?;
    }
    let runner = answering.runner(args, builder, dataset.clone(), options)?;

    progress::show(&progress, bytes, args.quiet || args.stream);
    let mut front = Front::new(args, progress, output, has_input);
    let ended = runner.run(inputs, &mut answers, &mut |event| front.see(&event));
    front.hide_progress();
    let (totals, outcome) = ended?;
    match outcome {
        RunOutcome::Complete if totals.lines == 0 => Err(nothing_in(&names, dataset.is_some())),
        RunOutcome::Complete => complete(front, answers, &totals, dataset.as_deref(), args.quiet),
        RunOutcome::StoppedAt(error) => Ok(front.stopped_at(&error, &answers)),
        // Whoever reads the answers has enough of them.
        RunOutcome::Cut => Ok(ExitCode::SUCCESS),
        // No other end is a success either.
        RunOutcome::Interrupted | _ => Ok(front.interrupted(&answers)),
    }
}

/// What is answered, and how, as far as that is known before the model is loaded.
struct Work {
    dataset: Option<Arc<PreparedDataset>>,
    options: RunOptions,
    builder_options: BuilderOptions,
}

/// Reads the dataset, and rejects what cannot be done.
fn work(args: &RunArgs, source: &Source) -> Result<Work> {
    let dataset = setup::dataset_of(&args.input, source)?;
    flags::check_run(args, dataset.as_ref())?;
    let options = options(args, dataset.as_ref(), source.is_some())?;
    options.check()?;
    let limited = |dataset| setup::limited(dataset, args.truncate, Some(options.max_out_len()));
    let dataset = dataset.map(limited).map(Arc::new);
    outputs(args, source, dataset.as_deref())?;
    let builder_options = builder_options(args, dataset.as_deref())?;
    source.check_demo(&args.model, args.output.as_deref())?;
    Ok(Work { dataset, options, builder_options })
}

/// Makes the answers final. Errors about the whole input are reported after them.
fn complete(
    front: Front<'_>,
    answers: RunAnswers,
    totals: &RunTotals,
    dataset: Option<&PreparedDataset>,
    is_quiet: bool,
) -> Result<ExitCode> {
    let code = front.complete(answers, totals)?;
    let notes = totals.remarks.check(dataset)?;
    if !is_quiet {
        say::notes(notes);
    }
    Ok(code)
}

fn builder_options(args: &RunArgs, dataset: Option<&PreparedDataset>) -> Result<BuilderOptions> {
    let options = setup::options(&args.prompts, dataset);
    if options.mode == Mode::Score {
        let what = match args.prompts.template.mode {
            Some(_) => "`run` writes answers, but these are texts to score; remove --mode ppl, or use `build`",
            None => "`run` writes answers, but the dataset's inferencer makes texts to score; use `build`",
        };
        return Err(ErrorKind::Usage(what.into()).into());
    }
    Ok(options)
}

/// Prints what an earlier run has done.
fn say_answered(answers: &RunAnswers) {
    match (answers.rows(), answers.refused()) {
        (0, _) => {}
        (rows, 0) => say!("note: {} already answered", counted(rows, "line")),
        (rows, refused) => say!("note: {} already done, with {}", counted(rows, "line"), counted(refused, "error")),
    }
}

fn options(args: &RunArgs, dataset: Option<&PreparedDataset>, has_input: bool) -> Result<RunOptions> {
    let InputArgs { max_seq_len, max_out_len, limit, input_format, strip_thoughts, .. } = args.input;
    Ok(RunOptions {
        sampling: request::sampling(&args.request, dataset, usual_sampling(args, has_input)?),
        max_seq_len,
        max_out_len,
        truncation: args.truncate.unwrap_or_default(),
        limit,
        input_format,
        max_line_bytes: args.input.read.max_line_bytes,
        batch_size: if args.stream { NonZeroUsize::MIN } else { args.batch_size },
        stop_at_error: args.on_error == OnError::Stop,
        strip_thoughts,
        request: request::options(&args.request, args.input.run_id.run_id.as_deref())?,
        setting_name: flag,
    })
}

/// Where answers go: to this file when all are complete, or to standard output as they come. None if there is nothing
/// to resume because all answers exist, which is said.
fn answers(
    args: &RunArgs,
    fingerprint: impl FnOnce() -> Result<Fingerprint>,
) -> Result<Option<(RunAnswers, Option<Output>)>> {
    let file = args.output.as_deref().filter(|path| becomes_a_file(path));
    let Some(file) = file else {
        if args.resume {
            let what = "--resume needs answers in a file; choose it with --output";
            return Err(ErrorKind::Usage(what.into()).into());
        }
        return Ok(Some((RunAnswers::streamed(), Some(Output::open(args.output.as_deref())?))));
    };
    let journal = journal_path(file);
    if args.resume && !journal.exists() && file.exists() {
        let errors = errors_in(file, args.input.read.max_line_bytes)?;
        if args.server.retry_errors && errors > 0 {
            let what = format!(
                "it has {}, but without {} nothing can be asked again; remove it to start over",
                counted(errors, "error"),
                journal.display()
            );
            return Err(ErrorKind::Usage(what)).at(file.display());
        }
        if !args.quiet {
            let what = if errors == 0 { "the answers are complete" } else { "each line has its answer or its error" };
            say!(
                "nothing to resume: {what}; they are not compared with the input, and without --resume all are made again"
            );
        }
        return Ok(None);
    }
    let resume = ResumeOptions { resume: args.resume, retry_errors: args.server.retry_errors };
    // Only a journal needs the fingerprint, for which all of the tokenizer and the input is read.
    Ok(Some((RunAnswers::journaled(&journal, resume, &fingerprint()?)?, None)))
}

/// How many errors are in place of answers in a file. Rejects one that some other program wrote.
fn errors_in(file: &Path, max_line_bytes: usize) -> Result<u64> {
    #[derive(serde::Deserialize)]
    struct Line {
        error: Option<serde::de::IgnoredAny>,
    }

    let input = Input::new(file.display().to_string(), BufReader::new(File::open(file).at(file.display())?));
    let mut errors = 0;
    let mut lines = 0;
    let each = |place: RecordPlace<'_>, line: Result<&str>| {
        let line = line.map_err(|error| place.of_error(error))?;
        if lines == 0 {
            ScoredAnswer::read(line).map_err(|error| place.of_error(error))?;
        }
        lines += 1;
        errors += u64::from(serde_json::from_str(line).is_ok_and(|Line { error }| error.is_some()));
        Ok(ControlFlow::Continue(()))
    };
    each_line(vec![input], max_line_bytes, each).at(Setting::RESUME)?;
    Ok(errors)
}

/// Checks that no output is also an input.
fn outputs(args: &RunArgs, source: &Source, dataset: Option<&PreparedDataset>) -> Result<()> {
    let mut outputs = Outputs::to("--output", args.output.as_deref());
    if let Some(path) = &args.output {
        outputs = outputs.and("the journal of --output", &journal_path(path))?;
    }
    outputs.check_inputs(&args.input, source, dataset)?;
    outputs.check("the weights", args.weights.as_deref().map(Path::new))?;
    outputs.check_model(&args.model, source.is_some())
}
