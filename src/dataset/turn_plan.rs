//! The turns of a chat that a model is asked for, one after the other.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::conversation::ChatMessage;
use crate::error::{Error, ErrorKind, Result};

/// Which of the model's turns are asked for, and what stands in those before. OpenCompass and AISBench:
/// `infer_mode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InferMode {
    /// All of them, with the model's own answers in those before.
    #[default]
    Every,
    /// All of them, with the dataset's answers in those before.
    EveryWithGt,
    /// The last one only, with the dataset's answers in those before.
    Last,
}

impl FromStr for InferMode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "every" => Ok(Self::Every),
            "every_with_gt" => Ok(Self::EveryWithGt),
            "last" => Ok(Self::Last),
            _ => Err(ErrorKind::Usage(format!("infer_mode {name:?} is none of every, every_with_gt, last")).into()),
        }
    }
}

impl fmt::Display for InferMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Every => "every",
            Self::EveryWithGt => "every_with_gt",
            Self::Last => "last",
        })
    }
}

/// Asks for the turns of the model in a chat.
///
/// ```
/// use metatok::{ChatMessage, InferMode, TurnPlan};
///
/// let chat = [("user", "1+1=?"), ("assistant", "2"), ("user", "and 1 more?"), ("assistant", "3")];
/// let chat = chat.map(|(role, content)| ChatMessage::new(role, content)).to_vec();
/// let mut plan = TurnPlan::new(chat, InferMode::Every)?;
/// assert_eq!(plan.prompt().map(<[_]>::len), Some(1));
/// plan.answer("two");
/// let prompt = plan.prompt().expect("there is a second turn");
/// assert_eq!(prompt[1], ChatMessage::new("assistant", "two"));
/// plan.answer("three");
/// assert_eq!(plan.prompt(), None);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TurnPlan {
    messages: Vec<ChatMessage>,
    mode: InferMode,
    /// The message that the model is to give next.
    next: Option<usize>,
}

impl TurnPlan {
    /// For a chat in which the model's turns stand as `assistant`, with the dataset's answers.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] if the model has no turn in it.
    pub fn new(messages: Vec<ChatMessage>, mode: InferMode) -> Result<Self> {
        let mut plan = Self { messages, mode, next: None };
        plan.next = match mode {
            InferMode::Last => plan.messages.iter().rposition(is_models),
            InferMode::Every | InferMode::EveryWithGt => plan.turn_from(0),
        };
        if plan.next.is_none() {
            let what = "the model has no turn in this chat: there is no message of role \"assistant\"";
            return Err(ErrorKind::Template(what.into()).into());
        }
        Ok(plan)
    }

    /// The messages before the turn that is asked for next; nothing when all were answered.
    pub fn prompt(&self) -> Option<&[ChatMessage]> {
        self.next.map(|next| &self.messages[..next])
    }

    /// Which of the model's turns is asked for next, from 0.
    pub fn turn(&self) -> Option<usize> {
        self.prompt().map(|before| before.iter().filter(|message| is_models(message)).count())
    }

    /// Takes the model's answer and goes on to the next turn. In [`InferMode::Every`] it replaces the
    /// dataset's own.
    pub fn answer(&mut self, text: impl Into<String>) {
        let Some(turn) = self.next else { return };
        if self.mode == InferMode::Every {
            self.messages[turn].content = text.into();
        }
        self.next = match self.mode {
            InferMode::Last => None,
            InferMode::Every | InferMode::EveryWithGt => self.turn_from(turn + 1),
        };
    }

    /// Whether prompts depend on the model's answers.
    pub fn needs_answers(&self) -> bool {
        self.mode == InferMode::Every && self.next.is_some_and(|next| self.turn_from(next + 1).is_some())
    }

    fn turn_from(&self, from: usize) -> Option<usize> {
        (from..self.messages.len()).find(|&i| is_models(&self.messages[i]))
    }
}

fn is_models(message: &ChatMessage) -> bool {
    message.role == "assistant"
}
