//! What a model behind an API gets: turns, or OpenAI-style messages.

use serde::{Deserialize, Serialize};

use crate::conversation::{ChatMessage, Content, openai_role};
use crate::error::{ErrorKind, Result};

/// A turn of the dialogue as an API takes it: HUMAN, BOT or SYSTEM, and what is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiTurn {
    /// The API's name for the role.
    pub role: String,
    /// What is said, with the role's `begin` and `end` around it where it is a text.
    pub prompt: Content,
}

/// What an API model gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ApiPrompt {
    /// A string, which no template touches.
    Text(String),
    /// Turns, of which no two in a row have the same role.
    Turns(Vec<ApiTurn>),
    /// Messages that were OpenAI-style already.
    Messages(Vec<ChatMessage>),
}

impl ApiPrompt {
    /// How many tokens OpenCompass takes the prompt for where the model is behind an API: each run of
    /// ASCII letters and digits counts as one, and so does each Chinese character.
    pub fn estimated_tokens(&self) -> usize {
        match self {
            Self::Text(text) => estimated_tokens(text),
            // Of turns it counts the text, one behind the other.
            Self::Turns(turns) => {
                estimated_tokens(&turns.iter().flat_map(|turn| turn.prompt.texts()).collect::<String>())
            }
            Self::Messages(messages) => {
                messages.iter().flat_map(|message| message.content.texts()).map(estimated_tokens).sum()
            }
        }
    }

    /// The prompt as OpenAI-style messages, `merge`d where two in a row have one role, and with empty
    /// ones if they are to be kept. OpenCompass: `_convert_chat_messages`.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownRole`] for a role that is not HUMAN, BOT or SYSTEM.
    pub fn messages(&self, merge: bool, keep_empty: bool) -> Result<Vec<ChatMessage>> {
        self.named(
            merge,
            |_| keep_empty,
            |role| {
                openai_role(role).ok_or_else(|| {
                    let known = ["HUMAN", "BOT", "SYSTEM"].map(str::to_owned).to_vec();
                    ErrorKind::UnknownRole { role: role.to_owned(), fallback: None, known }.into()
                })
            },
        )
    }

    /// The prompt as OpenAI-style messages, turn by turn: HUMAN, BOT, SYSTEM and TOOL are user, assistant,
    /// system and tool, and a template may name any other role itself. AISBench: `VLLMCustomAPIChat`.
    pub fn turn_messages(&self) -> Vec<ChatMessage> {
        self.own_messages(false, |_| true)
    }

    /// As [`Self::messages`], with the roles that a template names itself as they are.
    pub(super) fn own_messages(&self, merge: bool, keep_empty: impl Fn(&ApiTurn) -> bool) -> Vec<ChatMessage> {
        let named = |role| openai_role(role).unwrap_or(if role == "TOOL" { "tool" } else { role });
        self.named(merge, keep_empty, |role| Ok::<_, std::convert::Infallible>(named(role)))
            .unwrap_or_else(|never| match never {})
    }

    fn named<'a, E>(
        &'a self,
        merge: bool,
        keep_empty: impl Fn(&ApiTurn) -> bool,
        name: impl Fn(&'a str) -> std::result::Result<&'a str, E>,
    ) -> std::result::Result<Vec<ChatMessage>, E> {
        let turns = match self {
            Self::Text(text) => return Ok(vec![ChatMessage::new("user", text.as_str())]),
            Self::Messages(messages) => return Ok(messages.clone()),
            Self::Turns(turns) => turns,
        };
        let mut messages: Vec<ChatMessage> = Vec::new();
        for turn in turns.iter().filter(|turn| !turn.prompt.is_empty() || keep_empty(turn)) {
            let role = name(&turn.role)?;
            match messages.last_mut().filter(|last| merge && last.role == role) {
                Some(last) => last.content.append("\n", turn.prompt.clone()),
                None => messages.push(ChatMessage::new(role, turn.prompt.clone())),
            }
        }
        Ok(messages)
    }
}

fn estimated_tokens(text: &str) -> usize {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).count();
    words + text.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count()
}
