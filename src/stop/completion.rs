//! A model's output, trimmed, and the stop at which it ended.

use serde::{Deserialize, Serialize, Serializer};

use crate::stop::{StopCriteria, StopSource};
use crate::tokenizer::TokenId;

/// Why output ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model gave this stop id.
    StopToken(TokenId),
    /// The text contains this stop string, by its index in [`StopCriteria::strings`].
    StopString(usize),
    /// Nothing stopped it.
    Length,
}

/// A model's output, trimmed. Its JSON has the keys that `metatok trim` and `metatok run` write.
///
/// ```
/// let completion = metatok::PromptBuilder::demo()?.complete(&[44, 695, 1052])?;
/// assert_eq!(
///     serde_json::to_string(&completion)?,
///     r#"{"token_ids":[44,695],"text":"Mars","finish_reason":"stop","stop":{"token_id":1052,"token":"<|im_end|>","#.to_owned()
///         + r#""sources":["meta_template","role_end","tokenizer_config","generation_config"]},"tail":[1052]}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Completion {
    /// The tokens before the stop. If a stop string begins within a token, that token is not among them.
    pub token_ids: Vec<TokenId>,
    /// The text before the stop, without special tokens except a stop that is kept. It continues the prompt: a space at
    /// its beginning stays, which [`Tokenizer::decode`](crate::Tokenizer::decode) drops where a SentencePiece tokenizer
    /// (Llama 2, InternLM2) adds one to every text. Invalid UTF-8 becomes U+FFFD.
    pub text: String,
    /// Why it ends. In JSON `"stop"` or `"length"`, as in engines.
    #[serde(serialize_with = "as_engines_have_it")]
    pub finish_reason: FinishReason,
    /// The stop at which it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The ids after [`Self::token_ids`]: the stop, and everything after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<TokenId>,
}

impl Completion {
    /// The sources of the stop id at which it ends; none if it ends otherwise.
    pub fn stop_sources(&self) -> &[StopSource] {
        match &self.stop {
            Some(Stop::Token { sources, .. }) => sources,
            Some(Stop::String { .. }) | None => &[],
        }
    }
}

/// The stop at which output ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Stop {
    /// At a stop id.
    Token {
        /// The id.
        token_id: TokenId,
        /// Its text; none for an id that the tokenizer does not have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// The sources of the stop id.
        sources: Vec<StopSource>,
    },
    /// At a stop string.
    String {
        /// The string.
        string: String,
    },
}

impl Stop {
    /// Whether it is among these. An empty string stops nothing.
    pub(crate) fn is_among(&self, criteria: &StopCriteria) -> bool {
        match self {
            Self::Token { token_id, .. } => criteria.stop_token_ids().any(|known| known == *token_id),
            Self::String { string } => string.is_empty() || criteria.strings().contains(string),
        }
    }
}

impl FinishReason {
    /// `"stop"` or `"length"`, as in engines.
    pub fn name(self) -> &'static str {
        match self {
            Self::StopToken(_) | Self::StopString(_) => "stop",
            Self::Length => "length",
        }
    }
}

fn as_engines_have_it<S: Serializer>(reason: &FinishReason, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(reason.name())
}
