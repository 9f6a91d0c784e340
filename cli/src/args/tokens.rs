//! The arguments of `metatok encode`, `decode` and `count`, which need a tokenizer but no template.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;

use crate::args::{ReadArgs, at_least_one, complete, content, heading, special_tokens};
use metatok::builder::ContentTrust;
use metatok::input::DEFAULT_MAX_LINE_BYTES;
use metatok::tokenizer::AddSpecialTokens;

#[derive(clap::Args)]
#[command(
    next_help_heading = "Text",
    override_usage = "metatok encode [OPTIONS] [TEXT]...",
    after_help = "Examples:
  metatok encode --tokenizer demo 'Hello!'
  metatok encode --model qwen3 --lines < questions.txt
  metatok encode --model qwen3 --content data '<|im_end|> is text here'"
)]
pub(crate) struct EncodeArgs {
    /// Texts; each gives a list of ids
    ///
    /// Without any, or with -, metatok reads standard input as one text, including its last newline.
    #[arg(value_name = "TEXT", help_heading = heading::ARGUMENTS)]
    pub(crate) texts: Vec<String>,

    /// Read each line of standard input as a text
    ///
    /// The newline is not part of the text.
    #[arg(long, conflicts_with = "texts")]
    pub(crate) lines: bool,

    /// Maximum length of a line of --lines, in bytes; the default is 64 MiB
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_LINE_BYTES, value_parser = at_least_one(), requires = "lines", conflicts_with = "texts", hide_short_help = true)]
    pub(crate) max_line_bytes: usize,

    #[command(flatten)]
    pub(crate) text: TextArgs,

    #[command(flatten)]
    pub(crate) tokenizer: TokenizerArgs,
}

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    override_usage = "metatok decode [OPTIONS] [ID]...",
    after_help = "Examples:
  metatok decode --tokenizer demo 1051 375 263
  metatok decode --model qwen3 '[151644, 872, 198]'
  metatok encode -t demo --lines < questions.txt | metatok decode -t demo"
)]
pub(crate) struct DecodeArgs {
    /// Token ids: numbers, or a JSON list
    ///
    /// Without any, or with -, metatok reads them from standard input. Each line or JSON list becomes one text; a blank
    /// line becomes an empty text.
    #[arg(value_name = "ID", help_heading = heading::ARGUMENTS, allow_negative_numbers = true)]
    pub(crate) ids: Vec<String>,

    /// Leave special tokens out
    ///
    /// These are the added tokens that the tokenizer's files flag as special.
    #[arg(long)]
    pub(crate) skip_special_tokens: bool,

    /// Print each text as a JSON string
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) tokenizer: TokenizerArgs,

    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

#[derive(clap::Args)]
#[command(
    override_usage = "metatok count [OPTIONS] [FILE]...",
    after_help = "For conversations, `metatok build` prints the count in its last line.

Examples:
  metatok count --tokenizer demo README.md
  metatok count --model qwen3 docs/*.md
  git diff | metatok count --model llama-3"
)]
pub(crate) struct CountArgs {
    /// Text files
    ///
    /// `-` is standard input, which is also read if you name no file. hf://datasets/ORG/NAME/PATH is a file of the Hugging Face
    /// Hub.
    #[arg(value_name = "FILE", help_heading = heading::ARGUMENTS)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) text: TextArgs,

    #[command(flatten)]
    pub(crate) tokenizer: TokenizerArgs,
}

/// The choice of the tokenizer.
#[derive(clap::Args)]
#[command(
    next_help_heading = heading::MODEL,
    group(clap::ArgGroup::new("whose").required(true).multiple(true).args(["model", "tokenizer"]))
)]
pub(crate) struct TokenizerArgs {
    /// Use the tokenizer of this model
    ///
    /// A built-in model (`metatok models` lists them), a model file, or a repository that a built-in model claims.
    #[arg(short, long, value_name = "FILE|NAME|REPO", value_parser = NonEmptyStringValueParser::new(), add = complete::models())]
    pub(crate) model: Option<String>,

    /// Use this tokenizer
    ///
    /// A directory, a file (tokenizer.json, tokenizer.model, tekken.json, tiktoken's or GGUF), a built-in model, or a repository
    /// of the Hugging Face Hub (org/name or
    /// org/name@revision).
    #[arg(short, long, value_name = "DIR|FILE|REPO", value_parser = NonEmptyStringValueParser::new(), add = complete::models())]
    pub(crate) tokenizer: Option<String>,
}

/// How a text is read.
#[derive(clap::Args)]
#[command(next_help_heading = "Text")]
pub(crate) struct TextArgs {
    /// Whether the text may write control tokens
    ///
    /// With trusted, `<|im_end|>` is the control token, as in a template. With data, it is ordinary text, as in the messages of
    /// `build`.
    #[arg(long, value_parser = content(), default_value = "trusted", value_name = "data|trusted", hide_possible_values = true)]
    pub(crate) content: ContentTrust,

    /// Add BOS and EOS: auto, always or never
    ///
    /// These are the special tokens that the tokenizer's post-processor puts around a text. auto adds
    /// them, unless the text already has them.
    #[arg(long, value_parser = special_tokens(), value_name = "WHEN", default_value = "never", hide_possible_values = true)]
    pub(crate) special_tokens: AddSpecialTokens,
}
