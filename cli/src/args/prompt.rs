//! How prompts are built, and where their answers end.

use clap::ValueEnum;

use crate::args::heading;

/// How prompts are built.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::PROMPT)]
pub(crate) struct PromptArgs {
    #[command(flatten)]
    pub(crate) template: TemplateArgs,

    /// Add BOS and EOS: auto, always or never
    ///
    /// These are the special tokens that the tokenizer's post-processor puts around a text. auto does not double what
    /// the template writes already, and puts nothing behind a prompt to continue; always does both, as Hugging Face.
    /// Default: what the model file says, or auto.
    #[arg(long, value_enum, value_name = "WHEN", hide_possible_values = true)]
    pub(crate) special_tokens: Option<SpecialTokensArg>,

    #[command(flatten)]
    pub(crate) stop: StopArgs,
}

/// How templates are filled.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::PROMPT)]
pub(crate) struct TemplateArgs {
    /// Prompts to continue, or texts to score
    ///
    /// gen leaves the last answer to the model; ppl gives the whole text. Default: gen, or what the dataset's inferencer
    /// does.
    #[arg(long, value_enum, value_name = "gen|ppl", hide_possible_values = true)]
    pub(crate) mode: Option<ModeArg>,

    /// Make messages of prompts first, as chat wrappers do
    ///
    /// opencompass-chat: a string is a message of the user, HUMAN and SYSTEM speak as the user, BOT as the assistant.
    /// aisbench-chat: SYSTEM speaks as itself. The model's template then takes these messages.
    #[arg(
        long = "as",
        value_enum,
        value_name = "opencompass-chat|aisbench-chat",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub(crate) wrapper: Option<WrapperArg>,

    /// Whether messages may write control tokens
    ///
    /// As data, `<|im_end|>` in a message is ordinary text. Trusted content is read like the template, as other
    /// systems do.
    #[arg(long, value_enum, value_name = "data|trusted", hide_possible_values = true)]
    pub(crate) content: Option<ContentArg>,

    /// Another token that content must not produce
    ///
    /// Such as `<think>`. May be repeated.
    #[arg(long, value_name = "TOKEN", hide_short_help = true)]
    pub(crate) reserve: Vec<String>,

    /// A token that content may produce after all
    ///
    /// Such as `<think>` where your messages bring it along. Whoever writes the messages can then forge it, the
    /// template's own tokens too. May be repeated.
    #[arg(long, value_name = "TOKEN", hide_short_help = true)]
    pub(crate) unreserve: Vec<String>,

    /// Let fallback_role count inside rounds
    ///
    /// OpenCompass does so for API models only.
    #[arg(long, hide_short_help = true)]
    pub(crate) round_fallback: bool,

    /// Let the model continue a last message of the assistant
    ///
    /// Nothing stands behind it then. Otherwise such a message is left out of a prompt to continue.
    #[arg(long)]
    pub(crate) continue_final_message: bool,
}

/// Where answers end, beside what the model and its tokenizer say.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::STOP)]
pub(crate) struct StopArgs {
    /// Another id to stop at; may be repeated
    ///
    /// It is added to those of the model file and the tokenizer's files.
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    pub(crate) stop_id: Vec<i64>,

    /// Another string to stop at; may be repeated
    ///
    /// It is added to those of the model file.
    #[arg(long, value_name = "TEXT", value_parser = stop_string)]
    pub(crate) stop: Vec<String>,
}

/// Nothing is found everywhere.
fn stop_string(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("an empty string would end every answer before it begins") } else { Ok(text.to_owned()) }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ModeArg {
    /// Prompts to continue: the last answer is left to the model
    #[value(alias = "generate")]
    Gen,
    /// Whole texts to score
    #[value(alias = "score")]
    Ppl,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum WrapperArg {
    /// HuggingFacewithChatTemplate, VLLMwithChatTemplate and TurboMindModelwithChatTemplate
    OpencompassChat,
    /// HuggingFacewithChatTemplate as AISBench has it
    AisbenchChat,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SpecialTokensArg {
    /// Add them, but do not double what the template writes
    Auto,
    /// Add them even where that doubles, as Hugging Face does
    Always,
    /// Only what the template writes
    Never,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ContentArg {
    /// No: control tokens in it are text
    Data,
    /// Yes: it is read like the template
    Trusted,
}
