//! The arguments of `metatok score`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::args::{ReadArgs, RunIdArgs, details_file, heading};
use metatok::score::NormalizeBy;

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    after_help = "Example: metatok score --reference answer --by number gsm8k.jsonl",
    after_long_help = "A line of input has the format that `metatok run` and `metatok trim` write: text, and the columns that `--keep` kept. Each file is a dataset, named after the file. \
Accuracy counts all answers: an answer with nothing to compare is wrong, and so is an error in place of an answer. \
Repeats of a row count as separate answers, so their accuracy is the mean of all attempts; with --vote they count as one.

Examples:
  metatok run -m qwen3 -d gsm8k --keep answer -o gsm8k.jsonl test.jsonl
  metatok score --reference answer --by number gsm8k.jsonl
  metatok score -r answer --by choice --choices A,B,C,D answers/*.jsonl
  metatok score -r answer --reference-pattern '#### (.*)' --by number a.jsonl
  metatok score -r target --texts mmlu.ids.jsonl -o scored.jsonl mmlu.jsonl
  metatok score -r target --texts t.jsonl --normalize-by characters a.jsonl
  metatok score -r aliases --ignore-case --ignore-punctuation triviaqa.jsonl"
)]
pub(crate) struct ScoreArgs {
    /// Answers with the columns of their rows; each file is a dataset
    ///
    /// `-` is standard input. If you name no file, metatok also reads piped input.
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) inputs: Vec<PathBuf>,

    /// Column of the right answer
    ///
    /// A list in this column gives several right answers. For a dialogue, it gives the right answer to each turn.
    #[arg(short, long, value_name = "COLUMN", help_heading = COMPARISON)]
    pub(crate) reference: String,

    /// Pick each row's label by the likelihood of these texts
    ///
    /// FILE is the output of `metatok build --labels` for a dataset with PPLInferencer or LLInferencer. The answers are those of
    /// vLLM or SGLang to the requests for the same rows (--format vllm, vllm-generate or sglang), with the log-probabilities
    /// of the tokens.
    #[arg(long, value_name = "FILE", help_heading = COMPARISON)]
    pub(crate) texts: Option<PathBuf>,

    /// Divide the log-likelihood of a label by its length
    ///
    /// Otherwise, long labels are at a disadvantage. `characters` is acc_norm of lm-evaluation-harness, and `bytes` its
    /// acc_bytes.
    #[arg(long, value_enum, value_name = "LENGTH", requires = "texts", help_heading = COMPARISON)]
    pub(crate) normalize_by: Option<Length>,

    /// How an answer and its reference are compared
    #[arg(long, value_enum, default_value = "exact", value_name = "HOW", help_heading = COMPARISON)]
    pub(crate) by: By,

    /// The labels that --by choice looks for
    ///
    /// Default: A,B,C,D.
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',', help_heading = COMPARISON)]
    pub(crate) choices: Option<Vec<String>>,

    /// Compare only what this regular expression finds in an answer
    ///
    /// The first group that matches is compared, or the whole match if there are no groups. The syntax is that of Rust's regex
    /// crate.
    #[arg(long, value_name = "REGEX", help_heading = COMPARISON)]
    pub(crate) pattern: Option<String>,

    /// Compare only what this regular expression finds in a reference
    #[arg(long, value_name = "REGEX", help_heading = COMPARISON)]
    pub(crate) reference_pattern: Option<String>,

    /// Which match of --pattern counts
    #[arg(long, value_enum, default_value = "first", value_name = "WHICH", requires = "pattern", help_heading = COMPARISON)]
    pub(crate) take: Take,

    /// Leave a model's thoughts, up to `</think>`, out of its answer
    ///
    /// An answer that begins with `<think>` and has no `</think>` counts as empty.
    #[arg(long, help_heading = COMPARISON)]
    pub(crate) strip_thoughts: bool,

    /// Score each row by the most frequent answer of its repeats
    ///
    /// If answers tie, the first counts. An answer in which nothing is found has no vote.
    #[arg(long, conflicts_with = "texts", help_heading = COMPARISON)]
    pub(crate) vote: bool,

    /// Ignore upper and lower case
    #[arg(long, help_heading = COMPARISON)]
    pub(crate) ignore_case: bool,

    /// Ignore ASCII punctuation
    #[arg(long, help_heading = COMPARISON)]
    pub(crate) ignore_punctuation: bool,

    /// Write each answer with what was found in it
    ///
    /// The file has the input's lines, with the keys found and correct. With --texts, it has a line for each row, with the
    /// scores of its labels. It appears only when it is complete.
    #[arg(short, long, value_name = "FILE", value_parser = details_file())]
    pub(crate) output: Option<PathBuf>,

    /// Print a JSON object for each dataset
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) run_id: RunIdArgs,

    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

const COMPARISON: &str = "Comparison";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Length {
    /// The label's characters
    Characters,
    /// The label's bytes in UTF-8
    Bytes,
    /// The scored tokens
    Tokens,
}

impl From<Length> for NormalizeBy {
    fn from(length: Length) -> Self {
        match length {
            Length::Characters => Self::Characters,
            Length::Bytes => Self::Bytes,
            Length::Tokens => Self::Tokens,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// As texts, without outer white space
    Exact,
    /// By the last number of each, ignoring commas and redundant zeros
    Number,
    /// By the label that the answer settles on; if two are left, none is found
    Choice,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Take {
    /// The first
    First,
    /// The last
    Last,
}
