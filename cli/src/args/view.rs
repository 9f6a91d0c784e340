//! The arguments of `metatok view`.

use std::path::PathBuf;

use crate::args::{AnswersArgs, InputArgs, ModelArgs, PromptArgs};

#[derive(clap::Args)]
#[command(
    next_help_heading = "View",
    after_help = "Example: metatok view --model qwen3 --ids chats.jsonl",
    after_long_help = "Each row is one part of the template or of the content. Adjacent tokens have different shades. Without colours (NO_COLOR, or \
no terminal), bars separate tokens and brackets mark control tokens. Signs: · space, ↵ newline, ⇥ tab, \
<E4> one byte of a character that is split over several tokens.

Examples:
  metatok view                                 the demo's first conversation
  metatok view --model llama-3 --ids chats.jsonl --prompt 2
  metatok view --model qwen3 --html prompt.html --mode ppl chats.jsonl
  metatok view -m qwen3 -d mmlu.toml --train dev.jsonl --label B test.jsonl
  metatok view -m qwen3 -d mt.toml --infer-mode last --turn 2 rows.jsonl
  echo '{\"prompt\": \"1+1=?\"}' | metatok view --model qwen3 --ids"
)]
pub(crate) struct ViewArgs {
    /// Which prompt to show, counted from 0 over all files
    ///
    /// Default: the first; if the dataset picks rows, the first that it asks.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) prompt: Option<usize>,

    /// Show each token's id below it
    #[arg(long)]
    pub(crate) ids: bool,

    /// Write a page for the browser; - is standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "ids"])]
    pub(crate) html: Option<PathBuf>,

    /// Print JSON
    #[arg(long, conflicts_with = "ids")]
    pub(crate) json: bool,

    /// Which label's text to show, if a dataset scores several
    ///
    /// Default: the first.
    #[arg(long, value_name = "LABEL", requires = "dataset")]
    pub(crate) label: Option<String>,

    /// Which turn's prompt to show, counted from 0
    ///
    /// This is for datasets that ask turn by turn. Default: the first.
    #[arg(long, value_name = "N", requires = "dataset", conflicts_with = "label")]
    pub(crate) turn: Option<usize>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) answers: AnswersArgs,

    #[command(flatten)]
    pub(crate) prompts: PromptArgs,
}
