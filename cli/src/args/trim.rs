//! The arguments of `metatok trim`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::args::{ModelArgs, ReadArgs, RejectArgs, RunIdArgs, StopArgs, heading, output_file, threads};

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    after_help = "Example: metatok trim --model qwen3 answers.jsonl",
    after_long_help = "A line of input is an answer in the format of vLLM, SGLang, llama.cpp or OpenAI's batch API, or {\"id\": 0, \"token_ids\": […]} \
with the generated ids, or {\"id\": 0, \"text\": \"…\"}. It may also have the prompt's input_ids, if the engine repeats them before \
the answer, and the engine's text and finish_reason. A line of output has the answer up to the stop; tail has the rest.

Exit codes: 0 success, 1 a line is wrong, has an error in place of an answer, or --validate finds a problem, 2 any other error.

Examples:
  metatok trim --model qwen3 answers.jsonl
  metatok trim --model qwen3 --requests requests.jsonl answers.jsonl
  metatok trim --model llama-3 --explain answers.jsonl | head -1
  metatok trim -m llama-3 --validate --stop 'User:' answers.jsonl"
)]
pub(crate) struct TrimArgs {
    /// Write to a file instead of standard output
    ///
    /// The file appears only when it is complete.
    #[arg(short, long, value_name = "FILE", value_parser = output_file())]
    pub(crate) output: Option<PathBuf>,

    /// Show what stops each answer, and which source declares that stop
    #[arg(long)]
    pub(crate) explain: bool,

    /// Compare with what the engine reports
    ///
    /// This finds an eos or stop string left in the text, tokens after a stop, a reported stop that is not there, an eos
    /// that no source declares, and text that is not what the ids decode to.
    #[arg(long)]
    pub(crate) validate: bool,

    /// Keep the stop itself
    #[arg(long)]
    pub(crate) include_stop: bool,

    /// Keep special tokens in the text
    ///
    /// Some models write tool calls with special tokens, such as [TOOL_CALLS]. This works only for answers with ids.
    #[arg(long)]
    pub(crate) keep_special_tokens: bool,

    /// Give each answer the id of its request
    ///
    /// FILE has one request per answer, in the same order. Errors count as answers, and so do lines of JSON that --on-error
    /// reject skips; after a line that is not JSON, no request can be told. Many servers do not return the id of a request,
    /// and none returns its columns (--keep); metatok takes both from FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) requests: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) run_id: RunIdArgs,

    #[command(flatten)]
    pub(crate) errors: RejectArgs,

    /// Engine output as JSON lines
    ///
    /// `-` is standard input. If you name no file, metatok also reads piped input.
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) stop: StopArgs,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Threads to use
    ///
    /// Default: one per core, which is also the maximum. The output does not depend on the number of threads.
    #[arg(short = 'j', long, value_name = "N", value_parser = threads(), help_heading = heading::GENERAL)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Print nothing but errors
    #[arg(short, long, help_heading = heading::GENERAL)]
    pub(crate) quiet: bool,
}
