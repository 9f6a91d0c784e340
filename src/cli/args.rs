//! The program's arguments.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};

#[cfg(feature = "arrays")]
use crate::batch::PaddingSide;
use crate::error::Error;
use crate::truncate::Truncation;

/// Turns conversations into token ids for local inference engines.
#[derive(Parser)]
#[command(name = "metatok", version, about, long_about = None, after_help = "Examples:
  metatok build                                     the demo's conversations, as token ids
  metatok build --model qwen3 chats.jsonl           a built-in template, its tokenizer from the hub
  metatok build --model my.toml --tokenizer dir/ chats.jsonl -o ids.jsonl
  metatok bench --model my.toml chats.jsonl         how fast, beside joining and encoding
  metatok view --model qwen3 chats.jsonl            the first prompt, token by token
  metatok check --model my.toml                     what is likely to be wrong
  metatok trim --model qwen3 answers.jsonl          answers, cut where they should have ended
  metatok run                                       the demo's questions, answered (feature candle)
  metatok models                                    the built-in models

Exit codes: 0 fine, 1 some rows were rejected or one stopped the run, 2 anything else.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Build prompts: conversations in, token ids out, both as JSON lines.
    Build(BuildArgs),
    /// Measure building your prompts beside joining strings and encoding them.
    Bench(BenchArgs),
    /// Show a prompt exactly as the model gets it.
    View(ViewArgs),
    /// Find what is likely to be wrong with a model file, its tokenizer, or conversations.
    Check(CheckArgs),
    /// List the built-in models and conversation templates, or print one as a file to start from.
    Models(ModelsArgs),
    /// Cut what an engine gave to where it should have ended, and say why.
    Trim(TrimArgs),
    /// Answer prompts with an engine in this process: build, generate, trim. Needs the feature `candle`.
    Run(RunArgs),
    /// Turn a conversation template into a model file with a meta template.
    Convert(ConvertArgs),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// What every command needs that builds prompts.
#[derive(clap::Args)]
pub(crate) struct ModelArgs {
    /// Model file (TOML or JSON), a built-in model (`metatok models` lists them), or a repository of the
    /// hub that a built-in model claims.
    #[arg(short, long, default_value = "demo", value_name = "FILE|NAME|REPO")]
    pub(crate) model: String,

    /// Conversation template (FastChat's or UltraFeedback's) instead of the model's template: a file, or a
    /// built-in one (`metatok models` lists them). Of the model only the tokenizer counts then.
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) conversation: Option<String>,

    /// Tokenizer, instead of the model's own: a directory, a tokenizer.json, a built-in model, or a
    /// repository of the hub (org/name or org/name@revision).
    #[arg(short, long, value_name = "DIR|FILE|REPO")]
    pub(crate) tokenizer: Option<String>,

    /// Build prompts to continue (gen), or texts to score (ppl). Default: gen, or what the dataset's
    /// inferencer does.
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArg>,

    /// Special tokens that the tokenizer adds by itself: not doubled (auto), as Hugging Face does
    /// (always), or never. Default: the model file's, or auto.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) special_tokens: Option<SpecialTokensArg>,

    /// Whether content may write control tokens: it is data, or trusted like the template.
    #[arg(long, value_enum, default_value = "data")]
    pub(crate) content: ContentArg,

    /// A token that content must not produce either, such as `<think>`. May be repeated.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) reserve: Vec<String>,

    /// A further stop id. May be repeated.
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    pub(crate) stop_id: Vec<i64>,

    /// A further stop string. May be repeated.
    #[arg(long, value_name = "TEXT")]
    pub(crate) stop: Vec<String>,

    /// Let fallback_role count inside rounds, as OpenCompass does for API models only.
    #[arg(long)]
    pub(crate) round_fallback: bool,

    /// Threads. Default: one per core.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,

    /// Longest line to read, in bytes.
    #[arg(long, value_name = "N", default_value_t = 64 << 20)]
    pub(crate) max_line_bytes: usize,
}

/// What prompts are made of: conversations, or rows and how they become prompts.
#[derive(clap::Args)]
pub(crate) struct InputArgs {
    /// Conversations as JSON lines, or with --dataset rows, as JSON lines, CSV, TSV or Parquet; - is standard
    /// input, and hf://datasets/ORG/NAME/PATH a file of the hub. Without any, the demo's own conversations
    /// (`check`: none).
    #[arg(value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// A dataset file (TOML or JSON with OpenCompass's reader_cfg and infer_cfg): the input is rows.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) dataset: Option<PathBuf>,

    /// The rows that in-context examples come from.
    #[arg(long, value_name = "FILE", requires = "dataset")]
    pub(crate) train: Option<PathBuf>,

    /// How many tokens the model's context has. Of rows, examples go from the end until a prompt fits, unless
    /// `build --truncate` says what goes, as it does for conversations.
    #[arg(long, value_name = "N")]
    pub(crate) max_seq_len: Option<usize>,

    /// How many tokens an answer may have, where its row does not say: room for them is left within --max-seq-len, and
    /// engines are told.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_out_len: usize,

    /// Which turns of a chat are asked for, instead of what the dataset says: every_with_gt and last put
    /// its answers into the turns before; every needs the model's own.
    #[arg(long, value_enum, value_name = "MODE", requires = "dataset")]
    pub(crate) infer_mode: Option<InferModeArg>,

    /// Lose silently what AISBench loses, instead of refusing it: text outside the tags of a multimodal
    /// content, parts beside a prompt or where a model takes text, examples without a place.
    #[arg(long, requires = "dataset")]
    pub(crate) compat: bool,

    /// Take rows as Hugging Face `datasets` gives them to the references: the columns of the first row,
    /// missing ones None, numbers of one kind, and the columns subdivision and idx. Reads all rows first.
    #[arg(long, requires = "dataset")]
    pub(crate) arrow_compat: bool,

    /// Refuse rows that lack a column which the template names, instead of warning.
    #[arg(long, requires = "dataset")]
    pub(crate) strict: bool,
}

/// What a model said already, in the turns of a dialogue.
#[derive(clap::Args)]
pub(crate) struct AnswersArgs {
    /// The model's answers to earlier turns, for --infer-mode every: JSON lines of id and turn, as the prompts
    /// have them, with token_ids, text, or an error. Each dialogue is built up to its first turn without one.
    #[arg(long, value_name = "FILE", requires = "dataset")]
    pub(crate) answers: Option<PathBuf>,

    /// Take the model's thoughts, up to `</think>`, out of the answers.
    #[arg(long, requires = "answers")]
    pub(crate) strip_thoughts: bool,
}

#[derive(clap::Args)]
#[command(after_help = "A line of input is one of
  {\"messages\": [{\"role\": \"user\", \"content\": \"Hi!\"}]}        OpenAI-style messages
  {\"id\": 7, \"prompt\": [{\"section\": \"round\", …}, …]}          an OpenCompass PromptList
  {\"prompt\": \"Once upon a time\"}                             a string, which no template touches

With --dataset it is a row, such as {\"question\": \"1+1=?\", \"answer\": \"2\"}.

A line of output has id (the input's, or its number from 0), input_ids, stop_token_ids and stop; a text to \
score has its label too, a turn of a chat its number, and what chooses among answers their choice_ids.

Examples:
  metatok build | head -1
  metatok build --model qwen3 --tokenizer ./qwen3 --text --spans chats.jsonl
  metatok build --conversation vicuna --tokenizer ./llama chats.jsonl
  metatok build --dataset gsm8k.toml --train train.jsonl --model llama-3 test.jsonl
  metatok build --dataset mt.toml --infer-mode every --answers answers.jsonl rows.jsonl
  metatok build --model llama-3 --mode ppl -o ids.jsonl chats.jsonl
  metatok build --model qwen3 --format vllm-batch --served-model qwen chats.jsonl > batch.jsonl
  metatok build --dataset mmlu.toml --format messages hf://datasets/cais/mmlu/all/test.parquet
  cat chats.jsonl | metatok build --on-error reject --rejects bad.jsonl - > ids.jsonl")]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) answers: AnswersArgs,

    /// What is written for each prompt.
    #[arg(long, value_enum, default_value = "ids", value_name = "FORM")]
    pub(crate) format: Format,

    /// The model's name at the server, for --format vllm and vllm-batch.
    #[arg(long, value_name = "NAME")]
    pub(crate) served_model: Option<String>,

    /// Write here instead of to standard output. The file appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Add the prompt's text.
    #[arg(long)]
    pub(crate) text: bool,

    /// Add where each token comes from. Needs the slower tokenizer library.
    #[arg(long)]
    pub(crate) spans: bool,

    /// Add labels to texts to score: the ids of what is scored, and -100 for the context. Where there is
    /// one, this needs the slower tokenizer library.
    #[arg(long)]
    pub(crate) labels: bool,

    /// Add the attention mask, all ones.
    #[arg(long)]
    pub(crate) attention_mask: bool,

    /// What goes where a prompt is too long for --max-seq-len: nothing, tokens of what is said (never control tokens,
    /// the template, or what stands for images), examples, or whole turns. The record says what went.
    #[arg(long, value_parser = truncation(), value_name = "WHAT", requires = "max_seq_len")]
    pub(crate) truncate: Option<Truncation>,

    /// On which side arrays are padded.
    #[cfg(feature = "arrays")]
    #[arg(long, value_parser = padding_side(), default_value = "left", value_name = "SIDE")]
    pub(crate) padding_side: PaddingSide,

    /// Pad arrays to a length that is a multiple of this.
    #[cfg(feature = "arrays")]
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) pad_to_multiple_of: std::num::NonZeroUsize,

    /// Write beside each prompt what its ids depend on: hashes of the template and the tokenizer, metatok's version, the
    /// options. `check --against` looks whether it is still the same.
    #[arg(long)]
    pub(crate) fingerprint: bool,

    /// Refuse prompts with an image, audio or video whose file is not here. Nothing is opened.
    #[arg(long)]
    pub(crate) check_files: bool,

    /// What to do about a line that gives no prompt: stop there, or write it to --rejects and go on.
    #[arg(long, value_enum, default_value = "stop", value_name = "HOW")]
    pub(crate) on_error: OnError,

    /// Where rejected lines go, with their errors. Default: rejects.jsonl, or beside --output.
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,

    /// Say nothing but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Equality of the ids with those of the joined string is checked first.

Examples:
  metatok bench
  metatok bench --model qwen3 --tokenizer ./qwen3 -j 1 chats.jsonl")]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// Conversations as JSON lines; - is standard input. Without any, the demo's own.
    #[arg(value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// How long to measure each side, in seconds.
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pub(crate) seconds: f64,

    /// Read at most this many conversations.
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub(crate) limit: usize,
}

#[derive(clap::Args)]
#[command(
    after_help = "Each row is one piece of the template, or content; each token has its own shade. Without colours (NO_COLOR, or no \
terminal), bars stand between tokens and brackets around control tokens. Signs: · space, ↵ line end, ⇥ tab, \
<E4> a byte of a character that the token does not hold whole.

Examples:
  metatok view                                      the demo's first conversation
  metatok view --model llama-3 --ids chats.jsonl --prompt 2
  metatok view --html prompt.html --mode ppl chats.jsonl
  metatok view --dataset mmlu.toml --train dev.jsonl --label B test.jsonl
  metatok view --dataset mt.toml --infer-mode every_with_gt --turn 2 rows.jsonl
  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi!\"}]}' | metatok view --model qwen3 -"
)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) answers: AnswersArgs,

    /// Which one, counted from 0 over all files.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 0)]
    pub(crate) prompt: usize,

    /// Which label's text, where the dataset scores one for each. Default: the first.
    #[arg(long, value_name = "LABEL", requires = "dataset")]
    pub(crate) label: Option<String>,

    /// Which turn's prompt, counted from 0, where the dataset asks turn by turn. Default: the first.
    #[arg(long, value_name = "N", requires = "dataset", conflicts_with = "label")]
    pub(crate) turn: Option<usize>,

    /// Show each token's id below it.
    #[arg(long)]
    pub(crate) ids: bool,

    /// Write a page for the browser; - is standard output.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "ids"])]
    pub(crate) html: Option<PathBuf>,

    /// Print JSON.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 nothing denied, 1 something is (errors always are), 2 the check could not be made.

Examples:
  metatok check --model my.toml --tokenizer ./tokenizer
  metatok check --model llama-3 --deny warnings chats.jsonl
  metatok check --dataset mmlu.toml --train dev.jsonl test.jsonl
  metatok check --model my.toml --json | jq '.[].code'
  metatok check --list                    what every code means"
)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Fail on this too: a code, `warnings`, or `all`. May be repeated.
    #[arg(long, value_name = "CODE")]
    pub(crate) deny: Vec<String>,

    /// Leave out what this code finds; `allow` in the model file does the same. May be repeated.
    #[arg(long, value_name = "CODE")]
    pub(crate) allow: Vec<String>,

    /// Print a JSON list.
    #[arg(long)]
    pub(crate) json: bool,

    /// Explain every code, and check nothing.
    #[arg(long)]
    pub(crate) list: bool,

    /// Instead of looking for mistakes, look whether this file of `build --fingerprint` is what would be built now, with
    /// the model, tokenizer, dataset and options as they are given here.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inputs", "deny", "allow", "json", "list"])]
    pub(crate) against: Option<PathBuf>,

    /// With --against: what `build` was told to let go.
    #[arg(long, value_parser = truncation(), value_name = "WHAT", requires_all = ["against", "max_seq_len"])]
    pub(crate) truncate: Option<Truncation>,
}

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
    pub(crate) input: InputArgs,

    /// The model's weights: a folder with config.json and safetensors files, or a repository of the hub. Default: where
    /// the tokenizer is.
    #[arg(short, long, value_name = "DIR|REPO")]
    pub(crate) weights: Option<String>,

    /// Where to compute: cpu, or cuda:N.
    #[arg(long, default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: String,

    /// How many lines of input are answered side by side.
    #[arg(long, value_name = "N", default_value = "16")]
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

    /// What an engine gave, as JSON lines; - is standard input.
    #[arg(value_name = "FILE", required = true)]
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

#[derive(clap::Args)]
#[command(after_help = "Examples:
  metatok models                          what there is
  metatok models llama-3 > mine.toml      a file to start from
  metatok models Qwen/Qwen3-8B            the template that claims a repository
  metatok models fastchat/zephyr          a conversation template
  metatok models --json | jq '.[].name'")]
pub(crate) struct ModelsArgs {
    /// A built-in model, a repository of the hub that one claims, or a conversation template.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Print JSON: a list of all, or the one as a model file.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Styles that a meta template cannot express are refused, with the reason.

Examples:
  metatok convert vicuna_v1.1 > vicuna.toml
  metatok convert template.json --to conversation > template.toml")]
pub(crate) struct ConvertArgs {
    /// A conversation template: a file (TOML or JSON), or a built-in one.
    #[arg(value_name = "FILE|NAME")]
    pub(crate) template: String,

    /// What to write: a model file with a meta template, or the conversation template itself.
    #[arg(long, value_enum, default_value = "meta", value_name = "FORM")]
    pub(crate) to: ConvertTo,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ConvertTo {
    Meta,
    Conversation,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ModeArg {
    #[value(alias = "generate")]
    Gen,
    #[value(alias = "score")]
    Ppl,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum InferModeArg {
    Every,
    EveryWithGt,
    Last,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Token ids with all that is known of a prompt.
    Ids,
    /// OpenAI-style messages, for a server that has the template itself.
    Messages,
    /// Bodies of vLLM's /v1/completions.
    Vllm,
    /// The file that `vllm run-batch` reads.
    VllmBatch,
    /// Bodies of SGLang's /generate.
    Sglang,
    /// Bodies of llama.cpp's /completion.
    LlamaCpp,
    /// One file of NumPy arrays: input_ids and attention_mask, padded.
    #[cfg(feature = "arrays")]
    Npz,
    /// The same arrays one behind the other in a plain NumPy file.
    #[cfg(feature = "arrays")]
    Npy,
    /// The same arrays as safetensors.
    #[cfg(feature = "arrays")]
    Safetensors,
    /// One table, a row for each prompt, as Arrow's IPC file.
    #[cfg(feature = "arrow")]
    Arrow,
    /// The same table as Parquet.
    #[cfg(feature = "arrow")]
    Parquet,
}

#[cfg(feature = "arrays")]
fn padding_side() -> impl TypedValueParser<Value = PaddingSide> {
    named([("left", "Before the prompts, so that all end where the model goes on"), ("right", "Behind them")])
}

fn truncation() -> impl TypedValueParser<Value = Truncation> {
    named([
        ("refuse", "Nothing: such a prompt is an error"),
        ("left", "The first tokens"),
        ("right", "The last tokens"),
        ("middle", "The tokens in the middle"),
        ("last-examples", "In-context examples, the last first"),
        ("first-examples", "In-context examples, the first first"),
        ("oldest-turns", "Turns, the oldest first; the system message and the last question stay"),
    ])
}

/// One of these names, as the library reads them.
fn named<T, const N: usize>(names: [(&'static str, &'static str); N]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = Error> + Clone + Send + Sync + 'static,
{
    let names = names.map(|(name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SpecialTokensArg {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ContentArg {
    Data,
    Trusted,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    Stop,
    Reject,
}
