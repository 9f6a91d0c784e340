//! `metatok build` of conversations, or of the rows of one dataset.

use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use crate::args::{BuildArgs, InputArgs, OnError};
use crate::exit::REJECTED;
use crate::loaded::Loaded;
use crate::output::{Output, count, written};
use crate::outputs::Outputs;
use crate::rejects::{Rejects, rejects_path};
use crate::say::{InFlags, say};
use crate::source::{Source, names, nothing_in};
use crate::summary::summary;
use crate::{flags, progress, setup};
use metatok::answers::ModelAnswers;
use metatok::build::{
    BatchRemarks, Build, BuildTotals, IdsForm, InputOptions, MessagesForm, PromptForm, Written, answers_omitted,
};
use metatok::builder::PromptBuilder;
use metatok::conversation::Mode;
use metatok::dialect::Model;
use metatok::error::{ErrorKind, Result, Warning};
use metatok::fingerprint::Fingerprint;
use metatok::input::Input;
use metatok::prepared::PreparedDataset;
use metatok::server::RequestOptions;
use metatok::sink::{FormOptions, PromptSpool, Sink};
use metatok::tokenizer::Tokenizer;

/// The result of a dataset, or of conversations.
pub(crate) struct Done {
    /// The exit code.
    pub(crate) code: u8,
    pub(crate) prompts: u64,
    /// None for messages.
    pub(crate) tokens: Option<u64>,
}

/// Builds conversations, or the rows of one dataset; of several datasets, the one with this short name.
pub(crate) fn one(args: &BuildArgs, loaded: &Loaded, abbr: Option<&str>) -> Result<Done> {
    let started = Instant::now();
    let source = Source::find_for(&args.input, &args.model)?;
    let mut dataset = setup::dataset_of(&args.input, &source)?;
    if let Some(dataset) = dataset.as_mut().filter(|_| args.truncate.is_some()) {
        dataset.keep_examples();
    }
    if let Some((dataset, usual)) = dataset.as_mut().zip(args.format.usual_max_out_len(Mode::Generate)) {
        dataset.default_max_out_len(usual);
    }
    let dataset = dataset.map(Arc::new);
    outputs(args, &source, dataset.as_deref())?;
    source.check_demo(&args.model, args.output.as_deref())?;
    flags::check_sampling(&args.request, dataset.as_deref())?;
    flags::check_thoughts(&args.input, args.answers.answers.is_some())?;
    let answers = answers(args, dataset.as_deref())?;
    let form = form(args, loaded, dataset.as_deref(), source.is_some())?;
    if !args.quiet {
        dataset.iter().flat_map(|dataset| dataset.notes()).for_each(|note| say!("note: {}", note.in_flags()));
    }
    let has_input = source.is_some();
    if !args.quiet && source.is_demo_for(&args.model) {
        say!("note: there is no input, so these are the demo's conversations");
    }
    let mut inputs = source.open_or_demo(args.input.columns.as_deref())?;
    let names = names(&inputs);
    // A bar would be written between the records.
    let shows_records = args.output.is_none() && io::stdout().is_terminal();
    let progress = progress::bar(inputs.iter().map(Input::bytes).sum(), args.quiet || shows_records);
    if let Some(dataset) = &dataset {
        inputs = dataset.through_arrow(inputs)?;
    }
    let mut output = Output::open(args.output.as_deref())?;
    let mut rejects = match args.on_error {
        OnError::Stop => None,
        OnError::Reject => Some(Rejects::new(rejects_path(args))),
    };
    let mut build = Build::new(form);
    build.input_format = args.input.input_format;
    build.max_line_bytes = args.input.read.max_line_bytes;
    build.stop_at_error = args.on_error == OnError::Stop;
    build.threads = args.threads.and_then(|threads| NonZeroUsize::new(threads.into()));
    if let Some(dataset) = &dataset {
        build = build.with_dataset(Arc::clone(dataset));
    }
    if let Some(answers) = answers {
        build = build.with_answers(answers);
    }
    let form = build.form();
    let mut totals = BuildTotals::default();
    let mut prompts = PromptSpool::new(output.scratch());
    for mut batch in build.batches(inputs, args.input.limit)? {
        progress.inc(batch.bytes);
        if output.stream(batch.lines())?.is_break() {
            return Ok(done(0, form, &totals.written));
        }
        for prompt in batch.take_records() {
            prompts.push(&prompt).map_err(|error| output.failed(error))?;
        }
        let remarks = totals.add(batch);
        progress.set_message(count(totals.written.prompts, "prompt"));
        if !args.quiet {
            let notes = omitted_tokens(form, &remarks).into_iter().filter(|note| loaded.is_new(note));
            let warning = remarks.warning.iter().map(|warning| format!("warning: {}", warning.in_flags()));
            progress
                .suspend(|| notes.map(|note| format!("note: {note}")).chain(warning).for_each(|line| say!("{line}")));
        }
        for rejected in remarks.rejected {
            match &mut rejects {
                Some(rejects) => rejects.add(rejected, &progress)?,
                None => {
                    progress.finish_and_clear();
                    say!("{}", rejected.into_error().in_flags());
                    say!(
                        "stopped at the first bad row ({}); use --on-error reject to skip bad rows",
                        written(totals.written.prompts, "prompt", args.output.as_deref())
                    );
                    return Ok(done(REJECTED, form, &totals.written));
                }
            }
        }
        if let Some(error) = remarks.error {
            return Err(error);
        }
    }
    progress.finish_and_clear();
    let rejected = rejects.as_ref().map_or(0, |rejects| rejects.count);
    let of_rows = totals.remarks.check(dataset.as_deref())?;
    if totals.written.prompts + rejected == 0 {
        return Err(nothing_in(&names, dataset.is_some()));
    }
    if let Some(Sink::File(sink)) = form.sink() {
        output.write_file(|file| sink.finish(&prompts, file))?;
    }
    output.finish()?;
    let done = done(if rejected > 0 { REJECTED } else { 0 }, form, &totals.written);
    if !args.quiet {
        say_totals(&totals, &of_rows, has_input);
        // Of rows that were not read, answers may be there.
        if let Some(note) = build.unused_answers().filter(|_| args.input.limit.is_none()) {
            say!("note: {}", note.in_flags());
        }
        let name = abbr.map_or_else(String::new, |abbr| format!("{abbr}: "));
        say!("{name}{}", summary(done.prompts, done.tokens, started.elapsed().as_secs_f64()));
    }
    if let Some(rejects) = rejects {
        rejects.finish(args.quiet)?;
    }
    Ok(done)
}

/// Prints the remarks about the whole input.
fn say_totals(totals: &BuildTotals, of_rows: &[Warning], has_input: bool) {
    let BuildTotals { written, remarks, .. } = totals;
    remarks.notes().iter().for_each(|note| say!("note: {}", note.in_flags()));
    if written.truncated > 0 {
        let prompts = if written.truncated == 1 { "prompt was" } else { "prompts were" };
        say!("note: {} {prompts} truncated", written.truncated);
    }
    // Users of the demo know its answers.
    if has_input && let Some(note) = answers_omitted(written.answers_omitted) {
        say!("note: {}", note.in_flags());
    }
    if written.waiting > 0 {
        let dialogues = if written.waiting == 1 { "dialogue needs" } else { "dialogues need" };
        say!("note: {} {dialogues} an answer that is not in --answers", written.waiting);
    }
    of_rows.iter().for_each(|note| say!("note: {}", note.in_flags()));
}

fn done(code: u8, form: &PromptForm, written: &Written) -> Done {
    let tokens = matches!(form, PromptForm::Ids(_)).then_some(written.tokens);
    Done { code, prompts: written.prompts, tokens }
}

/// Checks that no output is also an input.
fn outputs(args: &BuildArgs, source: &Source, dataset: Option<&PreparedDataset>) -> Result<()> {
    let mut outputs = Outputs::to("--output", args.output.as_deref());
    if args.on_error == OnError::Reject {
        outputs = outputs.and("--rejects", &rejects_path(args))?;
    }
    outputs.check_inputs(&args.input, source, dataset)?;
    outputs.check("--answers", args.answers.answers.as_deref())?;
    outputs.check_model(&args.model, source.is_some())
}

/// The given answers, if the turns of rows need any.
fn answers(args: &BuildArgs, dataset: Option<&PreparedDataset>) -> Result<Option<ModelAnswers>> {
    let Some(path) = &args.answers.answers else { return Ok(None) };
    if !dataset.is_some_and(PreparedDataset::goes_on_from_answers) {
        return Err(ErrorKind::Usage(format!("--answers {}", flags::ANSWERS)).into());
    }
    let input = Input::open(path, None)?;
    let InputArgs { run_id, strip_thoughts, read, .. } = &args.input;
    ModelAnswers::read(input, run_id.run_id.as_deref(), *strip_thoughts, read.max_line_bytes).map(Some)
}

/// The output format, and the builder.
fn form(args: &BuildArgs, loaded: &Loaded, dataset: Option<&PreparedDataset>, has_input: bool) -> Result<PromptForm> {
    let mut options = setup::options(&args.prompts, dataset);
    if !args.format.has_ids() {
        // Without a model, roles are OpenAI's.
        let model = args.model.model.as_deref().map_or_else(|| Ok(Model::default()), Model::load)?;
        if !args.quiet {
            setup::notes(&model).filter(|note| loaded.is_new(note)).for_each(|note| say!("{note}"));
        }
        return MessagesForm::new(&model, &options, args.check_files).map(PromptForm::Messages);
    }
    flags::check_mode(args, options.mode)?;
    options.spans = args.spans;
    let labels = args.labels || args.format.needs_labels(options.mode);
    options.text = args.text;
    let (model, tokenizer) = loaded.model(&args.model, has_input)?;
    // The fingerprint is that of the arguments, so that the same ones for `check` give the same.
    let input = setup::input_options(&args.input, dataset, args.truncate);
    let max_out_len = input.max_out_len.or(args.format.usual_max_out_len(options.mode));
    let limited = InputOptions { max_out_len, ..input };
    limited.check()?;
    let fingerprint = |tokenizer: &Tokenizer| input.fingerprint(Fingerprint::new(&model, tokenizer, &options));
    let builder = PromptBuilder::new(&model, tokenizer, &options)?;
    if !args.quiet {
        let remarks = setup::remarks(&model, &builder, dataset, &options);
        remarks.iter().filter(|remark| loaded.is_new(remark)).for_each(|remark| say!("{remark}"));
    }
    let sink = args.format.open(&builder, form_options(args, || fingerprint(builder.tokenizer()))?)?;
    if !args.quiet {
        let notes = sink.warnings().iter().map(|warning| format!("note: {}", warning.in_flags()));
        notes.filter(|note| loaded.is_new(note)).for_each(|note| say!("{note}"));
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

/// The options of a form.
fn form_options(args: &BuildArgs, fingerprint: impl FnOnce() -> Result<Fingerprint>) -> Result<FormOptions> {
    #[cfg(feature = "arrays")]
    let (padding_side, pad_to_multiple_of) = (args.padding_side, args.pad_to_multiple_of);
    #[cfg(not(feature = "arrays"))]
    let (padding_side, pad_to_multiple_of) = (None, None);
    let accepts = args.format.accepts;
    let request = setup::request_options(&args.request, args.input.run_id.run_id.as_deref())?;
    Ok(FormOptions {
        attention_mask: args.attention_mask,
        request: RequestOptions { served_model_name: args.served_model_name.clone(), ..request },
        padding_side,
        pad_to_multiple_of,
        // Lines have one each, where it is asked for.
        fingerprint: if accepts.columns || accepts.request { None } else { Some(fingerprint()?) },
    })
}

/// Notes about the special tokens that were left out of the prompts.
fn omitted_tokens(form: &PromptForm, remarks: &BatchRemarks) -> Vec<String> {
    let PromptForm::Ids(ids) = form else { return Vec::new() };
    remarks.omitted_tokens(ids.builder.tokenizer()).iter().map(InFlags::in_flags).collect()
}
