//! What the engine has seen: the previous prompt, and the answer to it.

use serde::{Deserialize, Serialize};

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::PromptBuilder;
use crate::common_prefix::common_prefix;
use crate::conversation::Conversation;
use crate::error::Result;
use crate::render::{Element, Part};
use crate::tokenizer::TokenId;
use crate::turns::PrefixBreak;

/// The tokens that the engine has in its cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) ids: Vec<TokenId>,
    /// How many of the ids are the prompt's.
    pub(super) prompt_tokens: usize,
    pub(super) answer: Answer,
    /// Whether the answer's thoughts are removed from it.
    pub(super) strips_thoughts: bool,
    /// The stop at which the engine says that it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<TokenId>,
}

/// The form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    None,
    Text,
    Ids,
}

impl Seen {
    pub(super) fn new(prompt: &TokenizedPrompt, strips_thoughts: bool) -> Self {
        let ids = prompt.input_ids.clone();
        Self { prompt_tokens: ids.len(), ids, answer: Answer::None, strips_thoughts, stop: None }
    }

    /// The answer came as these ids.
    pub(super) fn answered(&mut self, ids: &[TokenId]) {
        self.ids.extend_from_slice(ids);
        self.answer = Answer::Ids;
    }

    /// There is no answer.
    pub(super) fn unanswered(&mut self) {
        self.ids.truncate(self.prompt_tokens);
        self.answer = Answer::None;
    }

    /// How many of a prompt's first tokens it has.
    pub(super) fn prefix(&self, prompt: &TokenizedPrompt) -> usize {
        common_prefix(&self.ids, &prompt.input_ids)
    }

    /// The cause of the difference after `prefix` tokens, for a prompt of this conversation.
    pub(super) fn prefix_break(
        &self,
        prefix: usize,
        conversation: &Conversation,
        builder: &PromptBuilder,
        takes_answers: bool,
    ) -> Result<PrefixBreak> {
        let is_stop = |id: TokenId| self.stop == Some(id) || builder.stop().ids().iter().any(|stop| stop.id == id);
        let name = |id: TokenId| builder.tokenizer().display_token(id);
        if prefix >= self.prompt_tokens {
            return Ok(match () {
                () if self.strips_thoughts && self.answer == Answer::Ids => PrefixBreak::Thoughts,
                () if !takes_answers => PrefixBreak::DatasetAnswers,
                () if prefix + 1 == self.ids.len() && is_stop(self.ids[prefix]) => {
                    PrefixBreak::StopToken(name(self.ids[prefix]))
                }
                () => PrefixBreak::Answer,
            });
        }
        let before = builder.build_with(conversation, Detail::ALL)?;
        let spans = before.spans.unwrap_or_default();
        let part = spans.iter().find(|span| span.end > prefix).map_or_else(Part::default, |span| span.part);
        Ok(match part.element {
            Element::GenerationPrompt if self.answer == Answer::Text && prefix + 1 == self.prompt_tokens => {
                PrefixBreak::AnswerAsText
            }
            Element::GenerationPrompt => {
                let own = spans.iter().filter(|span| span.part.element == Element::GenerationPrompt);
                let own: Vec<TokenId> = own.flat_map(|span| &before.input_ids[span.start..span.end]).copied().collect();
                PrefixBreak::GenerationPrompt { text: builder.tokenizer().decode(&own, false)? }
            }
            Element::SpecialToken => PrefixBreak::SpecialToken(name(self.ids[prefix])),
            _ => PrefixBreak::Earlier,
        })
    }
}
