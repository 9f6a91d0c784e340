//! Dialogues as token ids, in which each prompt begins with the tokens that the engine has already seen.

mod answer;
mod dialogue;
mod dialogue_state;
mod prefix_break;
mod seen;
mod thoughts;

use crate::assemble::TokenizedPrompt;
use crate::builder::PromptBuilder;
use crate::conversation::Conversation;
use crate::dataset::TurnPlan;
use crate::error::Result;
use crate::stop::Stop;
use crate::tokenizer::TokenId;
use answer::ReservedTokens;
pub use dialogue::{Dialogue, DialoguePrompt};
pub use dialogue_state::DialogueState;
pub use prefix_break::PrefixBreak;
use seen::{Answer, Seen};
pub(crate) use thoughts::{UnfinishedThoughts, without_thoughts};

/// Returns the prompts of a dataset's dialogue, one turn after the other, and takes the model's answers. Use
/// [`Dialogue`] if messages arrive later.
///
/// An answer given as ids is written as those ids, so the next prompt begins with exactly the tokens that are already
/// in the engine's cache. [`TurnPrompt::prefix_tokens`] is their number.
///
/// ```
/// use metatok::dataset::prompter::{InferMode, TurnPlan};
/// use metatok::{Conversation, PromptBuilder};
///
/// let dialogue: Conversation = serde_json::from_str(r#"[
///     {"role": "user", "content": "1+1=?"}, {"role": "assistant", "content": ""},
///     {"role": "user", "content": "And 1 more?"}, {"role": "assistant", "content": ""}
/// ]"#)?;
/// let builder = PromptBuilder::demo()?;
/// let mut turns = builder.turns(TurnPlan::new(dialogue, InferMode::Every)?);
/// let first = turns.next_prompt()?.expect("there are two turns").prompt;
/// // The engine's output: "2", and <|im_end|>.
/// turns.answer_ids(&[17, 1052])?;
/// let second = turns.next_prompt()?.expect("there are two turns");
/// assert_eq!(second.prefix_tokens, first.input_ids.len() + 2);
/// assert!(second.prompt.input_ids.starts_with(&[first.input_ids, vec![17, 1052]].concat()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Turns {
    builder: PromptBuilder,
    plan: TurnPlan,
    /// With the conversation of its prompt.
    seen: Option<(Conversation, Seen)>,
    strip_thoughts: bool,
}

/// The prompt of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnPrompt {
    /// Which of the model's turns, from 0.
    pub turn: usize,
    /// The conversation.
    pub conversation: Conversation,
    /// The prompt.
    pub prompt: TokenizedPrompt,
    /// How many of its first tokens the engine has already seen: in the prompt of the previous turn, and in the answer
    /// to it.
    pub prefix_tokens: usize,
    /// Why the engine has seen more tokens than these, if it has.
    pub prefix_break: Option<PrefixBreak>,
}

impl PromptBuilder {
    /// The turns of a dialogue as prompts, one after the other.
    pub fn turns(&self, plan: TurnPlan) -> Turns {
        Turns { builder: self.before_turn(), plan, seen: None, strip_thoughts: false }
    }
}

impl Turns {
    /// Whether a model's thoughts, up to `</think>`, are removed from its answers in later prompts.
    #[must_use]
    pub fn strip_thoughts(mut self, strip: bool) -> Self {
        self.strip_thoughts = strip;
        self
    }

    /// The prompt of the next turn to answer; none when all are answered. Without an answer it is the same again.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`].
    pub fn next_prompt(&mut self) -> Result<Option<TurnPrompt>> {
        let (Some(conversation), Some(turn)) = (self.plan.prompt(), self.plan.turn()) else { return Ok(None) };
        let prompt = self.builder.build(&conversation)?;
        let answered = self.seen.as_ref().filter(|(_, seen)| seen.answer != Answer::None);
        let (prefix_tokens, prefix_break) = match answered {
            None => (0, None),
            Some((before, seen)) => {
                let prefix = seen.prefix(&prompt);
                let takes_answers = self.plan.mode().takes_answers();
                let why = || seen.prefix_break(prefix, before, &self.builder, takes_answers);
                (prefix, (prefix < seen.ids.len()).then(why).transpose()?)
            }
        };
        if answered.is_some() || self.seen.is_none() {
            self.seen = Some((conversation.clone(), Seen::new(&prompt, self.strip_thoughts)));
        }
        Ok(Some(TurnPrompt { turn, conversation, prompt, prefix_tokens, prefix_break }))
    }

    /// Adds the answer as the engine's ids, up to the first stop: ids after it are ignored, and the template itself
    /// writes the end of a turn. A chat template works on text, and is given that of the ids without special
    /// tokens.
    ///
    /// # Errors
    /// Names an id outside the vocabulary.
    pub fn answer_ids(&mut self, ids: &[TokenId]) -> Result<()> {
        self.answer_generated(ids, None)
    }

    /// Adds the answer as the engine's ids, which ends at `stop` even if the builder does not have that stop.
    pub(crate) fn answer_generated(&mut self, ids: &[TokenId], stop: Option<&Stop>) -> Result<()> {
        let (said, read) = answer::read(&self.builder, ids, stop, self.strip_thoughts, ReservedTokens::LeftOut)?;
        if let Some((_, seen)) = &mut self.seen {
            seen.answered(&ids[..read]);
            seen.stop = match stop {
                Some(Stop::Token { token_id, .. }) => Some(*token_id),
                Some(Stop::String { .. }) | None => None,
            };
        }
        self.plan.answer(said);
        Ok(())
    }

    /// Adds the answer as text, up to the first stop string, or the text of a stop id that is an added token.
    pub fn answer_text(&mut self, text: impl Into<String>) {
        if let Some((_, seen)) = &mut self.seen {
            seen.answer = Answer::Text;
        }
        let text = text.into();
        self.plan.answer(answer::read_text(&self.builder, &text, self.strip_thoughts));
    }

    pub(crate) fn builder(&self) -> &PromptBuilder {
        &self.builder
    }

    /// The turn to generate, and the answers so far.
    pub fn plan(&self) -> &TurnPlan {
        &self.plan
    }

    /// There is no answer: the engine failed. The later turns are not generated.
    pub fn fail(&mut self) {
        self.plan.fail();
    }
}
