//! What prompts are made of.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{RangedU64ValueParser, TypedValueParser};

use crate::args::{at_least_one, complete, heading, named};
use metatok::dataset::DatasetSource;
use metatok::dataset::prompter::InferMode;
use metatok::dataset::records::InputFormat;
use metatok::dataset::template::Layout;
use metatok::prepared::DatasetOptions;

/// More examples than this no context holds.
const MANY: i64 = 1 << 20;

/// What prompts are made of: conversations, or rows and how they become prompts.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::INPUT)]
pub(crate) struct InputArgs {
    /// Conversations, or with --dataset rows
    ///
    /// Both are JSON lines or one JSON list, compressed or not; rows may be CSV, TSV or Parquet too. - is standard input, which is also read
    /// when no file is named and something is piped in. hf://datasets/ORG/NAME/PATH is a file of the Hugging Face Hub.
    /// Without any input, the demo's own conversations are used (`check`: none).
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) inputs: Vec<PathBuf>,

    /// How rows become prompts: a dataset file, or a built-in one
    ///
    /// `metatok datasets` lists those that are built in. A file is TOML or JSON with OpenCompass's reader_cfg and
    /// infer_cfg. The input is rows then. For `build` it may be a folder of such files or a JSON list of them: FILE is then the folder
    /// of the rows, ABBR.jsonl for each, and --output the folder to write ABBR.jsonl to.
    #[arg(short, long, value_name = "FILE|NAME", help_heading = heading::DATASET, add = complete::datasets())]
    pub(crate) dataset: Option<PathBuf>,

    /// Which of several datasets it is.
    #[arg(skip)]
    pub(crate) source: Option<DatasetSource>,

    /// Rows that in-context examples come from
    #[arg(long, value_name = "FILE", requires = "dataset", help_heading = heading::DATASET)]
    pub(crate) train: Option<PathBuf>,

    /// Which rows are nearest to each, for TopkRetriever
    ///
    /// JSON lines: for each row a list of numbers of rows of --train, such as [3, 17, 4], the nearest first.
    #[arg(long, value_name = "FILE", requires = "train", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) neighbours: Option<PathBuf>,

    /// In-context examples of a row
    ///
    /// This overrides what the dataset says; 0 takes none.
    #[arg(long, value_name = "N", requires = "dataset", value_parser = clap::value_parser!(u32).range(..=MANY), help_heading = heading::DATASET)]
    pub(crate) num_fewshot: Option<u32>,

    /// How questions stand with their examples
    ///
    /// For dataset files with a QaTemplate. This overrides what the dataset says.
    #[arg(long, value_name = "LAYOUT", value_parser = layout(), requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) layout: Option<Layout>,

    /// Names of the columns of a CSV or TSV file
    ///
    /// For files that do not name them in their first record.
    #[arg(long, value_name = "NAME,…", requires = "dataset", value_delimiter = ',', help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) columns: Option<Vec<String>>,

    /// The column of the rows' ids
    ///
    /// Every row must have it then. Default: id, and the row's number in the file where a row has none.
    #[arg(long, value_name = "NAME", requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) id_column: Option<String>,

    /// Columns of the row to write beside each prompt
    ///
    /// They stand under "columns", also in what `run` and `trim` write, so that answers have their references.
    #[arg(long, value_name = "NAME,…", requires = "dataset", value_delimiter = ',', help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) keep: Vec<String>,

    /// Ask the dataset's judge about a model's answers to the rows
    ///
    /// JSON lines of id (and repeat, turn), as the prompts have them, and text. The prompts are those of the judge that
    /// the dataset's eval_cfg names. Given again, the judge compares models. Of several datasets it is the folder of ABBR.jsonl.
    #[arg(long, value_name = "FILE", requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) judge: Vec<PathBuf>,

    /// Take the model's thoughts out of its answers
    ///
    /// All up to `</think>` goes before a judge or a later turn sees them.
    #[arg(long, requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) strip_thoughts: bool,

    /// Take only the first N lines or rows of the input
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    pub(crate) limit: Option<usize>,

    /// Tokens that fit in the model's context
    ///
    /// Of a row's prompt, examples are dropped from the end until it fits, unless `build --truncate` says what is
    /// dropped, as it does for conversations.
    #[arg(long, value_name = "N", value_parser = at_least_one(), help_heading = heading::LENGTH)]
    pub(crate) max_seq_len: Option<usize>,

    /// Tokens that an answer may have
    ///
    /// Room for them is left within --max-seq-len, and engines are told. A row's own max_out_len comes first.
    #[arg(long, value_name = "N", value_parser = at_least_one(), help_heading = heading::LENGTH)]
    pub(crate) max_out_len: Option<usize>,

    /// Which turns of a chat are asked for
    ///
    /// This overrides what the dataset says.
    #[arg(long, value_enum, value_name = "MODE", requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) infer_mode: Option<InferModeArg>,

    /// Drop silently what AISBench drops
    ///
    /// Without this it is an error: text outside the tags of a multimodal content, parts beside a prompt or where a
    /// model takes text, examples without a place.
    #[arg(long, requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) compat: bool,

    /// Give rows the types that Hugging Face `datasets` gives them
    ///
    /// The references see rows so: the columns of the first row, missing ones None, numbers of one kind, and the
    /// columns subdivision and idx. All rows are read before the first prompt is built.
    #[arg(long, requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) arrow_compat: bool,

    /// Refuse rows that lack a column of the template
    ///
    /// Without this there is a warning.
    #[arg(long, requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) strict: bool,

    /// Longest text of a row once its columns are filled in, in bytes
    ///
    /// That is of all its prompts together. Columns may bring in one another, and so a small row fill all memory.
    /// Default: 16 MiB.
    #[arg(long, value_name = "N", value_parser = row_bytes(), requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) max_row_bytes: Option<usize>,

    /// How a conversation is written down
    ///
    /// auto looks at the keys of each.
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", default_value = "auto", conflicts_with = "dataset", hide_short_help = true)]
    pub(crate) input_format: InputFormat,

    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl InputArgs {
    /// What the dataset is told beside its file.
    pub(crate) fn dataset_options(&self) -> DatasetOptions {
        let Self { max_seq_len, max_out_len, strip_thoughts, compat, arrow_compat, strict, max_row_bytes, .. } = *self;
        DatasetOptions {
            train: self.train.clone(),
            neighbours: self.neighbours.clone(),
            num_fewshot: self.num_fewshot,
            layout: self.layout,
            infer_mode: self.infer_mode.map(InferMode::from),
            columns: self.columns.clone(),
            id_column: self.id_column.clone(),
            keep: self.keep.clone(),
            judge: self.judge.clone(),
            strip_thoughts,
            max_seq_len,
            max_out_len,
            compat,
            arrow_compat,
            strict,
            max_row_bytes,
            max_line_bytes: self.read.max_line_bytes,
        }
    }
}

/// How files are read.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::INPUT)]
pub(crate) struct ReadArgs {
    /// Longest line to read, in bytes
    #[arg(long, value_name = "N", default_value_t = 64 << 20, hide_short_help = true)]
    pub(crate) max_line_bytes: usize,
}

/// What a model said already, in the turns of a dialogue.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::DATASET)]
pub(crate) struct AnswersArgs {
    /// The model's answers to earlier turns
    ///
    /// For --infer-mode every: JSON lines of id and turn, as the prompts have them, with token_ids, text, or an error.
    /// Each dialogue is built up to its first turn without an answer.
    #[arg(long, value_name = "FILE", requires = "dataset", conflicts_with = "judge", hide_short_help = true)]
    pub(crate) answers: Option<PathBuf>,
}

/// No context is longer, by far.
fn row_bytes() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(1..=1 << 30)
}

/// The layouts of questions.
fn layout() -> impl TypedValueParser<Value = Layout> {
    named([
        ("text", "One text, which no template touches"),
        ("chat", "A message of the user, with the examples in it"),
        ("turns", "A turn for each example"),
    ])
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
    /// All; the turns before have the model's own answers
    Every,
    /// All; the turns before have the dataset's answers
    EveryWithGt,
    /// The last; the turns before have the dataset's answers
    Last,
}

impl From<InferModeArg> for InferMode {
    fn from(mode: InferModeArg) -> Self {
        match mode {
            InferModeArg::Every => Self::Every,
            InferModeArg::EveryWithGt => Self::EveryWithGt,
            InferModeArg::Last => Self::Last,
        }
    }
}
