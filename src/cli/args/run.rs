//! The arguments of `metatok run`.

use std::path::PathBuf;

use crate::cli::args::{InputArgs, ModelArgs, OnError, PromptArgs, positive, truncation};
use crate::truncate::Truncation;

#[derive(clap::Args)]
#[command(
    after_help = "Input is as for `build`. A line of output is as `trim` writes it: id, turn, token_ids, text, finish_reason, the stop at \
which it ends, and the ids from there on. An answer has at most --max-out-len tokens, or as many as its row says, or 512.

With --output, answers are in FILE.partial as soon as each is complete, and in FILE, in the order of the input, when \
all are. A run that was cut off is resumed with the same arguments and --resume: the file has the same bytes then.

Exit codes: 0 fine, 1 some rows were rejected or one stopped the run, 2 anything else.

Examples:
  metatok run                                       the demo's questions, answered
  metatok run --stream chats.jsonl > /dev/null      watch the answers grow
  metatok run --model qwen2.5 --tokenizer ./Qwen2.5-0.5B -o answers.jsonl chats.jsonl
  metatok run --model qwen2.5 --tokenizer ./Qwen2.5-0.5B -o answers.jsonl --resume chats.jsonl
  metatok run --dataset mt.toml --infer-mode every --temperature 0.7 --top-p 0.9 rows.jsonl"
)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) prompts: PromptArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// The model's weights: a folder with config.json and safetensors files, or a repository of the hub. Default: where
    /// the tokenizer is.
    #[arg(short, long, value_name = "DIR|REPO")]
    pub(crate) weights: Option<String>,

    /// Where to compute: cpu, or cuda:N.
    #[arg(long, default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: String,

    /// How many lines of input are answered side by side.
    #[arg(long, value_name = "N", default_value = "16", value_parser = positive)]
    pub(crate) batch_size: std::num::NonZeroUsize,

    /// Draw tokens, from logits that are divided by this; at 0 the likeliest is taken.
    #[arg(long, value_name = "T", default_value_t = 0.0, allow_negative_numbers = true)]
    pub(crate) temperature: f64,

    /// Draw only from the likeliest tokens whose probabilities come to this.
    #[arg(long, value_name = "P", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) top_p: f64,

    /// What is drawn depends on this, and on the line's number.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// What goes where a prompt is too long for --max-seq-len, or for the model's context; see `build`.
    #[arg(long, value_parser = truncation(), value_name = "WHAT", default_value = "refuse")]
    pub(crate) truncate: Truncation,

    /// Take the model's thoughts, up to `</think>`, out of its answers before they go into later turns.
    #[arg(long, requires = "dataset")]
    pub(crate) strip_thoughts: bool,

    /// Show the answers on standard error while they grow, one after the other.
    #[arg(long, conflicts_with = "batch_size")]
    pub(crate) stream: bool,

    /// Write here instead of to standard output. The file appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Go on with a run to --output that was cut off.
    #[arg(long, requires = "output")]
    pub(crate) resume: bool,

    /// What to do about a line that gives no prompt: stop there, or write its error in place of an answer and go on.
    #[arg(long, value_enum, default_value = "stop", value_name = "HOW")]
    pub(crate) on_error: OnError,

    /// Say nothing but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
