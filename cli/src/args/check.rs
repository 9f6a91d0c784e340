//! The arguments of `metatok check`.

use std::path::PathBuf;

use crate::args::{AnswersArgs, InputArgs, ModelArgs, PromptArgs, complete, heading, truncation};
use metatok::truncate::Truncation;

#[derive(clap::Args)]
#[command(
    next_help_heading = "Checks",
    after_help = "Example: metatok check --model llama-3 --deny warnings chats.jsonl",
    after_long_help = "Exit codes: 0 nothing is denied, 1 something is (errors always are), 2 the check failed.

Examples:
  metatok check --model my.toml --tokenizer ./tokenizer
  metatok check --model llama-3 --deny warnings chats.jsonl
  metatok check -m llama-3 -d mmlu.toml --train dev.jsonl test.jsonl
  metatok check --model my.toml --json | jq '.[].code'
  metatok check --list                    what every code means"
)]
pub(crate) struct CheckArgs {
    /// Also fail on this finding; may be repeated
    ///
    /// A code, `warnings`, or `all`.
    #[arg(long, value_name = "CODE", add = complete::denied())]
    pub(crate) deny: Vec<String>,

    /// Do not report this finding; may be repeated
    ///
    /// `allow` in the model file does the same.
    #[arg(long, value_name = "CODE", add = complete::allowed())]
    pub(crate) allow: Vec<String>,

    /// Print a JSON list
    #[arg(long)]
    pub(crate) json: bool,

    /// Explain every code, and check nothing
    #[arg(long, conflicts_with_all = ["inputs", "dataset", "model", "tokenizer", "deny", "allow"])]
    pub(crate) list: bool,

    /// Report whether an output of `build` is still current
    ///
    /// With this option, `check` does not look for mistakes. It compares the fingerprint in FILE, which `build --fingerprint`
    /// wrote, with that of the model, tokenizer, dataset and options given here. It does not compare the ids.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inputs", "deny", "allow", "json", "list"])]
    pub(crate) against: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// With --against: the --truncate of `build`
    #[arg(long, value_parser = truncation(), value_name = "WHAT", requires_all = ["against", "max_seq_len"], help_heading = heading::LENGTH, hide_short_help = true)]
    pub(crate) truncate: Option<Truncation>,

    #[command(flatten)]
    pub(crate) answers: AnswersArgs,

    #[command(flatten)]
    pub(crate) prompts: PromptArgs,
}
