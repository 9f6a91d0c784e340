//! The arguments of `metatok bench`.

use std::path::PathBuf;

use crate::cli::args::{ModelArgs, PromptArgs, ReadArgs, heading};

#[derive(clap::Args)]
#[command(
    next_help_heading = "Measurement",
    after_help = "Example: metatok bench --model qwen3 --tokenizer ./qwen3 -j 1 chats.jsonl",
    after_long_help = "Before anything is measured, the ids are compared with those of the joined string.

Examples:
  metatok bench
  metatok bench --model qwen3 --tokenizer ./qwen3 -j 1 chats.jsonl"
)]
pub(crate) struct BenchArgs {
    /// How long to measure each side
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pub(crate) seconds: f64,

    /// Read at most this many conversations
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub(crate) limit: usize,

    /// Conversations as JSON lines
    ///
    /// Standard input is -, and is also read when no file is named and something is piped in. Without any input, the
    /// demo's own conversations are used.
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) prompts: PromptArgs,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Threads to use
    ///
    /// Default: one per core.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = heading::GENERAL)]
    pub(crate) threads: Option<u16>,
}
