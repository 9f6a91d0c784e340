//! The arguments of `metatok trim`.

use std::path::PathBuf;

use crate::cli::args::{ModelArgs, ReadArgs, StopArgs};

#[derive(clap::Args)]
#[command(
    after_help = "A line of input is {\"id\": 0, \"token_ids\": […]}, as an engine generated them, or {\"id\": 0, \"text\": \"…\"}; beside them \
input_ids, the prompt's, if it is given again before the answer, and for --validate text and finish_reason as the engine \
has them. A line of output has the same without what comes from the stop on, which is its tail.

Exit codes: 0 fine, 1 a line is none or --validate finds a problem, 2 anything else.

Examples:
  metatok trim --model qwen3 answers.jsonl
  metatok trim --model llama-3 --explain answers.jsonl | head -1
  metatok trim --model llama-3 --validate --stop $'\\nUser:' answers.jsonl > /dev/null"
)]
pub(crate) struct TrimArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) stop: StopArgs,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// What an engine gave, as JSON lines; - is standard input, which is read too where no file is named and something is piped in.
    #[arg(value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Say for each what stops it, and who asks for that.
    #[arg(long)]
    pub(crate) explain: bool,

    /// Compare with what the engine says: an eos or stop string in its text, tokens behind a stop, a stop that is
    /// none, an eos that nobody names.
    #[arg(long)]
    pub(crate) validate: bool,

    /// Leave the stop itself in.
    #[arg(long)]
    pub(crate) include_stop: bool,

    /// Write here instead of to standard output. The file appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Say nothing but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
