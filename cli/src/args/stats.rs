//! The arguments of `metatok stats`.

use std::path::PathBuf;

use crate::args::{ReadArgs, at_least_one, heading};

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    after_help = "Examples:
  metatok build -m qwen3 chats.jsonl | metatok stats
  metatok stats --max-seq-len 4096 prompts/*.jsonl",
    after_long_help = "A line of input has the format that `metatok build` writes: input_ids or prompt, and optionally the maximum length of the \
answer. Each file is a dataset, named after the file.

Examples:
  metatok build -m qwen3 chats.jsonl | metatok stats
  metatok stats --max-seq-len 4096 prompts/*.jsonl
  metatok stats --json prompts/*.jsonl | jq -s 'max_by(.max)'"
)]
pub(crate) struct StatsArgs {
    /// Prompts, as `metatok build` writes them; each file is a dataset
    ///
    /// `-` is standard input. If you name no file, metatok also reads piped input.
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) inputs: Vec<PathBuf>,

    /// Count the prompts that do not fit in a context of N tokens
    ///
    /// The tokens of the answer count too: the prompt's own limit, or else --max-out-len.
    #[arg(long, value_name = "N", value_parser = at_least_one(), help_heading = heading::LENGTH)]
    pub(crate) max_seq_len: Option<usize>,

    /// Length of an answer whose prompt has no limit, in tokens
    #[arg(long, value_name = "N", requires = "max_seq_len", help_heading = heading::LENGTH)]
    pub(crate) max_out_len: Option<usize>,

    /// Print a JSON object for each dataset
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) read: ReadArgs,
}
