//! What prompts are made of.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::TypedValueParser;

use crate::cli::args::named;
use crate::dataset::InputFormat;

/// What prompts are made of: conversations, or rows and how they become prompts.
#[derive(clap::Args)]
pub(crate) struct InputArgs {
    /// Conversations, or with --dataset rows, as JSON lines, one JSON list, CSV, TSV or Parquet, compressed or not; - is
    /// standard input, which is read too where no file is named and something is piped in, and
    /// hf://datasets/ORG/NAME/PATH a file of the hub. Without any, the demo's own conversations (`check`: none).
    #[arg(value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// A dataset file (TOML or JSON with OpenCompass's reader_cfg and infer_cfg): the input is rows.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) dataset: Option<PathBuf>,

    /// The rows that in-context examples come from.
    #[arg(long, value_name = "FILE", requires = "dataset")]
    pub(crate) train: Option<PathBuf>,

    /// How many tokens the model's context has. Of rows, examples go from the end until a prompt fits, unless
    /// `build --truncate` says what goes, as it does for conversations.
    #[arg(long, value_name = "N")]
    pub(crate) max_seq_len: Option<usize>,

    /// How many tokens an answer may have, where its row does not say: room for them is left within --max-seq-len, and
    /// engines are told.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_out_len: usize,

    /// Which turns of a chat are asked for, instead of what the dataset says: every_with_gt and last put
    /// its answers into the turns before; every needs the model's own.
    #[arg(long, value_enum, value_name = "MODE", requires = "dataset")]
    pub(crate) infer_mode: Option<InferModeArg>,

    /// Lose silently what AISBench loses, instead of refusing it: text outside the tags of a multimodal
    /// content, parts beside a prompt or where a model takes text, examples without a place.
    #[arg(long, requires = "dataset")]
    pub(crate) compat: bool,

    /// Take rows as Hugging Face `datasets` gives them to the references: the columns of the first row,
    /// missing ones None, numbers of one kind, and the columns subdivision and idx. Reads all rows first.
    #[arg(long, requires = "dataset")]
    pub(crate) arrow_compat: bool,

    /// Refuse rows that lack a column which the template names, instead of warning.
    #[arg(long, requires = "dataset")]
    pub(crate) strict: bool,

    /// How a conversation is written down; auto looks at the keys of each.
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", default_value = "auto", conflicts_with = "dataset")]
    pub(crate) input_format: InputFormat,

    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// How files are read.
#[derive(clap::Args)]
pub(crate) struct ReadArgs {
    /// Longest line to read, in bytes.
    #[arg(long, value_name = "N", default_value_t = 64 << 20)]
    pub(crate) max_line_bytes: usize,
}

/// What a model said already, in the turns of a dialogue.
#[derive(clap::Args)]
pub(crate) struct AnswersArgs {
    /// The model's answers to earlier turns, for --infer-mode every: JSON lines of id and turn, as the prompts
    /// have them, with token_ids, text, or an error. Each dialogue is built up to its first turn without one.
    #[arg(long, value_name = "FILE", requires = "dataset")]
    pub(crate) answers: Option<PathBuf>,

    /// Take the model's thoughts, up to `</think>`, out of the answers.
    #[arg(long, requires = "answers")]
    pub(crate) strip_thoughts: bool,
}

/// The formats of conversations.
pub(crate) fn input_format() -> impl TypedValueParser<Value = InputFormat> {
    named([
        ("auto", "Whichever of these its keys tell"),
        ("messages", "\"messages\": OpenAI-style messages, or a prompt list"),
        ("sharegpt", "\"conversations\": turns of \"from\" and \"value\""),
        ("alpaca", "\"instruction\", \"input\" and \"output\""),
        ("prompt-completion", "\"prompt\" and \"completion\": two texts, or two lists of messages"),
        ("text", "\"text\", which no template touches"),
        ("openai-batch", "\"body\": a request, as batch files list them"),
        ("ultrachat", "\"data\": what the user and the assistant say in turn"),
        ("chosen", "\"prompt\" and its better answer, \"chosen\""),
        ("rejected", "\"prompt\" and its worse answer, \"rejected\""),
    ])
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum InferModeArg {
    Every,
    EveryWithGt,
    Last,
}
