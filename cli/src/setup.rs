//! From arguments to a model, a builder, a dataset, and how inputs are read.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::args::{InputArgs, ModelArgs, ModelName, PromptArgs, StopArgs, TemplateArgs};
use crate::say::InFlags;
use crate::source::Source;
use metatok::answers::ModelAnswers;
use metatok::build::InputOptions;
use metatok::builder::{BuilderOptions, PromptBuilder};
use metatok::dialect::{Model, ModelChoice};
use metatok::error::{ErrorKind, Result};
use metatok::prepared::PreparedDataset;
use metatok::tokenizer::Tokenizer;
use metatok::truncate::Truncation;

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
        dataset.configure(&mut options, args.template.mode);
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

/// Notes about a model, and likely problems of its token ids, to be printed.
pub(crate) fn remarks(
    model: &Model,
    builder: &PromptBuilder,
    dataset: Option<&PreparedDataset>,
    options: &BuilderOptions,
) -> Vec<String> {
    let strings = dataset.and_then(|dataset| dataset.string_prompts_warning(model, options));
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
    input_options(args, None, None, None).check()
}

/// Loads the model and its tokenizer.
pub(crate) fn load(args: &ModelArgs, has_input: bool) -> Result<(Model, Arc<Tokenizer>)> {
    let (model, tokenizer) = choice(args, has_input)?.load()?;
    Ok((model, Arc::new(tokenizer)))
}

/// Loads the model and its tokenizer for answers, which need no template.
pub(crate) fn load_for_answers(args: &ModelArgs) -> Result<(Model, Arc<Tokenizer>)> {
    let (model, tokenizer) = choice(args, true)?.load_for_answers()?;
    Ok((model, Arc::new(tokenizer)))
}

/// What the arguments choose. The demo replaces it only if nothing at all is given.
pub(crate) fn choice(args: &ModelArgs, has_input: bool) -> Result<ModelChoice<'_>> {
    let ModelArgs { model, tokenizer, conversation, chat_template, template_kwargs } = args;
    let is_demo = !args.is_given() && !has_input;
    let model = model.as_ref().map(ModelName::load).or_else(|| is_demo.then(|| Model::load("demo")));
    Ok(ModelChoice {
        model: model.transpose()?,
        tokenizer: tokenizer.as_deref(),
        conversation_template: conversation.as_deref(),
        chat_template: chat_template.as_deref(),
        template_kwargs: template_kwargs.as_ref(),
    })
}

/// What prompts depend on besides the builder.
pub(crate) fn input_options<'d>(
    args: &InputArgs,
    dataset: Option<&'d PreparedDataset>,
    answers: Option<&'d ModelAnswers>,
    truncation: Option<Truncation>,
) -> InputOptions<'d> {
    let InputArgs { input_format, max_seq_len, max_out_len, .. } = *args;
    InputOptions { dataset, answers, input_format, max_seq_len, max_out_len, truncation }
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

/// The dataset from the arguments, for input that must be given.
pub(crate) fn dataset_of(args: &InputArgs, source: &Source) -> Result<Option<PreparedDataset>> {
    let dataset = dataset(args)?;
    if dataset.is_some() && !source.has_input() {
        let what = "--dataset needs rows: choose a file, or - for standard input";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    Ok(dataset)
}

/// A dataset with the limits of a command: prompts that are truncated keep all examples, and answers without a limit of
/// their own have this one.
pub(crate) fn limited(
    mut dataset: PreparedDataset,
    truncation: Option<Truncation>,
    max_out_len: Option<usize>,
) -> PreparedDataset {
    if truncation.is_some() {
        dataset.clear_max_seq_len();
    }
    if let Some(max_out_len) = max_out_len {
        dataset.set_default_max_out_len(max_out_len);
    }
    dataset
}
