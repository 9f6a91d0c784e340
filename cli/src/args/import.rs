//! The arguments of `metatok import`.

use crate::args::{complete, heading};

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::MODEL,
    override_usage = "metatok import [OPTIONS] <DIR|REPO|FILE>",
    after_help = "metatok prints the model file. A comment in it says what was compared and where it differs.

Examples:
  metatok import Qwen/Qwen3-8B > qwen3.toml
  metatok import ./folder > model.toml
  metatok import template.jinja --tokenizer ./folder > model.toml"
)]
pub(crate) struct ImportArgs {
    /// Tokenizer with a chat template, or a Jinja file
    ///
    /// A directory, a built-in model, or a repository of the Hugging Face Hub. A Jinja file needs --tokenizer.
    #[arg(value_name = "DIR|REPO|FILE", help_heading = heading::ARGUMENTS, add = complete::models())]
    pub(crate) template: String,

    /// Tokenizer for a Jinja file
    #[arg(short, long, value_name = "DIR|FILE|REPO", add = complete::models())]
    pub(crate) tokenizer: Option<String>,
}
