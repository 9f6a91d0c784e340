//! From arguments to a builder and readers.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::args::{InputArgs, ModelArgs, PromptArgs, RequestArgs, StopArgs, TemplateArgs};
use crate::say::InFlags;
use crate::source::Source;
use metatok::build::InputOptions;
use metatok::builder::{BuilderOptions, PromptBuilder};
use metatok::dataset::prompter::SamplingParams;
use metatok::dialect::{ChatTemplate, Model, load_tokenizer, tokenizer_name};
use metatok::engine::Sampling;
use metatok::error::{Error, ErrorKind, Result};
use metatok::input::Holds;
use metatok::prepared::PreparedDataset;
use metatok::server::RequestOptions;
use metatok::tokenizer::Tokenizer;
use metatok::truncate::Truncation;
use serde_json::{Map, Value};

/// What a command builds with, before its own options.
pub(crate) fn options(args: &PromptArgs, dataset: Option<&PreparedDataset>) -> BuilderOptions {
    let StopArgs { stop_id, stop } = &args.stop;
    let mut options = BuilderOptions {
        special_tokens: args.special_tokens,
        stop_token_ids: stop_id.clone(),
        stop_strings: stop.clone(),
        ..template_options(&args.template)
    };
    if let Some(dataset) = dataset {
        dataset.set(&mut options, args.template.mode);
    }
    options
}

/// What a command builds with if it neither adds special tokens nor stops.
pub(crate) fn template_options(args: &TemplateArgs) -> BuilderOptions {
    BuilderOptions {
        mode: args.mode.unwrap_or_default(),
        content: args.content.unwrap_or_default(),
        reserve: args.reserve.clone(),
        unreserve: args.unreserve.clone(),
        round_fallback: args.round_fallback,
        chat_wrapper: args.wrapper,
        continue_final_message: args.continue_final_message,
        always_render: args.always_render,
        ..BuilderOptions::default()
    }
}

/// Notes about a model, to be printed.
pub(crate) fn notes(model: &Model) -> impl Iterator<Item = String> {
    model.notes().into_iter().map(|note| format!("note: {}", note.in_flags()))
}

/// The same, and likely problems of its token ids, to be printed.
pub(crate) fn remarks(
    model: &Model,
    builder: &PromptBuilder,
    dataset: Option<&PreparedDataset>,
    options: &BuilderOptions,
) -> Vec<String> {
    let strings = dataset.and_then(|dataset| dataset.warn_of_strings(model, options));
    let warnings = builder.warnings().map(InFlags::in_flags).chain(strings.iter().map(InFlags::in_flags));
    notes(model).chain(warnings.map(|warning| format!("warning: {warning}"))).collect()
}

/// What a command trims with.
pub(crate) fn stop_options(args: &StopArgs) -> BuilderOptions {
    BuilderOptions {
        stop_token_ids: args.stop_id.clone(),
        stop_strings: args.stop.clone(),
        ..BuilderOptions::default()
    }
}

/// Rejects an answer that takes the whole context.
pub(crate) fn check_room(args: &InputArgs) -> Result<()> {
    input_options(args, None, None).check()
}

/// The default location of the weights: the tokenizer's.
pub(crate) fn weights_name(args: &ModelArgs, has_input: bool) -> Result<String> {
    let model = model(args, has_input)?;
    args.tokenizer.as_deref().map_or_else(|| model.tokenizer_name(), tokenizer_name)
}

/// Loads the model and its tokenizer. The demo replaces them only if nothing at all is given.
pub(crate) fn load(args: &ModelArgs, has_input: bool) -> Result<(Model, Arc<Tokenizer>)> {
    let mut model = model(args, has_input)?;
    if args.conversation.is_none() && args.chat_template.is_none() {
        // Before a tokenizer is downloaded in vain.
        model.check_gives_ids()?;
    }
    let tokenizer = args.tokenizer.as_deref().map_or_else(|| model.load_tokenizer(), load_tokenizer)?;
    if let Some(name) = &args.conversation {
        model = Model::of_conversation_template(name)?;
    }
    if let Some(name) = &args.chat_template {
        model = ChatTemplate::load(name, tokenizer.name())?.into();
    }
    if let Some(kwargs) = &args.template_kwargs {
        let template = model.chat_template.as_mut().ok_or_else(no_variables)?;
        template.kwargs.clone_from(kwargs);
    }
    Ok((model, Arc::new(tokenizer)))
}

/// The same for answers, which need no template.
pub(crate) fn load_for_answers(args: &ModelArgs) -> Result<(Model, Arc<Tokenizer>)> {
    if let ModelArgs { model: None, conversation: None, chat_template: None, tokenizer: Some(name), .. } = args
        && args.template_kwargs.is_none()
    {
        let model = ChatTemplate::of_tokenizer(name)?.map_or_else(Model::default, Model::from);
        return Ok((model, Arc::new(load_tokenizer(name)?)));
    }
    load(args, true)
}

fn model(args: &ModelArgs, has_input: bool) -> Result<Model> {
    match (&args.model, &args.conversation, &args.tokenizer) {
        (Some(name), _, _) => Model::load(name),
        (None, None, Some(_)) if args.chat_template.is_some() => Ok(Model::default()),
        (None, None, Some(tokenizer)) => {
            ChatTemplate::of_tokenizer(tokenizer)?.map(Model::from).ok_or_else(|| no_chat_template(tokenizer))
        }
        (None, Some(_), Some(_)) => Ok(Model::default()),
        (None, Some(_), None) => {
            let what = "--conversation is a template without a tokenizer; choose one with --tokenizer, such as a folder or a repository of the hub";
            Err(ErrorKind::Usage(what.into()).into())
        }
        (None, None, None) if !has_input => Model::load("demo"),
        (None, None, _) => {
            let what = "choose a model with --model NAME (`metatok models` lists the built-in ones) or --model FILE, or a tokenizer with a chat template with --tokenizer DIR; --model demo is for trying things";
            Err(ErrorKind::Usage(what.into()).into())
        }
    }
}

fn no_chat_template(tokenizer: &str) -> Error {
    let what = format!("{tokenizer} has no chat template, so it is unknown how its model wants messages");
    ErrorKind::Usage(what).with_way_out(
        "choose the model whose template is used with --model NAME (`metatok models` lists the built-in ones) or --model FILE, or a template with --chat-template FILE",
    )
}

fn no_variables() -> Error {
    let what = "--template-kwargs are variables of a chat template, but a meta template is used";
    ErrorKind::Usage(what.into())
        .with_way_out("leave out --model to use the tokenizer's chat template, or choose one with --chat-template FILE")
}

/// What prompts depend on besides the builder.
pub(crate) fn input_options<'d>(
    args: &InputArgs,
    dataset: Option<&'d PreparedDataset>,
    truncation: Option<Truncation>,
) -> InputOptions<'d> {
    let InputArgs { input_format, max_seq_len, max_out_len, .. } = *args;
    InputOptions { dataset, input_format, max_seq_len, max_out_len, truncation }
}

/// The number of threads for measuring.
pub(crate) fn threads(threads: Option<u16>) -> usize {
    threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// Returns for each line whether it is the last one within the limit.
pub(crate) fn limit(limit: Option<usize>) -> impl FnMut() -> ControlFlow<()> {
    let mut left = limit.unwrap_or(usize::MAX);
    move || {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The dataset from the arguments, or none if the input is conversations.
pub(crate) fn dataset(args: &InputArgs) -> Result<Option<PreparedDataset>> {
    let Some(path) = &args.dataset else { return Ok(None) };
    let options = args.dataset_options();
    let dataset = match &args.source {
        Some(source) => PreparedDataset::from_source(source, &options),
        None => PreparedDataset::open(path, &options),
    };
    dataset.map(Some)
}

/// The same, for input that must be given.
pub(crate) fn dataset_of(args: &InputArgs, source: &Source) -> Result<Option<PreparedDataset>> {
    let dataset = dataset(args)?;
    if dataset.is_some() && !source.is_some() {
        let what = "--dataset needs rows: choose a file, or - for standard input";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    Ok(dataset)
}

/// The contents of the inputs.
pub(crate) fn holds(dataset: Option<&PreparedDataset>) -> Holds {
    if dataset.is_some() { Holds::Rows } else { Holds::Conversations }
}

/// How answers are sampled: as the arguments say, or else as the dataset does.
pub(crate) fn sampling_params(args: &RequestArgs, dataset: Option<&PreparedDataset>) -> SamplingParams {
    let of_dataset = dataset.map(|dataset| dataset.dataset().inferencer.sampling_params).unwrap_or_default();
    args.sampling().or(of_dataset)
}

/// The same for the engine in this process. What neither says is as in `usual`.
pub(crate) fn sampling(args: &RequestArgs, dataset: Option<&PreparedDataset>, usual: Sampling) -> Sampling {
    let sampling = usual.with(sampling_params(args, dataset));
    Sampling { seed: args.seed.unwrap_or(usual.seed), ..sampling }
}

/// What a server is asked for in each request.
pub(crate) fn request_options(args: &RequestArgs, run_id: Option<&str>) -> Result<RequestOptions> {
    Ok(RequestOptions {
        sampling: args.sampling(),
        seed: args.seed,
        params: params(&args.params)?,
        run_id: run_id.map(str::to_owned),
        ..RequestOptions::default()
    })
}

/// The further keys of requests.
fn params(given: &[(String, Value)]) -> Result<Map<String, Value>> {
    let mut params = Map::new();
    for (key, value) in given {
        if params.insert(key.clone(), value.clone()).is_some() {
            return Err(ErrorKind::Usage(format!("--param {key} is given twice; leave one of them out")).into());
        }
    }
    Ok(params)
}
