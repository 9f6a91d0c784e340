//! The arguments of `metatok models`.

use crate::args::{complete, heading};

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    after_help = "Examples:
  metatok models                          list them
  metatok models llama-3 > mine.toml      a file to start from
  metatok models Qwen/Qwen3-8B            the template that claims a repository
  metatok models fastchat/zephyr          a conversation template
  metatok models --json | jq '.[].name'"
)]
pub(crate) struct ModelsArgs {
    /// Print this one: a model, a repository, or a conversation template
    ///
    /// For a Hub repository, it prints the built-in model that claims it.
    #[arg(value_name = "NAME", help_heading = heading::ARGUMENTS, add = complete::all_templates())]
    pub(crate) name: Option<String>,

    /// Print JSON: a list of all models, or the named one as a model file
    #[arg(long)]
    pub(crate) json: bool,
}
