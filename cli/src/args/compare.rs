//! The arguments of `metatok compare`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;

use crate::args::{ModelArgs, ReadArgs, StopArgs, heading, output_file};
use metatok::compare::DEFAULT_CONTEXT;

/// How differences are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CompareFormat {
    /// A line of JSON for each difference
    Jsonl,
    /// For reading: the text before each difference, and both answers from there on
    Text,
}

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    after_help = "Example: metatok compare --model qwen3 vllm.jsonl sglang.jsonl",
    after_long_help = "Lines of input have any of the formats that `metatok trim` reads or writes. Answers are matched by id, repeat, turn and choice, \
in any order. The answers of A are kept in memory; those of B are read line by line.

A line of JSON is an answer that differs: first_difference is the index of the first token that differs, or {\"byte\": n} if one \
of the answers is text alone; a and b have the token there, the text from there on, and why each answer ends. Answers that only \
one file has follow with only_in.

Exit codes: 0 all answers are equal, 1 something differs, 2 error.

Examples:
  metatok compare --model qwen3 vllm.jsonl sglang.jsonl
  metatok compare -m llama-3 --all -o compared.jsonl a.jsonl b.jsonl
  metatok run | metatok compare -m demo - answers.jsonl"
)]
pub(crate) struct CompareArgs {
    /// Answers of one engine as JSON lines; - is standard input
    #[arg(value_name = "A", help_heading = heading::ARGUMENTS)]
    pub(crate) a: PathBuf,

    /// Answers of another engine to the same prompts
    #[arg(value_name = "B", help_heading = heading::ARGUMENTS)]
    pub(crate) b: PathBuf,

    /// Write to a file instead of standard output
    ///
    /// The file appears only when it is complete.
    #[arg(short, long, value_name = "FILE", value_parser = output_file())]
    pub(crate) output: Option<PathBuf>,

    /// Output format of differences
    ///
    /// Default: text on a terminal, else jsonl.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<CompareFormat>,

    /// Also write answers that are equal
    #[arg(long)]
    pub(crate) all: bool,

    /// How many tokens to show before a difference, and from it on
    ///
    /// In text without ids, a token counts as four characters.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_CONTEXT)]
    pub(crate) context: usize,

    /// Prefix of request ids, removed from the answers' ids
    ///
    /// `ID-` is removed from the beginning of the ids. If each engine had its own prefix, give the option twice.
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub(crate) run_id: Vec<String>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) stop: StopArgs,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Print nothing but errors
    #[arg(short, long, help_heading = heading::GENERAL)]
    pub(crate) quiet: bool,
}
