//! The arguments of `metatok bench`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::args::{ModelArgs, ReadArgs, TemplateArgs, at_least_one, heading, input_format, threads};
use metatok::dataset::records::InputFormat;

#[derive(clap::Args)]
#[command(
    next_help_heading = "Measurement",
    after_help = "Example: metatok bench --model qwen3 --tokenizer ./qwen3 -j 1 chats.jsonl",
    after_long_help = "First, the ids are compared with those that Hugging Face's `tokenizers` gives for the joined string. Every pass over the \
data begins with empty caches. MB/s counts the bytes of the joined strings. A ratio is the speed divided by that of joining and encoding.

Examples:
  metatok bench
  metatok bench --model qwen3 --tokenizer ./qwen3 -j 1 chats.jsonl"
)]
pub(crate) struct BenchArgs {
    /// Seconds per measurement
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) seconds: f64,

    /// Read at most this many conversations
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = at_least_one())]
    pub(crate) limit: usize,

    /// Print JSON
    #[arg(long, help_heading = heading::OUTPUT)]
    pub(crate) json: bool,

    /// Conversations as JSON lines
    ///
    /// `-` is standard input. If you name no file, metatok also reads piped input. Without any input, metatok uses
    /// the demo's conversations.
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) template: TemplateArgs,

    /// Format of a conversation
    ///
    /// auto recognizes it by its keys.
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", default_value = "auto", help_heading = heading::INPUT, hide_possible_values = true)]
    pub(crate) input_format: InputFormat,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Number of threads for the second measurement
    ///
    /// The first measurement uses one thread. Default: one per core, which is also the maximum.
    #[arg(short = 'j', long, value_name = "N", value_parser = threads(), help_heading = heading::GENERAL)]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// A duration from 1 ms to an hour.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("write a number of seconds from 0.001 to 3600".to_owned()),
    }
}
