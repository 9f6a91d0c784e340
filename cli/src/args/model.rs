//! Which model and tokenizer.

use crate::args::{complete, heading};

/// Which template, and which tokenizer.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::MODEL)]
pub(crate) struct ModelArgs {
    /// Built-in model, model file, or repository
    ///
    /// `metatok models` lists the built-in models. A model file is TOML or JSON. A repository of the Hugging Face Hub
    /// works where a built-in model claims it, such as Qwen/Qwen3-8B. Only a command without any input may leave this
    /// out: it uses the demo then.
    #[arg(short, long, value_name = "FILE|NAME|REPO", add = complete::models())]
    pub(crate) model: Option<String>,

    /// Tokenizer, if not the model's own
    ///
    /// A directory, a tokenizer.json file, a built-in model, or a repository of the Hugging Face Hub (org/name or
    /// org/name@revision).
    #[arg(short, long, value_name = "DIR|FILE|REPO", add = complete::models())]
    pub(crate) tokenizer: Option<String>,

    /// FastChat template instead of the model's
    ///
    /// A template of FastChat or UltraFeedback takes the place of the model's own; of the model only the tokenizer is
    /// used. A built-in one (`metatok models` lists them) or a file.
    #[arg(long, value_name = "FILE|NAME", add = complete::conversations())]
    pub(crate) conversation: Option<String>,
}
