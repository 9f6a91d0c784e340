//! Which model and tokenizer.

/// Which template, and which tokenizer.
#[derive(clap::Args)]
pub(crate) struct ModelArgs {
    /// Model file (TOML or JSON), a built-in model (`metatok models` lists them), or a repository of the
    /// hub that a built-in model claims. Only where there is no input may it be left out: then it is the demo.
    #[arg(short, long, value_name = "FILE|NAME|REPO")]
    pub(crate) model: Option<String>,

    /// Conversation template (FastChat's or UltraFeedback's) instead of the model's template: a file, or a
    /// built-in one (`metatok models` lists them). Of the model only the tokenizer counts then.
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) conversation: Option<String>,

    /// Tokenizer, instead of the model's own: a directory, a tokenizer.json, a built-in model, or a
    /// repository of the hub (org/name or org/name@revision).
    #[arg(short, long, value_name = "DIR|FILE|REPO")]
    pub(crate) tokenizer: Option<String>,
}
