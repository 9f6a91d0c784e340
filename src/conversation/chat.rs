//! Messages with what else a chat template reads: tools, documents and variables.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::conversation::ChatMessage;

/// Messages with what else a chat template reads. Other templates have no place for it.
///
/// ```
/// use metatok::conversation::Chat;
/// use metatok::{ChatMessage, Conversation};
///
/// let mut chat = Chat::from(vec![ChatMessage::new("user", "How warm is it?")]);
/// chat.tools = serde_json::from_str(r#"[{"type": "function", "function": {"name": "temperature"}}]"#).ok();
/// assert!(matches!(Conversation::from(chat), Conversation::Chat(_)));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Chat {
    /// The messages.
    pub messages: Vec<ChatMessage>,
    /// The descriptions of tools, a list as in OpenAI's requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Value>,
    /// Documents, a list of objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<Value>,
    /// Variables of the template, such as `enable_thinking`, which come before the model's own.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub chat_template_kwargs: Map<String, Value>,
}

/// The key of a request that says how long the model may think, and its variable in templates.
pub(crate) const REASONING_EFFORT: &str = "reasoning_effort";
/// The variable of templates that says whether it thinks.
pub(crate) const ENABLE_THINKING: &str = "enable_thinking";

impl From<Vec<ChatMessage>> for Chat {
    fn from(messages: Vec<ChatMessage>) -> Self {
        Self { messages, ..Self::default() }
    }
}

impl Chat {
    /// Whether it has nothing but messages.
    pub(crate) fn is_bare(&self) -> bool {
        self.tools.is_none() && self.documents.is_none() && self.chat_template_kwargs.is_empty()
    }

    /// Adds what a request says of the model's thoughts, as a server gives it to chat templates. Source: `build_chat_params`
    /// in `vllm/entrypoints/openai/chat_completion/protocol.py` of vLLM.
    pub(crate) fn add_reasoning_effort(&mut self, effort: String) {
        self.chat_template_kwargs.entry(ENABLE_THINKING).or_insert_with(|| (effort != "none").into());
        self.chat_template_kwargs.insert(REASONING_EFFORT.to_owned(), effort.into());
    }
}
