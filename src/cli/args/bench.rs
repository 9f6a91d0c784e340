//! The arguments of `metatok bench`.

use std::path::PathBuf;

use crate::cli::args::{ModelArgs, PromptArgs, ReadArgs, input_format};
use crate::dataset::InputFormat;

#[derive(clap::Args)]
#[command(after_help = "Equality of the ids with those of the joined string is checked first.

Examples:
  metatok bench
  metatok bench --model qwen3 --tokenizer ./qwen3 -j 1 chats.jsonl")]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) prompts: PromptArgs,

    /// Conversations as JSON lines; - is standard input. Without any, the demo's own.
    #[arg(value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Threads. Default: one per core.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,

    /// How a conversation is written down; auto looks at the keys of each.
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", default_value = "auto")]
    pub(crate) input_format: InputFormat,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// How long to measure each side, in seconds.
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pub(crate) seconds: f64,

    /// Read at most this many conversations.
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub(crate) limit: usize,
}
