//! How prompts are built, and where their answers end.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::args::{heading, named};
use metatok::builder::ContentTrust;
use metatok::conversation::Mode;
use metatok::render::ChatWrapper;
use metatok::tokenizer::AddSpecialTokens;

/// How prompts are built.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::PROMPT)]
pub(crate) struct PromptArgs {
    #[command(flatten)]
    pub(crate) template: TemplateArgs,

    /// Add BOS and EOS: auto, always or never
    ///
    /// These are the special tokens that the tokenizer's post-processor puts around a text. auto adds them, unless the template
    /// already writes them, and adds nothing after a prompt to continue. always adds them in any case, like Hugging Face.
    /// Default: the model file's setting, or auto; also auto for strings, where the file says never of its template.
    #[arg(long, value_parser = special_tokens(), value_name = "WHEN", hide_possible_values = true)]
    pub(crate) special_tokens: Option<AddSpecialTokens>,

    #[command(flatten)]
    pub(crate) stop: StopArgs,
}

/// How templates are filled.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::PROMPT)]
pub(crate) struct TemplateArgs {
    /// Prompts to continue, or texts to score
    ///
    /// gen ends the prompt where the model answers next. ppl writes the whole conversation, for scoring. If the last message is
    /// an answer, gen leaves it out with a meta template; a chat template keeps it and asks for another one. Default: the mode
    /// of the dataset's inferencer, or gen.
    #[arg(long, value_parser = mode(), value_name = "gen|ppl", hide_possible_values = true)]
    pub(crate) mode: Option<Mode>,

    /// Turn prompts into messages first, as chat wrappers do
    ///
    /// opencompass-chat: a string becomes a user message, HUMAN and SYSTEM become the user, BOT becomes the assistant.
    /// aisbench-chat: SYSTEM stays the system. The model's template is then applied to these messages.
    #[arg(
        long = "as",
        value_parser = wrapper(),
        value_name = "opencompass-chat|aisbench-chat",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub(crate) wrapper: Option<ChatWrapper>,

    /// Whether messages may write control tokens
    ///
    /// With data, `<|im_end|>` in a message is ordinary text. With trusted, content is treated like template text, as in other
    /// systems.
    #[arg(long, value_parser = content(), value_name = "data|trusted", hide_possible_values = true)]
    pub(crate) content: Option<ContentTrust>,

    /// Always run the chat template, even for large inputs
    ///
    /// Without this option, metatok derives a meta template from the chat template for large inputs, and builds plain chats
    /// with it if both give the same ids for all generated conversations. One in 256 prompts is built both ways and
    /// compared.
    #[arg(long, hide_short_help = true)]
    pub(crate) always_render: bool,

    /// Also keep message content from producing this token
    ///
    /// For example `<think>`. May be repeated.
    #[arg(long, value_name = "TOKEN", hide_short_help = true)]
    pub(crate) reserve: Vec<String>,

    /// A reserved token that content may produce
    ///
    /// For example `<think>`, if your messages contain it. Anyone who writes the messages can then forge it, even if it is
    /// one of the template's own tokens. May be repeated.
    #[arg(long, value_name = "TOKEN", hide_short_help = true)]
    pub(crate) unreserve: Vec<String>,

    /// Apply fallback_role inside rounds
    ///
    /// OpenCompass does this for API models only.
    #[arg(long, hide_short_help = true)]
    pub(crate) round_fallback: bool,

    /// Let the model continue a final assistant message
    ///
    /// Nothing is written after it. Otherwise a meta template leaves the message out, and a chat template closes it and asks
    /// for another answer.
    #[arg(long)]
    pub(crate) continue_final_message: bool,
}

/// Where answers end, in addition to the stops of the model and its tokenizer.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::STOP)]
pub(crate) struct StopArgs {
    /// Another id to stop at; may be repeated
    ///
    /// metatok adds it to the stop ids of the model file and the tokenizer's files.
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    pub(crate) stop_id: Vec<i64>,

    /// Another string to stop at; may be repeated
    ///
    /// metatok adds it to the stop strings of the model file.
    #[arg(long, value_name = "TEXT", value_parser = stop_string)]
    pub(crate) stop: Vec<String>,
}

/// An empty string is found everywhere.
fn stop_string(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("an empty string would end every answer before it begins") } else { Ok(text.to_owned()) }
}

pub(crate) fn mode() -> impl TypedValueParser<Value = Mode> {
    let names = [
        PossibleValue::new("gen").alias("generate").help("Prompts to continue: the last answer is left to the model"),
        PossibleValue::new("ppl").alias("score").help("Whole texts to score"),
    ];
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

fn wrapper() -> impl TypedValueParser<Value = ChatWrapper> {
    named([
        ("opencompass-chat", "HuggingFacewithChatTemplate, VLLMwithChatTemplate and TurboMindModelwithChatTemplate"),
        ("aisbench-chat", "AISBench's HuggingFacewithChatTemplate"),
    ])
}

/// Whether the tokenizer's own special tokens are added.
pub(crate) fn special_tokens() -> impl TypedValueParser<Value = AddSpecialTokens> {
    named([
        ("auto", "Add them, unless the template already writes them"),
        ("always", "Add them in any case, like Hugging Face"),
        ("never", "Only what the template writes"),
    ])
}

/// Whether a text may write control tokens.
pub(crate) fn content() -> impl TypedValueParser<Value = ContentTrust> {
    named([
        ("data", "No: control tokens in the text are ordinary text"),
        ("trusted", "Yes: the text is treated like template text"),
    ])
}
