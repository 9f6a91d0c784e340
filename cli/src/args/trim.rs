//! The arguments of `metatok trim`.

use std::path::PathBuf;

use crate::args::{ModelArgs, ReadArgs, StopArgs, heading, output_file};

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    after_help = "Example: metatok trim --model qwen3 answers.jsonl",
    after_long_help = "A line of input is {\"id\": 0, \"token_ids\": […]}, as an engine generated them, or {\"id\": 0, \"text\": \"…\"}. It may also have \
the prompt's input_ids, where the engine repeats them before the answer, and for --validate text and finish_reason as \
the engine gave them. A line of output has the same up to the stop; what comes from there on is its tail.

Exit codes: 0 fine, 1 a line is wrong or --validate finds a problem, 2 anything else.

Examples:
  metatok trim --model qwen3 answers.jsonl
  metatok trim --model llama-3 --explain answers.jsonl | head -1
  metatok trim -m llama-3 --validate --stop 'User:' answers.jsonl"
)]
pub(crate) struct TrimArgs {
    /// Write to a file instead of standard output
    ///
    /// The file appears when it is complete.
    #[arg(short, long, value_name = "FILE", value_parser = output_file())]
    pub(crate) output: Option<PathBuf>,

    /// Say what stops each answer, and who asks for that
    #[arg(long)]
    pub(crate) explain: bool,

    /// Compare with what the engine says
    ///
    /// It finds an eos or stop string left in the text, tokens after a stop, a stop that is none, and an eos that
    /// nobody names.
    #[arg(long)]
    pub(crate) validate: bool,

    /// Leave the stop itself in
    #[arg(long)]
    pub(crate) include_stop: bool,

    /// What an engine gave, as JSON lines
    ///
    /// Standard input is -, and is also read when no file is named and something is piped in.
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) stop: StopArgs,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Print nothing but errors
    #[arg(short, long, help_heading = heading::GENERAL)]
    pub(crate) quiet: bool,
}
