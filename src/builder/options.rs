//! What a builder may be told beside its model.

use serde::{Deserialize, Serialize};

use crate::assemble::ContentTrust;
use crate::conversation::Mode;
use crate::render::ChatWrapper;
use crate::tokenizer::AddSpecialTokens;

/// What a [`PromptBuilder`](crate::PromptBuilder) may be told beside its model.
///
/// ```
/// use metatok::{BuilderOptions, Mode};
///
/// let options = BuilderOptions { spans: true, ..BuilderOptions::default() };
/// let read: BuilderOptions = serde_json::from_str(r#"{"mode": "ppl", "stop_strings": ["\n\n"]}"#)?;
/// assert_eq!((read.mode, read.spans), (Mode::Score, !options.spans));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BuilderOptions {
    /// What is built: prompts to continue, or texts to score.
    pub mode: Mode,
    /// Instead of the model's own setting.
    pub special_tokens: Option<AddSpecialTokens>,
    /// Whether content may write control tokens.
    pub content: ContentTrust,
    /// Tokens, by their strings, that content must not produce either.
    pub reserve: Vec<String>,
    /// Tokens, by their strings, that content may produce although they are reserved: the template's own too.
    pub unreserve: Vec<String>,
    /// Stop ids of the user's own.
    pub stop_token_ids: Vec<i64>,
    /// Stop strings of the user's own.
    pub stop_strings: Vec<String>,
    /// Whether `fallback_role` counts inside rounds, see [`MetaRenderer::round_fallback`](crate::render::MetaRenderer::round_fallback).
    pub round_fallback: bool,
    /// Whether messages stand as OpenCompass's `ChatInferencer` writes them, see [`EachMessage`](crate::render::EachMessage).
    pub each_message: bool,
    /// Whose chat wrappers make messages of prompts first, see [`ApiTemplate::chat`](crate::render::ApiTemplate::chat).
    pub chat_wrapper: Option<ChatWrapper>,
    /// Whether a last message of the assistant is the beginning of the answer: in a prompt to continue nothing stands
    /// behind it. Otherwise it is left out there, see [`TokenizedPrompt::answer_omitted`](crate::TokenizedPrompt::answer_omitted).
    pub continue_final_message: bool,
    /// Whether a text to score ends with what the last message says, as the model would give it: behind the prompt to continue, or
    /// with `continue_final_message` as the rest of an answer that has begun.
    #[serde(skip_serializing_if = "is_false")]
    pub open_answer: bool,
    /// Whether the parts of a message in a prompt list are lost, as AISBench loses them for models that take
    /// text: the role then says what it says by default.
    pub compat: bool,
    /// Whether a prompt without a single token is one, and not [`ErrorKind::EmptyPrompt`](crate::ErrorKind::EmptyPrompt).
    #[serde(skip_serializing_if = "is_false")]
    pub allow_empty_prompts: bool,
    /// Whether prompts know where each token comes from.
    #[serde(skip_serializing_if = "is_false")]
    pub spans: bool,
    /// Whether prompts know which bytes of their text each token stands for.
    #[serde(skip_serializing_if = "is_false")]
    pub offsets: bool,
    /// Whether prompts come with their text.
    #[serde(skip_serializing_if = "is_false")]
    pub text: bool,
}

fn is_false(is: &bool) -> bool {
    !is
}
