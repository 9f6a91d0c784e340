//! What prompts are made of.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::args::at_least_one;

/// More examples than this no context holds.
const MANY: i64 = 1 << 20;

/// What prompts are made of: conversations, or rows and how they become prompts.
#[derive(clap::Args)]
pub(crate) struct InputArgs {
    /// Conversations as JSON lines, or with --dataset rows, as JSON lines, CSV, TSV or Parquet; - is standard
    /// input, which is read too where no file is named and something is piped in, and hf://datasets/ORG/NAME/PATH
    /// a file of the hub. Without any, the demo's own conversations (`check`: none).
    #[arg(value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// A dataset file (TOML or JSON with OpenCompass's reader_cfg and infer_cfg), or a built-in one (`metatok
    /// datasets` lists them): the input is rows.
    #[arg(short, long, value_name = "FILE|NAME")]
    pub(crate) dataset: Option<PathBuf>,

    /// The rows that in-context examples come from.
    #[arg(long, value_name = "FILE", requires = "dataset")]
    pub(crate) train: Option<PathBuf>,

    /// How many in-context examples a row has, instead of what the dataset says.
    #[arg(long, value_name = "N", requires = "dataset", value_parser = clap::value_parser!(u32).range(..=MANY))]
    pub(crate) num_fewshot: Option<u32>,

    /// The names of the columns of CSV and TSV files that do not name them in their first record.
    #[arg(long, value_name = "NAME,…", requires = "dataset", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,

    /// Take only so many lines or rows of the input, the first ones.
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    pub(crate) limit: Option<usize>,

    /// How many tokens the model's context has. Of rows, examples go from the end until a prompt fits, unless
    /// `build --truncate` says what goes, as it does for conversations.
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    pub(crate) max_seq_len: Option<usize>,

    /// How many tokens an answer may have, where its row does not say: room for them is left within --max-seq-len, and
    /// engines are told.
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    pub(crate) max_out_len: Option<usize>,

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

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum InferModeArg {
    Every,
    EveryWithGt,
    Last,
}
