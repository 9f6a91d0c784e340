//! The arguments of `metatok build`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

#[cfg(feature = "arrays")]
use clap::builder::RangedU64ValueParser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

#[cfg(feature = "arrays")]
use crate::args::named;
use crate::args::{
    AnswersArgs, InputArgs, ModelArgs, PromptArgs, RejectArgs, RequestArgs, heading, output_file, threads, truncation,
};
use crate::say::InFlags;
#[cfg(feature = "arrays")]
use metatok::batch::PaddingSide;
use metatok::forms::{FORMS_OF_FEATURES, OUTPUT_FORMS, RUN_BATCH};
use metatok::sink::OutputForm;
use metatok::truncate::Truncation;

#[derive(Clone, clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    after_help = "Example: metatok build --model qwen3 chats.jsonl > ids.jsonl",
    after_long_help = "A line of input is one of
  {\"messages\": [{\"role\": \"user\", \"content\": \"Hi!\"}]}   as in OpenAI's API
  {\"id\": 7, \"prompt\": [{\"section\": \"round\", …}, …]}     as in OpenCompass
  {\"prompt\": \"Once upon a time\"}                        used as it is
  {\"conversations\": [{\"from\": \"human\", …}, …]}       as in ShareGPT

With --dataset it is a row, for example {\"question\": \"1+1=?\", \"answer\": \"2\"}.

A line of output has id (the input's, or the line's number from 0), input_ids, stop_token_ids and stop. A text to score also \
has its label, a turn of a chat has its number, and a prompt with choices has their choice_ids.

Examples:
  metatok build | head -1
  metatok build --model qwen3 --tokenizer ./qwen3 --text --spans chats.jsonl
  metatok build --conversation vicuna --tokenizer ./llama chats.jsonl
  metatok build -m llama-3 -d gsm8k.toml --train train.jsonl test.jsonl
  metatok build -m qwen3 -d mmlu/ --train dev/ -o prompts/ test/
  metatok build -m qwen3 -d mt.toml --answers answers.jsonl rows.jsonl
  metatok build -m judge.json -d gsm8k.json --judge answers.jsonl rows.jsonl
  metatok build --model llama-3 --mode ppl -o ids.jsonl chats.jsonl
  metatok build -m qwen3 --format vllm --temperature 0.7 --seed 1 chats.jsonl
  metatok build -d mmlu.toml --format messages hf://datasets/cais/mmlu/all/x.csv
  cat chats.jsonl | metatok build -m qwen3 --on-error reject > ids.jsonl")]
pub(crate) struct BuildArgs {
    /// Write to a file instead of standard output
    ///
    /// The file appears only when it is complete.
    #[arg(short, long, value_name = "FILE", value_parser = output_file())]
    pub(crate) output: Option<PathBuf>,

    /// Output format of each prompt
    ///
    /// `messages` needs neither a model nor a tokenizer.
    #[arg(long, value_parser = form(), default_value = "ids", value_name = "FORM")]
    pub(crate) format: &'static OutputForm,

    /// Add the prompt's text
    #[arg(long)]
    pub(crate) text: bool,

    /// Add where each token comes from
    #[arg(long)]
    pub(crate) spans: bool,

    /// Add labels to texts to score
    ///
    /// Labels are the ids of the scored tokens, and -100 for the context.
    #[arg(long, hide_short_help = true)]
    pub(crate) labels: bool,

    /// Add the attention mask, all ones
    #[arg(long, hide_short_help = true)]
    pub(crate) attention_mask: bool,

    /// The model's name at the server, for requests that name it
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) served_model_name: Option<String>,

    /// Side on which arrays are padded
    ///
    /// Default: left.
    #[cfg(feature = "arrays")]
    #[arg(long, value_parser = padding_side(), value_name = "SIDE", hide_short_help = true)]
    pub(crate) padding_side: Option<PaddingSide>,

    /// Pad arrays to a length that is a multiple of this
    #[cfg(feature = "arrays")]
    #[arg(long, value_name = "N", value_parser = multiple(), hide_short_help = true)]
    pub(crate) pad_to_multiple_of: Option<NonZeroUsize>,

    /// Add a fingerprint of what the ids depend on
    ///
    /// Each prompt gets hashes of the template and the tokenizer, metatok's version and the options. `check --against`
    /// reports whether they are still the same.
    #[arg(long, hide_short_help = true)]
    pub(crate) fingerprint: bool,

    #[command(flatten)]
    pub(crate) errors: RejectArgs,

    /// Reject prompts with an image, audio or video whose file is missing
    ///
    /// metatok does not open these files.
    #[arg(long, help_heading = heading::ERRORS, hide_short_help = true)]
    pub(crate) check_files: bool,

    #[command(flatten)]
    pub(crate) request: RequestArgs,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) answers: AnswersArgs,

    /// What to drop if a prompt is too long
    ///
    /// Also works for conversations. For rows, this replaces the default of dropping in-context examples. Only tokens of
    /// messages are dropped, never control tokens, the template, or placeholders of images. The record lists what was dropped.
    #[arg(long, value_parser = truncation(), value_name = "WHAT", requires = "max_seq_len", help_heading = heading::LENGTH)]
    pub(crate) truncate: Option<Truncation>,

    #[command(flatten)]
    pub(crate) prompts: PromptArgs,

    /// Threads to use
    ///
    /// Default: one per core, which is also the maximum. The output does not depend on the number of threads.
    #[arg(short = 'j', long, value_name = "N", value_parser = threads(), help_heading = heading::GENERAL)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Print nothing but errors
    #[arg(short, long, help_heading = heading::GENERAL)]
    pub(crate) quiet: bool,
}

/// A form by its name. The one that no server takes is an error that says so.
fn form() -> impl TypedValueParser<Value = &'static OutputForm> {
    let names = OUTPUT_FORMS.iter().map(|form| PossibleValue::new(form.name).help(form.about));
    let is_there = |name: &str| OUTPUT_FORMS.iter().any(|form| form.name == name);
    let missing = FORMS_OF_FEATURES.iter().map(|(name, _)| *name).filter(|name| !is_there(name));
    let hidden = missing.chain([RUN_BATCH]).map(|name| PossibleValue::new(name).hide(true));
    let names = names.chain(hidden);
    PossibleValuesParser::new(names).try_map(|name| OutputForm::find(&name).map_err(|error| error.in_flags()))
}

/// No context is longer, and arrays of such rows would only take memory.
#[cfg(feature = "arrays")]
fn multiple() -> impl TypedValueParser<Value = NonZeroUsize> {
    RangedU64ValueParser::<usize>::new().range(1..=1 << 20).try_map(NonZeroUsize::try_from)
}

#[cfg(feature = "arrays")]
fn padding_side() -> impl TypedValueParser<Value = PaddingSide> {
    named([
        ("left", "Before the prompts, so that the model continues all of them at the same position"),
        ("right", "After the prompts"),
    ])
}
