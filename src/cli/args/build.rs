//! The arguments of `metatok build`.

use std::path::PathBuf;

use clap::ValueEnum;
#[cfg(feature = "arrays")]
use clap::builder::TypedValueParser;

#[cfg(feature = "arrays")]
use crate::batch::PaddingSide;
use crate::cli::args::{AnswersArgs, InputArgs, ModelArgs, OnError, PromptArgs, truncation};
#[cfg(feature = "arrays")]
use crate::cli::args::{named, positive};
use crate::truncate::Truncation;

#[derive(clap::Args)]
#[command(after_help = "A line of input is one of
  {\"messages\": [{\"role\": \"user\", \"content\": \"Hi!\"}]}        OpenAI-style messages
  {\"id\": 7, \"prompt\": [{\"section\": \"round\", …}, …]}          an OpenCompass PromptList
  {\"prompt\": \"Once upon a time\"}                             a string, which no template touches

With --dataset it is a row, such as {\"question\": \"1+1=?\", \"answer\": \"2\"}.

A line of output has id (the input's, or its number from 0), input_ids, stop_token_ids and stop; a text to \
score has its label too, a turn of a chat its number, and what chooses among answers their choice_ids.

Examples:
  metatok build | head -1
  metatok build --model qwen3 --tokenizer ./qwen3 --text --spans chats.jsonl
  metatok build --conversation vicuna --tokenizer ./llama chats.jsonl
  metatok build --dataset gsm8k.toml --train train.jsonl --model llama-3 test.jsonl
  metatok build --dataset mt.toml --infer-mode every --answers answers.jsonl rows.jsonl
  metatok build --model llama-3 --mode ppl -o ids.jsonl chats.jsonl
  metatok build --model qwen3 --format vllm-batch --served-model qwen chats.jsonl > batch.jsonl
  metatok build --dataset mmlu.toml --format messages hf://datasets/cais/mmlu/all/test.parquet
  cat chats.jsonl | metatok build --on-error reject --rejects bad.jsonl - > ids.jsonl")]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) prompts: PromptArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) answers: AnswersArgs,

    /// Threads. Default: one per core.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,

    /// What is written for each prompt.
    #[arg(long, value_enum, default_value = "ids", value_name = "FORM")]
    pub(crate) format: Format,

    /// The model's name at the server, for --format vllm and vllm-batch.
    #[arg(long, value_name = "NAME")]
    pub(crate) served_model: Option<String>,

    /// Write here instead of to standard output. The file appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Add the prompt's text.
    #[arg(long)]
    pub(crate) text: bool,

    /// Add where each token comes from.
    #[arg(long)]
    pub(crate) spans: bool,

    /// Add labels to texts to score: the ids of what is scored, and -100 for the context.
    #[arg(long)]
    pub(crate) labels: bool,

    /// Add the attention mask, all ones.
    #[arg(long)]
    pub(crate) attention_mask: bool,

    /// What goes where a prompt is too long for --max-seq-len: nothing, tokens of what is said (never control tokens,
    /// the template, or what stands for images), examples, or whole turns. The record says what went.
    #[arg(long, value_parser = truncation(), value_name = "WHAT", requires = "max_seq_len")]
    pub(crate) truncate: Option<Truncation>,

    /// On which side arrays are padded.
    #[cfg(feature = "arrays")]
    #[arg(long, value_parser = padding_side(), default_value = "left", value_name = "SIDE")]
    pub(crate) padding_side: PaddingSide,

    /// Pad arrays to a length that is a multiple of this.
    #[cfg(feature = "arrays")]
    #[arg(long, value_name = "N", default_value = "1", value_parser = positive)]
    pub(crate) pad_to_multiple_of: std::num::NonZeroUsize,

    /// Write beside each prompt what its ids depend on: hashes of the template and the tokenizer, metatok's version, the
    /// options. `check --against` looks whether it is still the same.
    #[arg(long)]
    pub(crate) fingerprint: bool,

    /// Refuse prompts with an image, audio or video whose file is not here. Nothing is opened.
    #[arg(long)]
    pub(crate) check_files: bool,

    /// What to do about a line that gives no prompt: stop there, or write it to --rejects and go on.
    #[arg(long, value_enum, default_value = "stop", value_name = "HOW")]
    pub(crate) on_error: OnError,

    /// Where rejected lines go, with their errors. Default: rejects.jsonl, or beside --output.
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,

    /// Say nothing but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Token ids with all that is known of a prompt.
    Ids,
    /// OpenAI-style messages, for a server that has the template itself.
    Messages,
    /// Bodies of vLLM's /v1/completions.
    Vllm,
    /// The file that `vllm run-batch` reads.
    VllmBatch,
    /// Bodies of SGLang's /generate.
    Sglang,
    /// Bodies of llama.cpp's /completion.
    LlamaCpp,
    /// One file of NumPy arrays: input_ids and attention_mask, padded.
    #[cfg(feature = "arrays")]
    Npz,
    /// The same arrays one behind the other in a plain NumPy file.
    #[cfg(feature = "arrays")]
    Npy,
    /// The same arrays as safetensors.
    #[cfg(feature = "arrays")]
    Safetensors,
    /// One table, a row for each prompt, as Arrow's IPC file.
    #[cfg(feature = "arrow")]
    Arrow,
    /// The same table as Parquet.
    #[cfg(feature = "arrow")]
    Parquet,
}

#[cfg(feature = "arrays")]
fn padding_side() -> impl TypedValueParser<Value = PaddingSide> {
    named([("left", "Before the prompts, so that all end where the model goes on"), ("right", "Behind them")])
}
