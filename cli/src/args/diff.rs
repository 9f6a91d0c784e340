//! The arguments of `metatok diff`.

use std::path::PathBuf;

use crate::args::{ReadArgs, complete, content, heading, input_format, mode};
use metatok::Mode;
use metatok::builder::ContentTrust;
use metatok::dataset::records::InputFormat;

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::MODEL,
    override_usage = "metatok diff --model MODEL [OPTIONS] [FILE]...",
    after_help = "Example: metatok diff --model my.toml chats.jsonl",
    after_long_help = "A conversation that only one of the models refuses differs. One that both refuse is not compared.

Exit codes: 0 all prompts are the same, 1 some differ, 2 nothing could be compared, or the comparison failed.

Examples:
  metatok diff --model qwen3               the model and its chat template
  metatok diff -m my.toml -t ./folder      with the folder's chat template
  metatok diff -m my.toml --with qwen3 chats.jsonl
  metatok diff -m my.toml --json | jq .causes"
)]
pub(crate) struct DiffArgs {
    /// Conversations to compare
    ///
    /// `-` is standard input. If you name no file, metatok also reads piped input. Without any input, metatok generates
    /// conversations: with and without a system message, with one to four turns, with outer white space, empty contents,
    /// thoughts and markup.
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) inputs: Vec<PathBuf>,

    /// Built-in model, model file, or repository
    #[arg(short, long, value_name = "FILE|NAME|REPO", add = complete::models())]
    pub(crate) model: String,

    /// Tokenizer for both, if not the model's own
    #[arg(short, long, value_name = "DIR|FILE|REPO", add = complete::models())]
    pub(crate) tokenizer: Option<String>,

    /// Compare with this, not with the tokenizer's chat template
    ///
    /// Another model, or a Jinja file.
    #[arg(long, value_name = "FILE|NAME|REPO", add = complete::models())]
    pub(crate) with: Option<String>,

    /// Prompts to continue (gen) or texts to score (ppl)
    #[arg(long, value_parser = mode(), value_name = "gen|ppl", default_value = "gen", hide_possible_values = true, help_heading = heading::PROMPT)]
    pub(crate) mode: Mode,

    /// Whether contents may write control tokens
    #[arg(long, value_parser = content(), default_value = "data", value_name = "data|trusted", hide_possible_values = true, help_heading = heading::PROMPT)]
    pub(crate) content: ContentTrust,

    /// Format of a conversation
    ///
    /// auto recognizes it by its keys.
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", default_value = "auto", help_heading = heading::INPUT, hide_possible_values = true)]
    pub(crate) input_format: InputFormat,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Print JSON
    #[arg(long, help_heading = heading::OUTPUT)]
    pub(crate) json: bool,
}
