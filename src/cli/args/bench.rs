//! The arguments of `metatok bench`.

use std::path::PathBuf;

use crate::cli::args::{ModelArgs, ReadArgs, TemplateArgs, at_least_one};

#[derive(clap::Args)]
#[command(after_help = "Equality of the ids with those of the joined string is checked first.

Examples:
  metatok bench
  metatok bench --model qwen3 --tokenizer ./qwen3 -j 1 chats.jsonl")]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) template: TemplateArgs,

    /// Conversations as JSON lines; - is standard input. Without any, the demo's own.
    #[arg(value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Threads. Default: one per core.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// How long to measure each side, in seconds.
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) seconds: f64,

    /// Read at most this many conversations.
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = at_least_one())]
    pub(crate) limit: usize,
}

/// A time that can be waited for.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("write a number of seconds from 0.001 to 3600".to_owned()),
    }
}
