//! A dialogue as data, to be stored while no program runs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::builder::PromptBuilder;
use crate::conversation::{Chat, ChatMessage, Content, ContentPart};
use crate::error::{At, ErrorKind, Result};
use crate::tokenizer::TokenId;
use crate::truncate::ContextBudget;
use crate::turns::Dialogue;
use crate::turns::dialogue::SeenPrompt;
use crate::turns::seen::Answer;

/// Everything in a [`Dialogue`] except its builder, for serde; from [`Dialogue::state`].
///
/// ```
/// use metatok::PromptBuilder;
/// use metatok::turns::DialogueState;
///
/// let builder = PromptBuilder::demo()?;
/// let mut dialogue = builder.dialogue();
/// dialogue.push(("user", "Which planet is red?"));
/// let first = dialogue.next_prompt()?;
/// dialogue.answer_ids(&[44, 695, 1052])?;
/// let json = serde_json::to_string(&dialogue.state())?;
///
/// let state: DialogueState = serde_json::from_str(&json)?;
/// let mut resumed = builder.resume(state)?;
/// resumed.push(("user", "How many moons has it?"));
/// assert_eq!(resumed.next_prompt()?.prefix_tokens, first.prompt.input_ids.len() + 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialogueState {
    messages: Vec<ChatMessage>,
    /// The answers that were given as ids. Messages in JSON cannot contain ids, so empty texts take their places.
    answers: Vec<AnswerIds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    documents: Option<Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    chat_template_kwargs: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<ContextBudget>,
    #[serde(default)]
    headroom: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    strip_thoughts: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<SeenPrompt>,
}

/// The ids at a position of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct AnswerIds {
    message: usize,
    content_part: usize,
    token_ids: Vec<TokenId>,
}

impl Dialogue {
    /// Everything that [`PromptBuilder::resume`] needs.
    pub fn state(&self) -> DialogueState {
        let Chat { mut messages, tools, documents, chat_template_kwargs } = self.chat.clone();
        let mut answers = Vec::new();
        for (message, said) in messages.iter_mut().enumerate() {
            let Content::Parts(parts) = &mut said.content else { continue };
            for (content_part, part) in parts.iter_mut().enumerate() {
                if let ContentPart::Ids(ids) = part {
                    answers.push(AnswerIds { message, content_part, token_ids: std::mem::take(ids) });
                    *part = ContentPart::text("");
                }
            }
        }
        let Self { budget, headroom, strip_thoughts, .. } = *self;
        let seen = self.seen.clone();
        DialogueState {
            messages,
            answers,
            tools,
            documents,
            chat_template_kwargs,
            budget,
            headroom,
            strip_thoughts,
            seen,
        }
    }
}

impl PromptBuilder {
    /// Continues a dialogue. With a builder of another model the engine's cache is useless, and the next prompt will
    /// say so.
    ///
    /// # Errors
    /// Names an answer that is in no message, or an id outside the vocabulary.
    pub fn resume(&self, state: DialogueState) -> Result<Dialogue> {
        let DialogueState { mut messages, answers, budget, headroom, strip_thoughts, seen, .. } = state;
        for (i, AnswerIds { message, content_part, token_ids }) in answers.into_iter().enumerate() {
            let place = format!("answers[{i}]");
            for &id in &token_ids {
                self.tokenizer().check_id(id.into()).at(&place)?;
            }
            let part = match messages.get_mut(message).map(|message| &mut message.content) {
                Some(Content::Parts(parts)) => parts.get_mut(content_part),
                Some(Content::Text(_) | Content::Null) | None => None,
            };
            *part.ok_or_else(|| ErrorKind::Parse(missing(message, content_part))).at(&place)? =
                ContentPart::Ids(token_ids);
        }
        let counts_more = |SeenPrompt { messages: in_prompt, seen, .. }: &SeenPrompt| {
            let answers = usize::from(seen.answer != Answer::None);
            in_prompt.saturating_add(answers) > messages.len() || seen.prompt_tokens > seen.ids.len()
        };
        if seen.as_ref().is_some_and(counts_more) {
            let what =
                "it counts more messages or tokens than there are; remove it, and the next prompt is a first one";
            return Err(ErrorKind::Parse(what.into())).at("seen");
        }
        let DialogueState { tools, documents, chat_template_kwargs, .. } = state;
        let chat = Chat { messages, tools, documents, chat_template_kwargs };
        Ok(Dialogue { builder: self.clone(), chat, budget, headroom, strip_thoughts, seen })
    }
}

fn missing(message: usize, content_part: usize) -> String {
    format!("the content of message {message} has no part {content_part}; is the state complete?")
}
