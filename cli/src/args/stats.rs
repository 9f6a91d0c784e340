//! The arguments of `metatok stats`.

use std::path::PathBuf;

use crate::args::{ReadArgs, at_least_one, heading};

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    after_help = "Examples:
  metatok build -m qwen3 chats.jsonl | metatok stats
  metatok stats --max-seq-len 4096 prompts/*.jsonl",
    after_long_help = "A line of input is what `metatok build` writes for a prompt: input_ids or prompt, and how many tokens its answer may have, if \
it says so. A file of output is a dataset, by its name.

Examples:
  metatok build -m qwen3 chats.jsonl | metatok stats
  metatok stats --max-seq-len 4096 prompts/*.jsonl
  metatok stats --json prompts/*.jsonl | jq -s 'max_by(.max)'"
)]
pub(crate) struct StatsArgs {
    /// Prompts, as `metatok build` writes them; each file is a dataset
    ///
    /// Standard input is -, and is also read when no file is named and something is piped in.
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) inputs: Vec<PathBuf>,

    /// Say how many prompts do not fit in a context of N tokens
    ///
    /// With the tokens of an answer that the prompt states, or else those of --max-out-len.
    #[arg(long, value_name = "N", value_parser = at_least_one(), help_heading = heading::LENGTH)]
    pub(crate) max_seq_len: Option<usize>,

    /// Tokens that an answer may have where its prompt says nothing
    #[arg(long, value_name = "N", requires = "max_seq_len", help_heading = heading::LENGTH)]
    pub(crate) max_out_len: Option<usize>,

    /// Print a JSON object for each dataset
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) read: ReadArgs,
}
