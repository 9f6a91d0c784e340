//! `metatok build` of conversations, or of the rows of one dataset.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use crate::args::{BuildArgs, ModelName, OnError};
use crate::build_results::Results;
use crate::exit::FOUND;
use crate::loaded::Loaded;
use crate::outputs::Outputs;
use crate::rejects::rejects_path;
use crate::say::{self, InFlags, say};
use crate::source::{Source, names, note_empty, nothing_in};
use crate::summary::summary;
use crate::{earlier_answers, flags, request, setup};
use metatok::answers::ModelAnswers;
use metatok::build::{Build, BuildTotals, IdsForm, InputOptions, MessagesForm, PromptForm, Written, answers_omitted};
use metatok::builder::{BuilderOptions, PromptBuilder};
use metatok::conversation::Mode;
use metatok::dialect::Model;
use metatok::error::{ErrorKind, Result, Warning};
use metatok::fingerprint::Fingerprint;
use metatok::input::Input;
use metatok::prepared::PreparedDataset;
use metatok::server::RequestOptions;
use metatok::sink::{FormOptions, Sink};
use metatok::tokenizer::Tokenizer;

/// The result of a dataset, or of conversations.
pub(crate) struct BuildOutcome {
    /// The exit code.
    pub(crate) code: u8,
    pub(crate) prompts: u64,
    /// None for messages.
    pub(crate) tokens: Option<u64>,
}

/// Builds conversations, or the rows of one dataset; of several datasets, the one with this short name.
pub(crate) fn run(args: &BuildArgs, loaded: &Loaded, abbr: Option<&str>) -> Result<BuildOutcome> {
    let started = Instant::now();
    let source = Source::find_for(&args.input, &args.model)?;
    source.check_stdin(args.input.other_files().chain(args.answers.file()))?;
    let limited = |dataset| setup::limited(dataset, args.truncate, args.format.usual_max_out_len(Mode::Generate));
    let dataset = setup::dataset_of(&args.input, &source)?.map(limited).map(Arc::new);
    check(args, &source, dataset.as_deref())?;
    let answers = earlier_answers::read(&args.answers, &args.input, dataset.as_deref())?;
    let form = form(args, loaded, dataset.as_deref(), answers.as_ref(), source.has_input())?;
    if !args.quiet {
        say::notes(dataset.iter().flat_map(|dataset| dataset.notes()));
        if source.is_demo_for(&args.model) {
            say!("note: there is no input, so these are the demo's conversations");
        }
    }
    let has_input = source.has_input();
    let mut inputs = source.open_or_demo(args.input.shape())?;
    if !args.quiet {
        note_empty(&inputs);
    }
    let (names, bytes) = (names(&inputs), inputs.iter().map(Input::bytes).sum());
    if let Some(dataset) = &dataset {
        inputs = dataset.through_arrow(inputs)?;
    }
    let build = new_build(args, form, dataset.clone(), answers);
    let mut results = Results::open(args, bytes)?;
    let ended_early =
        build.batches(inputs, args.input.limit)?.find_map(|batch| match results.take(batch, build.form(), loaded) {
            Ok(ControlFlow::Continue(())) => None,
            Ok(ControlFlow::Break(code)) => Some(Ok(code)),
            Err(error) => Some(Err(error)),
        });
    if let Some(ended) = ended_early {
        let totals = results.end_early()?;
        return ended.map(|code| done(code, build.form(), &totals.written));
    }
    results.progress.finish_and_clear();
    let of_rows = results.totals.remarks.check(dataset.as_deref());
    let of_rows = match of_rows {
        Ok(of_rows) => of_rows,
        Err(error) => return results.end_early().and(Err(error)),
    };
    if results.is_empty() {
        return Err(nothing_in(&names, dataset.is_some()));
    }
    let (totals, rejects) = results.finish(build.form())?;
    let code = if rejects.count() > 0 { FOUND } else { 0 };
    let done = done(code, build.form(), &totals.written);
    if !args.quiet {
        say_totals(&totals, &of_rows, has_input);
        say::notes(build.unfinished_thoughts());
        // Of rows that were not read, answers may be there.
        say::notes(build.unused_answers().filter(|_| args.input.limit.is_none()));
        let name = abbr.map_or_else(String::new, |abbr| format!("{abbr}: "));
        say!("{name}{}", summary(done.prompts, done.tokens, started.elapsed().as_secs_f64()));
    }
    rejects.finish(args.quiet)?;
    Ok(done)
}

/// Rejects options that do not fit what is read.
fn check(args: &BuildArgs, source: &Source, dataset: Option<&PreparedDataset>) -> Result<()> {
    outputs(args, source, dataset)?;
    source.check_demo(&args.model, args.output.as_deref())?;
    flags::check_sampling(&args.request, dataset)?;
    flags::check_thoughts(&args.input, args.answers.answers.is_some())
}

fn new_build(
    args: &BuildArgs,
    form: PromptForm,
    dataset: Option<Arc<PreparedDataset>>,
    answers: Option<ModelAnswers>,
) -> Build {
    let mut build = Build::new(form);
    build.input_format = args.input.input_format;
    build.max_line_bytes = args.input.read.max_line_bytes;
    build.stop_at_error = args.errors.on_error == OnError::Stop;
    build.threads = args.threads;
    if let Some(dataset) = dataset {
        build = build.with_dataset(dataset);
    }
    if let Some(answers) = answers {
        build = build.with_answers(answers);
    }
    build
}

/// Prints the remarks about the whole input.
fn say_totals(totals: &BuildTotals, of_rows: &[Warning], has_input: bool) {
    let BuildTotals { written, remarks, .. } = totals;
    // Users of the demo know its conversations.
    if has_input {
        say::notes(remarks.notes());
        say::notes(answers_omitted(written.answers_omitted));
    }
    say::notes(written.notes());
    say::notes(of_rows);
}

fn done(code: u8, form: &PromptForm, written: &Written) -> BuildOutcome {
    let tokens = matches!(form, PromptForm::Ids(_)).then_some(written.tokens);
    BuildOutcome { code, prompts: written.prompts, tokens }
}

/// Checks that no output is also an input.
fn outputs(args: &BuildArgs, source: &Source, dataset: Option<&PreparedDataset>) -> Result<()> {
    let mut outputs = Outputs::to("--output", args.output.as_deref());
    if let Some(rejects) = rejects_path(&args.errors, args.output.as_deref()) {
        outputs = outputs.and("--rejects", &rejects)?;
    }
    outputs.check_inputs(&args.input, source, dataset)?;
    outputs.check("--answers", args.answers.answers.as_deref())?;
    outputs.check_model(&args.model, source.has_input())
}

/// The output format, and the builder.
fn form(
    args: &BuildArgs,
    loaded: &Loaded,
    dataset: Option<&PreparedDataset>,
    answers: Option<&ModelAnswers>,
    has_input: bool,
) -> Result<PromptForm> {
    let mut options = setup::options(&args.prompts, dataset);
    if !args.format.has_ids() {
        return messages_form(args, loaded, &options).map(PromptForm::Messages);
    }
    flags::check_mode(args, options.mode)?;
    options.spans = args.spans;
    let labels = args.labels || args.format.needs_labels(options.mode);
    options.text = args.text;
    let (model, tokenizer) = loaded.model(&args.model, has_input)?;
    // The fingerprint is that of the arguments, so that the same ones for `check` give the same.
    let input = setup::input_options(&args.input, dataset, answers, args.truncate);
    let max_out_len = input.max_out_len.or(args.format.usual_max_out_len(options.mode));
    let limited = InputOptions { max_out_len, ..input };
    let fingerprint = |tokenizer: &Tokenizer| input.fingerprint(Fingerprint::new(&model, tokenizer, &options));
    let builder = PromptBuilder::new(&model, tokenizer, &options)?;
    if !args.quiet {
        loaded.say_new(setup::remarks(&model, &builder, dataset, &options));
    }
    let sink = args.format.open(&builder, form_options(args, || fingerprint(builder.tokenizer()))?)?;
    if !args.quiet {
        loaded.say_new(sink.warnings().iter().map(|warning| format!("note: {}", warning.in_flags())));
    }
    let is_file = matches!(sink, Sink::File(_));
    if is_file && args.output.is_none() && io::stdout().is_terminal() {
        let what = "this format is not text, so it is not written to a terminal; choose a file with --output";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let fingerprint = match args.fingerprint && !is_file {
        true => Some(fingerprint(builder.tokenizer())?.to_json()),
        false => None,
    };
    Ok(PromptForm::Ids(Box::new(IdsForm {
        max_out_len: args.input.max_out_len.map(|max_out_len| max_out_len as u64),
        sampling_params: dataset.map(|dataset| dataset.dataset().inferencer.sampling_params).unwrap_or_default(),
        budget: limited.budget(),
        text: args.text,
        labels,
        check_files: args.check_files,
        fingerprint,
        ..IdsForm::new(builder, sink)
    })))
}

/// Messages. Without a model, their roles are OpenAI's.
fn messages_form(args: &BuildArgs, loaded: &Loaded, options: &BuilderOptions) -> Result<MessagesForm> {
    let model = args.model.model.as_ref().map_or_else(|| Ok(Model::default()), ModelName::load)?;
    if !args.quiet {
        loaded.say_new(setup::notes(&model));
    }
    MessagesForm::new(&model, options, args.check_files)
}

/// The options of a form.
fn form_options(args: &BuildArgs, fingerprint: impl FnOnce() -> Result<Fingerprint>) -> Result<FormOptions> {
    #[cfg(feature = "arrays")]
    let (padding_side, pad_to_multiple_of) = (args.padding_side, args.pad_to_multiple_of);
    #[cfg(not(feature = "arrays"))]
    let (padding_side, pad_to_multiple_of) = (None, None);
    let accepts = args.format.accepts;
    let request = request::options(&args.request, args.input.run_id.run_id.as_deref())?;
    Ok(FormOptions {
        attention_mask: args.attention_mask,
        request: RequestOptions { served_model_name: args.served_model_name.clone(), ..request },
        padding_side,
        pad_to_multiple_of,
        // Lines have one each, where it is asked for.
        fingerprint: if accepts.columns || accepts.request { None } else { Some(fingerprint()?) },
    })
}
