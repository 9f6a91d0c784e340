//! The arguments of `metatok run`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;

use crate::args::{
    InputArgs, ModelArgs, OnError, PromptArgs, RequestArgs, ServerArgs, heading, output_file, positive, truncation,
};
use metatok::truncate::Truncation;

#[derive(clap::Args)]
#[command(
    next_help_heading = "Engine",
    after_help = "Example: metatok run -m qwen2.5 -t ./Qwen2.5-0.5B -o answers.jsonl chats.jsonl",
    after_long_help = "Input is the same as for `build`. A line of output has the same format as for `trim`: id, turn, token_ids, text, \
finish_reason, the stop that ends it, and the ids from there on. An answer has at most --max-out-len tokens, or its row's own \
limit, or 512.

With --url, a server answers, and --engine names its kind. metatok first compares the server's tokenizer with the model's.

With --output, each answer is written to FILE.partial as soon as it is complete. When all are complete, FILE appears, in the \
order of the input. To resume an interrupted run, add --resume to the same arguments; FILE is then the same byte for byte.

Exit codes: 0 success, 1 a row was rejected or failed, or a bad row stopped the run, 2 any other error.

Examples:
  metatok run                                  the demo's questions, answered
  metatok run -m demo --stream chats.jsonl     watch the answers grow
  metatok run -m qwen2.5 -t ./Qwen2.5-0.5B -o answers.jsonl chats.jsonl
  metatok run -m qwen2.5 -t ./Qwen2.5-0.5B -o answers.jsonl --resume chats.jsonl
  metatok run -m qwen2.5 -d mt.toml --temperature 0.7 rows.jsonl
  metatok run -m qwen3 --url http://127.0.0.1:8000 --engine vllm chats.jsonl"
)]
pub(crate) struct RunArgs {
    /// The model's weights, if not where the tokenizer is
    ///
    /// A folder with config.json and safetensors files, or a repository of the Hugging Face Hub.
    #[arg(short, long, value_name = "DIR|REPO", value_parser = NonEmptyStringValueParser::new(), value_hint = clap::ValueHint::DirPath)]
    pub(crate) weights: Option<String>,

    /// Sample as the model's generation_config.json says
    ///
    /// This sets the temperature, top-p, top-k and the repetition penalty. Options and the dataset override these values.
    #[arg(long, conflicts_with = "url", hide_short_help = true)]
    pub(crate) generation_config: bool,

    /// Device to run on: cpu, cuda, or cuda:N
    #[arg(long, default_value = "cpu", value_name = "DEVICE", hide_short_help = true)]
    pub(crate) device: String,

    /// How many lines of input to answer at the same time
    #[arg(long, value_name = "N", default_value = "16", value_parser = positive, hide_short_help = true)]
    pub(crate) batch_size: std::num::NonZeroUsize,

    #[command(flatten)]
    pub(crate) request: RequestArgs,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    /// Write to a file instead of standard output
    ///
    /// The file appears only when it is complete.
    #[arg(short, long, value_name = "FILE", value_parser = output_file(), help_heading = heading::OUTPUT)]
    pub(crate) output: Option<PathBuf>,

    /// Continue an interrupted run to --output
    #[arg(long, requires = "output", help_heading = heading::OUTPUT)]
    pub(crate) resume: bool,

    /// Print the answers as they grow
    ///
    /// Answers go to standard error, one after another.
    #[arg(long, conflicts_with = "batch_size", help_heading = heading::OUTPUT)]
    pub(crate) stream: bool,

    /// Stop at a bad line, or write its error and continue
    ///
    /// The error is written in place of an answer.
    #[arg(long, value_enum, default_value = "stop", value_name = "stop|reject", hide_possible_values = true, help_heading = heading::ERRORS)]
    pub(crate) on_error: OnError,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// What to drop if a prompt is too long
    ///
    /// Also works for conversations. For rows, this replaces the default of dropping in-context examples. It applies to
    /// prompts that are too long for --max-seq-len or for the model's context; see `build`.
    #[arg(long, value_parser = truncation(), value_name = "WHAT", help_heading = heading::LENGTH)]
    pub(crate) truncate: Option<Truncation>,

    #[command(flatten)]
    pub(crate) prompts: PromptArgs,

    /// Print nothing but errors
    #[arg(short, long, help_heading = heading::GENERAL)]
    pub(crate) quiet: bool,
}
