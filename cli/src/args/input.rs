//! The arguments for the contents of prompts.

use std::path::{Path, PathBuf};

use clap::builder::{RangedU64ValueParser, TypedValueParser};

use crate::args::{RunIdArgs, at_least_one, complete, heading, named};
use metatok::dataset::DatasetSource;
use metatok::dataset::prompter::InferMode;
use metatok::dataset::records::InputFormat;
use metatok::dataset::template::Layout;
use metatok::input::{CsvOptions, DEFAULT_MAX_LINE_BYTES, Quotes};
use metatok::prepared::DatasetOptions;

/// No context holds more examples than this.
const MANY: i64 = 1 << 20;

/// The contents of prompts: conversations, or rows and how they become prompts.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::INPUT)]
pub(crate) struct InputArgs {
    /// Conversations; with --dataset, dataset rows
    ///
    /// Both are JSON lines or one JSON list, compressed or not. Rows may also be CSV, TSV or Parquet. - is standard input; if
    /// you name no file, metatok also reads piped input. hf://datasets/ORG/NAME/PATH is a file of the Hugging Face Hub.
    /// Without any input, metatok uses the demo's conversations (`check` uses none).
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) inputs: Vec<PathBuf>,

    /// How rows become prompts: a dataset file, or a built-in one
    ///
    /// `metatok datasets` lists the built-in ones. A file is TOML or JSON with OpenCompass's reader_cfg and infer_cfg.
    /// With this option, the input is rows. For `build` it may also be a folder of such files, or a JSON list of datasets.
    /// Then the input must be a folder with one file per dataset, named after its `abbr` (gsm8k.jsonl), and --output a
    /// folder.
    #[arg(short, long, value_name = "FILE|NAME", help_heading = heading::DATASET, add = complete::datasets())]
    pub(crate) dataset: Option<PathBuf>,

    /// Which one of several datasets.
    #[arg(skip)]
    pub(crate) source: Option<DatasetSource>,

    /// Rows that in-context examples come from
    #[arg(long, value_name = "FILE", requires = "dataset", help_heading = heading::DATASET)]
    pub(crate) train: Option<PathBuf>,

    /// Nearest rows of each row, for TopkRetriever
    ///
    /// JSON lines: for each row, a list of row numbers of --train, such as [3, 17, 4], the nearest first.
    #[arg(long, value_name = "FILE", requires = "train", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) neighbours: Option<PathBuf>,

    /// In-context examples per row
    ///
    /// This overrides the dataset's number. 0 means none.
    #[arg(long, value_name = "N", requires = "dataset", value_parser = clap::value_parser!(u32).range(..=MANY), help_heading = heading::DATASET)]
    pub(crate) num_fewshot: Option<u32>,

    /// Layout of questions and their examples
    ///
    /// For dataset files with a QaTemplate. This overrides the dataset's layout.
    #[arg(long, value_name = "LAYOUT", value_parser = layout(), requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) layout: Option<Layout>,

    /// Names of the columns of a CSV or TSV file
    ///
    /// For files whose first record does not name them.
    #[arg(long, value_name = "NAME,…", requires = "dataset", value_delimiter = ',', help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) columns: Option<Vec<String>>,

    /// How to read quotes in a CSV or TSV file
    ///
    /// By default they enclose fields, and a record of a TSV file is rejected if its quotes seem to be text.
    #[arg(long, value_name = "USE", value_parser = quotes(), requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) quotes: Option<Quotes>,

    /// Field that lists the records, in files that are one JSON object
    ///
    /// For files such as {"data": [ … ]}, also that of --train. Nothing may follow the object.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) field: Option<String>,

    /// Column of the rows' ids
    ///
    /// Every row must have this column. Default: id, or the row's number, over all files, if it has no id.
    #[arg(long, value_name = "NAME", requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) id_column: Option<String>,

    /// Columns of the row to write with each prompt
    ///
    /// They are written under "columns". `run` and `trim` write them too, so each answer comes with its reference.
    #[arg(long, value_name = "NAME,…", requires = "dataset", value_delimiter = ',', help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) keep: Vec<String>,

    /// Build prompts for the dataset's judge, about the answers in FILE
    ///
    /// FILE has JSON lines with the text of an answer and the prompt's id (and repeat, turn). The dataset's eval_cfg names
    /// the judge. Repeat this option to let the judge compare models. For several datasets, FILE is a folder with one
    /// ABBR.jsonl for each.
    #[arg(long, value_name = "FILE", requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) judge: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) run_id: RunIdArgs,

    /// Remove the model's thoughts from its answers
    ///
    /// The judge and later turns then do not see the text up to `</think>`.
    #[arg(long, requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) strip_thoughts: bool,

    /// Take only the first N lines or rows of the input
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    pub(crate) limit: Option<usize>,

    /// Length of the model's context, in tokens
    ///
    /// If a row's prompt is too long, in-context examples are dropped, the last first, until it fits.
    #[arg(long, value_name = "N", value_parser = at_least_one(), help_heading = heading::LENGTH)]
    pub(crate) max_seq_len: Option<usize>,

    /// Maximum number of tokens of an answer
    ///
    /// --max-seq-len reserves this many tokens, and requests for engines have this limit. A row's own max_out_len takes
    /// precedence.
    #[arg(long, value_name = "N", value_parser = at_least_one(), help_heading = heading::LENGTH)]
    pub(crate) max_out_len: Option<usize>,

    /// Which turns of a chat to ask
    ///
    /// This overrides the dataset's mode.
    #[arg(long, value_parser = infer_mode(), value_name = "MODE", requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) infer_mode: Option<InferMode>,

    /// Silently drop what AISBench drops
    ///
    /// Without this option, the following are errors: text outside the tags of multimodal content, parts next to a prompt or
    /// for a model that only accepts text, examples for which the template has no place.
    #[arg(long, requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) compat: bool,

    /// Give rows the types that Hugging Face `datasets` gives them
    ///
    /// OpenCompass and AISBench see rows in this form: with the columns of the first row, None for missing values, numbers of one type,
    /// and the columns subdivision and idx. metatok reads all rows before it builds the first prompt.
    #[arg(long, requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) arrow_compat: bool,

    /// Reject rows that lack a column of the template
    ///
    /// Without this option, metatok prints a warning.
    #[arg(long, requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) strict: bool,

    /// Maximum size of a row's text after its columns are filled in, in bytes
    ///
    /// This counts all prompts of the row together. Columns may contain fields for one another, so without a limit a small
    /// row could fill the memory. Default: 16 MiB.
    #[arg(long, value_name = "N", value_parser = row_bytes(), requires = "dataset", help_heading = heading::DATASET, hide_short_help = true)]
    pub(crate) max_row_bytes: Option<usize>,

    /// Format of the conversations
    ///
    /// auto recognizes the format of each by its keys.
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", default_value = "auto", conflicts_with = "dataset", hide_short_help = true)]
    pub(crate) input_format: InputFormat,

    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// What files do not say of themselves.
#[derive(Clone, Default)]
pub(crate) struct Shape<'a> {
    pub(crate) csv: CsvOptions,
    /// The field of an object that lists the records.
    pub(crate) field: Option<&'a str>,
    /// The format of conversations.
    pub(crate) format: InputFormat,
}

impl InputArgs {
    /// What the files do not say of themselves.
    pub(crate) fn shape(&self) -> Shape<'_> {
        Shape { csv: self.csv(), field: self.field.as_deref(), format: self.input_format }
    }

    fn csv(&self) -> CsvOptions {
        CsvOptions { columns: self.columns.clone(), quotes: self.quotes }
    }

    /// Further files that are read, each with its option.
    pub(crate) fn other_files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let rows = [("--train", self.train.as_deref()), ("--neighbours", self.neighbours.as_deref())];
        let judged = self.judge.iter().map(|path| ("--judge", path.as_path()));
        rows.into_iter().filter_map(|(option, path)| Some((option, path?))).chain(judged)
    }

    /// The options of a dataset, in addition to its file.
    pub(crate) fn dataset_options(&self) -> DatasetOptions {
        let Self { max_seq_len, max_out_len, strip_thoughts, compat, arrow_compat, strict, max_row_bytes, .. } = *self;
        DatasetOptions {
            train: self.train.clone(),
            neighbours: self.neighbours.clone(),
            num_fewshot: self.num_fewshot,
            layout: self.layout,
            infer_mode: self.infer_mode,
            csv: self.csv(),
            field: self.field.clone(),
            id_column: self.id_column.clone(),
            keep: self.keep.clone(),
            judge: self.judge.clone(),
            run_id: self.run_id.run_id.clone(),
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
    /// Maximum length of an input line, in bytes; the default is 64 MiB
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_LINE_BYTES, value_parser = at_least_one(), hide_short_help = true)]
    pub(crate) max_line_bytes: usize,
}

/// The model's earlier answers, in the turns of a dialogue.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::DATASET)]
pub(crate) struct AnswersArgs {
    /// The model's answers to earlier turns
    ///
    /// For --infer-mode every or every_empty. FILE has JSON lines with the prompt's id and turn, and token_ids, text, or an
    /// error. Each dialogue is built up to its first turn without an answer.
    #[arg(long, value_name = "FILE", requires = "dataset", conflicts_with = "judge", hide_short_help = true)]
    pub(crate) answers: Option<PathBuf>,
}

impl AnswersArgs {
    /// The file, with its option.
    pub(crate) fn file(&self) -> Option<(&'static str, &Path)> {
        Some(("--answers", self.answers.as_deref()?))
    }
}

/// No context is longer, by far.
fn row_bytes() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(1..=1 << 30)
}

/// What quotes may be.
fn quotes() -> impl TypedValueParser<Value = Quotes> {
    named([("fields", "They enclose fields"), ("text", "They are text, as in the TSV files of GLUE")])
}

/// The layouts of questions.
fn layout() -> impl TypedValueParser<Value = Layout> {
    named([
        ("text", "One text, without a template"),
        ("chat", "One user message, which includes the examples"),
        ("turns", "A turn for each example"),
    ])
}

/// The formats of conversations.
pub(crate) fn input_format() -> impl TypedValueParser<Value = InputFormat> {
    named([
        ("auto", "Recognized by the keys of each record"),
        ("messages", "\"messages\": OpenAI-style messages, or a prompt list"),
        ("sharegpt", "\"conversations\": turns of \"from\" and \"value\""),
        ("alpaca", "\"instruction\", \"input\" and \"output\" (or \"response\")"),
        ("query-response", "\"query\" (or \"question\") and \"response\", as in ms-swift"),
        ("prompt-completion", "\"prompt\" and \"completion\": two texts, or two lists of messages"),
        ("text", "\"text\", without a template"),
        ("openai-batch", "\"body\": a request, as in batch files"),
        ("responses", "\"input\" and \"instructions\", as in requests to OpenAI's /v1/responses"),
        ("ultrachat", "\"data\": texts of the user and the assistant in turn"),
        ("chosen", "\"prompt\" and its better answer, \"chosen\""),
        ("rejected", "\"prompt\" and its worse answer, \"rejected\""),
    ])
}

/// The turns of a chat that are asked.
fn infer_mode() -> impl TypedValueParser<Value = InferMode> {
    named([
        ("every", "All turns; earlier turns have the model's own answers"),
        (
            "every_empty",
            "Turns without an answer in the dataset; earlier turns have its answers, or else the model's own",
        ),
        ("every_with_gt", "All turns; earlier turns have the dataset's answers"),
        ("last", "The last turn; earlier turns have the dataset's answers"),
    ])
}
