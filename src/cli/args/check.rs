//! The arguments of `metatok check`.

use std::path::PathBuf;

use crate::cli::args::{InputArgs, ModelArgs, PromptArgs, truncation};
use crate::truncate::Truncation;

#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 nothing denied, 1 something is (errors always are), 2 the check could not be made.

Examples:
  metatok check --model my.toml --tokenizer ./tokenizer
  metatok check --model llama-3 --deny warnings chats.jsonl
  metatok check --dataset mmlu.toml --train dev.jsonl test.jsonl
  metatok check --model my.toml --json | jq '.[].code'
  metatok check --list                    what every code means"
)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) prompts: PromptArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Fail on this too: a code, `warnings`, or `all`. May be repeated.
    #[arg(long, value_name = "CODE")]
    pub(crate) deny: Vec<String>,

    /// Leave out what this code finds; `allow` in the model file does the same. May be repeated.
    #[arg(long, value_name = "CODE")]
    pub(crate) allow: Vec<String>,

    /// Print a JSON list.
    #[arg(long)]
    pub(crate) json: bool,

    /// Explain every code, and check nothing.
    #[arg(long, conflicts_with_all = ["inputs", "dataset", "model", "tokenizer", "deny", "allow"])]
    pub(crate) list: bool,

    /// Instead of looking for mistakes, look whether this file of `build --fingerprint` is what would be built now, with
    /// the model, tokenizer, dataset and options as they are given here.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inputs", "deny", "allow", "json", "list"])]
    pub(crate) against: Option<PathBuf>,

    /// With --against: what `build` was told to let go.
    #[arg(long, value_parser = truncation(), value_name = "WHAT", requires_all = ["against", "max_seq_len"])]
    pub(crate) truncate: Option<Truncation>,
}
