//! The prompt of a model behind an API: turns, or OpenAI-style messages.

use serde::{Deserialize, Serialize};

use crate::conversation::{ChatMessage, Content, openai_role};
use crate::error::{ErrorKind, Result};

/// A turn of the dialogue for an API: HUMAN, BOT or SYSTEM, and its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiTurn {
    /// The API's name for the role.
    pub role: String,
    /// The content. If it is a text, the role's `begin` and `end` are written around it.
    pub prompt: Content,
}

/// The prompt of an API model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ApiPrompt {
    /// A string, to which no template is applied.
    Text(String),
    /// Turns, of which no two adjacent ones have the same role.
    Turns(Vec<ApiTurn>),
    /// Messages that already were OpenAI-style.
    Messages(Vec<ChatMessage>),
}

impl ApiPrompt {
    /// OpenCompass's estimate of the number of tokens if the model is behind an API: each run of ASCII letters and
    /// digits counts as one, and so does each Chinese character.
    pub fn estimated_tokens(&self) -> usize {
        match self {
            Self::Text(text) => estimated_tokens(text),
            // For turns it counts the text of all of them joined.
            Self::Turns(turns) => {
                estimated_tokens(&turns.iter().flat_map(|turn| turn.prompt.texts()).collect::<String>())
            }
            Self::Messages(messages) => {
                messages.iter().flat_map(|message| message.content.texts()).map(estimated_tokens).sum()
            }
        }
    }

    /// The prompt as OpenAI-style messages. With `merge`, adjacent messages of one role become one. With `keep_empty`, empty
    /// turns stay. OpenCompass: `_convert_chat_messages`.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownRole`] for a role that is not HUMAN, BOT or SYSTEM.
    pub fn messages(&self, merge: bool, keep_empty: bool) -> Result<Vec<ChatMessage>> {
        self.to_messages(
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

    /// The prompt as OpenAI-style messages, turn by turn: HUMAN, BOT, SYSTEM and TOOL are user, assistant, system and
    /// tool, and any other role keeps the template's name. AISBench: `VLLMCustomAPIChat`.
    pub fn turn_messages(&self) -> Vec<ChatMessage> {
        self.own_messages(false, |_| true)
    }

    /// The prompt as OpenAI-style messages, whose roles keep the template's name if it is not OpenCompass's. `keep_empty`
    /// says whether the empty turn of this number stays.
    pub(super) fn own_messages(&self, merge: bool, keep_empty: impl Fn(usize) -> bool) -> Vec<ChatMessage> {
        let named = |role| openai_role(role).unwrap_or(if role == "TOOL" { "tool" } else { role });
        self.to_messages(merge, keep_empty, |role| Ok::<_, std::convert::Infallible>(named(role)))
            .unwrap_or_else(|never| match never {})
    }

    fn to_messages<'a, E>(
        &'a self,
        merge: bool,
        keep_empty: impl Fn(usize) -> bool,
        name: impl Fn(&'a str) -> std::result::Result<&'a str, E>,
    ) -> std::result::Result<Vec<ChatMessage>, E> {
        let turns = match self {
            Self::Text(text) => return Ok(vec![ChatMessage::new("user", text.as_str())]),
            Self::Messages(messages) => return Ok(messages.clone()),
            Self::Turns(turns) => turns,
        };
        let mut messages: Vec<ChatMessage> = Vec::new();
        let is_kept = |(i, turn): &(usize, &ApiTurn)| !turn.prompt.is_empty() || keep_empty(*i);
        for (_, turn) in turns.iter().enumerate().filter(is_kept) {
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
