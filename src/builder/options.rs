//! The options of a builder, in addition to its model.

use serde::{Deserialize, Serialize};

use crate::assemble::ContentTrust;
use crate::conversation::Mode;
use crate::render::ChatWrapper;
use crate::tokenizer::AddSpecialTokens;

/// The options of a [`PromptBuilder`](crate::PromptBuilder), in addition to its model.
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
    /// The purpose of the prompts: to continue, or to score.
    pub mode: Mode,
    /// Whether the tokenizer's own special tokens are added, overriding the model file.
    pub special_tokens: Option<AddSpecialTokens>,
    /// Whether content may write control tokens, as in the reference systems; by default it cannot.
    pub content: ContentTrust,
    /// More tokens, by their strings, that content must not produce.
    pub reserve: Vec<String>,
    /// Tokens, by their strings, that content may produce although they are reserved, even by the template.
    pub unreserve: Vec<String>,
    /// Stop ids in addition to those of the model and its tokenizer. Each must be in the vocabulary.
    pub stop_token_ids: Vec<i64>,
    /// Stop strings in addition to those of the model. None may be empty.
    pub stop_strings: Vec<String>,
    /// Whether `fallback_role` applies inside rounds, see
    /// [`MetaRenderer::round_fallback`](crate::render::MetaRenderer::round_fallback).
    pub round_fallback: bool,
    /// Whether messages are written as by OpenCompass's `ChatInferencer`, see [`EachMessage`](crate::render::EachMessage).
    pub each_message: bool,
    /// Which chat wrapper turns prompts into messages first, see [`ApiTemplate::chat`](crate::render::ApiTemplate::chat).
    pub chat_wrapper: Option<ChatWrapper>,
    /// Whether a last message of the assistant is the beginning of the answer: in a prompt to continue, nothing comes
    /// after it. Otherwise it is left out there, see
    /// [`TokenizedPrompt::answer_omitted`](crate::TokenizedPrompt::answer_omitted).
    pub continue_final_message: bool,
    /// Whether a text to score ends with the content of the last message, as the model would generate it: after the
    /// prompt to continue, or with `continue_final_message` as the rest of an answer that has begun.
    #[serde(skip_serializing_if = "is_false")]
    pub open_answer: bool,
    /// Whether the parts of a message in a prompt list are lost, as in AISBench for models that accept text: the role's
    /// default content is then used.
    pub compat: bool,
    /// Whether an empty prompt is allowed, instead of [`ErrorKind::EmptyPrompt`](crate::ErrorKind::EmptyPrompt).
    #[serde(skip_serializing_if = "is_false")]
    pub allow_empty_prompts: bool,
    /// Whether a chat template renders every prompt, also where the meta template that
    /// [`accelerate`](crate::import::accelerate) makes of it gives the same ids.
    #[serde(skip_serializing)]
    pub always_render: bool,
    /// Whether prompts record where each token comes from.
    #[serde(skip_serializing_if = "is_false")]
    pub spans: bool,
    /// Whether prompts record the bytes of their text for each token.
    #[serde(skip_serializing_if = "is_false")]
    pub offsets: bool,
    /// Whether prompts include their text.
    #[serde(skip_serializing_if = "is_false")]
    pub text: bool,
}

fn is_false(is: &bool) -> bool {
    !is
}
