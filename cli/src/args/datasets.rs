//! The arguments of `metatok datasets`.

use crate::args::{complete, heading};

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    after_help = "Examples:
  metatok datasets                        list them
  metatok datasets gsm8k > mine.toml      a file to start from
  metatok build --model qwen3 --dataset gsm8k --train train.jsonl test.jsonl"
)]
pub(crate) struct DatasetsArgs {
    /// A built-in dataset file
    #[arg(value_name = "NAME", help_heading = heading::ARGUMENTS, add = complete::datasets())]
    pub(crate) name: Option<String>,

    /// Print a JSON list of all, with name and about
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
}
