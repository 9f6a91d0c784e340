//! How prompts are built, and where their answers end.

use clap::ValueEnum;

/// How prompts are built.
#[derive(clap::Args)]
pub(crate) struct PromptArgs {
    #[command(flatten)]
    pub(crate) template: TemplateArgs,

    /// Special tokens that the tokenizer adds by itself: not doubled (auto), as Hugging Face does
    /// (always), or never. Default: the model file's, or auto.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) special_tokens: Option<SpecialTokensArg>,

    #[command(flatten)]
    pub(crate) stop: StopArgs,
}

/// How templates are filled.
#[derive(clap::Args)]
pub(crate) struct TemplateArgs {
    /// Build prompts to continue (gen), or texts to score (ppl). Default: gen, or what the dataset's
    /// inferencer does.
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArg>,

    /// Whether content may write control tokens: it is data (default), or trusted like the template.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) content: Option<ContentArg>,

    /// A token that content must not produce either, such as `<think>`. May be repeated.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) reserve: Vec<String>,

    /// Let fallback_role count inside rounds, as OpenCompass does for API models only.
    #[arg(long)]
    pub(crate) round_fallback: bool,

    /// Take a last message of the assistant as the beginning of the answer: nothing stands behind it. Otherwise it is
    /// left out of a prompt to continue.
    #[arg(long)]
    pub(crate) continue_final_message: bool,
}

/// Where answers end, beside what the model and its tokenizer say.
#[derive(clap::Args)]
pub(crate) struct StopArgs {
    /// A further stop id. May be repeated.
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    pub(crate) stop_id: Vec<i64>,

    /// A further stop string. May be repeated.
    #[arg(long, value_name = "TEXT", value_parser = stop_string)]
    pub(crate) stop: Vec<String>,
}

/// Nothing is found everywhere.
fn stop_string(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("an empty string would end every answer before it begins") } else { Ok(text.to_owned()) }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ModeArg {
    #[value(alias = "generate")]
    Gen,
    #[value(alias = "score")]
    Ppl,
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
