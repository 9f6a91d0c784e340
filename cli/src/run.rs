//! `metatok run`: prompts are built, answered by an engine in this process or by a server, and trimmed.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use indicatif::ProgressBar;

use crate::answering::{Answering, usual_sampling};
use crate::args::{InputArgs, OnError, RunArgs};
use crate::outputs::Outputs;
use crate::run_front::Front;
use crate::say::{self, flag, say};
use crate::source::{Source, names, note_empty, nothing_in};
use crate::{flags, progress, request, run_answers, setup};
use metatok::builder::{BuilderOptions, PromptBuilder};
use metatok::conversation::Mode;
use metatok::error::{ErrorKind, Result};
use metatok::fingerprint::Fingerprint;
use metatok::input::Input;
use metatok::prepared::PreparedDataset;
use metatok::run::{RunAnswers, RunOptions, RunOutcome, RunTotals, journal_path};

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    let source = Source::find_for(&args.input, &args.model)?;
    source.check_stdin(args.input.other_files())?;
    if args.resume {
        source.check_readable_again()?;
    }
    let Work { dataset, options, builder_options } = work(args, &source)?;
    let (model, tokenizer) = setup::load(&args.model, source.has_input())?;
    let builder = PromptBuilder::new(&model, tokenizer, &builder_options)?;
    let progress = ProgressBar::hidden();
    let answering = Answering::find(args, &builder, &progress, source.has_input())?;
    let fingerprint = || {
        let of_builder = Fingerprint::new(&model, builder.tokenizer(), &builder_options);
        options.fingerprint(
            of_builder,
            dataset.as_deref(),
            answering.answered_by(args)?,
            source.digests(args.input.field.as_deref())?,
        )
    };
    let Some((mut answers, output)) = run_answers::open(args, fingerprint)? else { return Ok(ExitCode::SUCCESS) };
    if !args.quiet {
        say::notes(dataset.iter().flat_map(|dataset| dataset.notes()));
        let remarks = setup::remarks(&model, &builder, dataset.as_deref(), &builder_options);
        remarks.iter().for_each(|remark| say!("{remark}"));
        run_answers::say_answered(&answers);
    }
    let has_input = source.has_input();
    let mut inputs = source.open_or_demo(args.input.shape())?;
    if !args.quiet {
        note_empty(&inputs);
    }
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
    let options = options(args, dataset.as_ref(), source.has_input())?;
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

/// Checks that no output is also an input.
fn outputs(args: &RunArgs, source: &Source, dataset: Option<&PreparedDataset>) -> Result<()> {
    let mut outputs = Outputs::to("--output", args.output.as_deref());
    if let Some(path) = &args.output {
        outputs = outputs.and("the journal of --output", &journal_path(path))?;
    }
    outputs.check_inputs(&args.input, source, dataset)?;
    outputs.check("the weights", args.weights.as_deref().map(Path::new))?;
    outputs.check_model(&args.model, source.has_input())
}
