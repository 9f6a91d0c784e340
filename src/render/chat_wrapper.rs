//! Prompts as messages for a chat template: the rules of OpenCompass's and AISBench's chat wrappers (`_convert_chat_messages`).

use std::borrow::Cow;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::conversation::{Conversation, Mode};
use crate::error::{Error, Result, by_name};
use crate::render::ApiTemplate;

/// Which chat wrapper turns prompts into messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ChatWrapper {
    /// HUMAN and SYSTEM speak as the user.
    #[serde(rename = "opencompass-chat")]
    OpenCompass,
    /// HUMAN speaks as the user, and SYSTEM as itself.
    #[serde(rename = "aisbench-chat")]
    AisBench,
}

impl ChatWrapper {
    /// The roles of the wrapper.
    pub fn template(self) -> ApiTemplate {
        match self {
            Self::OpenCompass => ApiTemplate::default(),
            Self::AisBench => ApiTemplate::openai(),
        }
    }

    /// The wrapper whose roles are those of a template.
    pub(crate) fn with_roles_of(template: &ApiTemplate) -> Option<Self> {
        let roles = template.unmarked();
        [Self::OpenCompass, Self::AisBench].into_iter().find(|wrapper| wrapper.template().unmarked() == roles)
    }

    /// Whose wrapper it is.
    pub(crate) fn owner(self) -> &'static str {
        match self {
            Self::OpenCompass => "OpenCompass",
            Self::AisBench => "AISBench",
        }
    }

    /// Its name in options.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenCompass => "opencompass-chat",
            Self::AisBench => "aisbench-chat",
        }
    }
}

impl FromStr for ChatWrapper {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let all = [Self::OpenCompass, Self::AisBench];
        by_name("chat wrapper", name, all.map(|wrapper| (wrapper.name(), wrapper)))
    }
}

impl ApiTemplate {
    /// A conversation as chat wrappers pass it to the tokenizer's chat template: a string is a user message, adjacent
    /// turns of one role are one message, and empty ones are left out. Messages stay unchanged, unless they are turns
    /// of its `ChatInferencer`.
    ///
    /// ```
    /// use metatok::render::ApiTemplate;
    /// use metatok::{ChatMessage, Conversation, Mode};
    ///
    /// let list = r#"[{"section": "begin", "pos": "begin"}, {"role": "SYSTEM", "prompt": "Be brief."},
    ///     {"section": "begin", "pos": "end"}, {"section": "round", "pos": "begin"}, {"role": "HUMAN", "prompt": "Hi!"},
    ///     {"section": "round", "pos": "end"}]"#;
    /// let list = serde_json::from_str(list)?;
    /// // The line's end is the SYSTEM of the round, which is silent.
    /// let chat = ApiTemplate::default().chat(&list, Mode::Generate, false)?.into_owned();
    /// assert_eq!(chat, Conversation::Messages(vec![ChatMessage::new("user", "Be brief.\nHi!\n")]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::prompt`] and [`crate::render::ApiPrompt::messages`].
    pub fn chat<'c>(
        &self,
        conversation: &'c Conversation,
        mode: Mode,
        each_message: bool,
    ) -> Result<Cow<'c, Conversation>> {
        let prompt = match conversation {
            Conversation::Messages(_) if !each_message => return Ok(Cow::Borrowed(conversation)),
            Conversation::Messages(messages) => self.each_message(messages)?,
            _ => self.prompt(conversation, mode)?,
        };
        // The new messages lack the other keys of a message.
        conversation.check_others()?;
        Ok(Cow::Owned(Conversation::Messages(prompt.messages(true, false)?)))
    }
}
