//! Which model and tokenizer.

use serde_json::{Map, Value};

use crate::args::{complete, heading};

/// Which template, and which tokenizer.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::MODEL)]
pub(crate) struct ModelArgs {
    /// Built-in model, model file, or repository
    ///
    /// Without it, the chat template of --tokenizer is used. `metatok models` lists the built-in models. A model file is TOML or JSON. A repository of the Hugging Face Hub works
    /// if a built-in model claims it, such as Qwen/Qwen3-8B. Without both options, a command without any input uses the demo,
    /// and --format messages needs neither.
    #[arg(short, long, value_name = "FILE|NAME|REPO", add = complete::models())]
    pub(crate) model: Option<String>,

    /// Tokenizer, if not the model's own
    ///
    /// A directory, a tokenizer.json or GGUF file, a built-in model, or a repository of the Hugging Face Hub (org/name or
    /// org/name@revision).
    #[arg(short, long, value_name = "DIR|FILE|REPO", add = complete::models())]
    pub(crate) tokenizer: Option<String>,

    /// Chat template instead of the model's
    ///
    /// A file of Jinja, or the name of one of the tokenizer's chat templates. Without a model, it is the tokenizer's own chat
    /// template. Only the model's tokenizer is used.
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "conversation", hide_short_help = true)]
    pub(crate) chat_template: Option<String>,

    /// Variables of the chat template, as a JSON object
    ///
    /// For example {"enable_thinking": false}. A record's own chat_template_kwargs come first.
    #[arg(long, value_name = "JSON", visible_alias = "chat-template-kwargs", value_parser = object, hide_short_help = true)]
    pub(crate) template_kwargs: Option<Map<String, Value>>,

    /// FastChat template instead of the model's
    ///
    /// A FastChat or UltraFeedback template replaces the model's own; only the model's tokenizer is used. It is built in
    /// (`metatok models` lists them) or a file.
    #[arg(long, value_name = "FILE|NAME", add = complete::conversations())]
    pub(crate) conversation: Option<String>,
}

/// A JSON object.
fn object(json: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(json).map_err(|error| format!("not a JSON object: {error}"))
}
