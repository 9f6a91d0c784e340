//! Dialogues as token ids, where each prompt begins with what the engine has seen.
//!
//! ```
//! use metatok::PromptBuilder;
//!
//! let mut dialogue = PromptBuilder::demo()?.dialogue();
//! dialogue.push(("user", "Which planet is red?"));
//! let first = dialogue.next_prompt()?;
//! dialogue.answer_ids(&[44, 695, 1052])?;
//! dialogue.push(("user", "How many moons has it?"));
//! // The engine has the prompt and the answer in its cache.
//! assert_eq!(dialogue.next_prompt()?.prefix_tokens, first.prompt.input_ids.len() + 3);
//! # Ok::<(), metatok::Error>(())
//! ```

mod answer;
mod dialogue;
mod dialogue_state;
mod prefix_break;
mod seen;

use crate::assemble::TokenizedPrompt;
use crate::builder::{PromptBuilder, Session};
use crate::conversation::Conversation;
use crate::dataset::TurnPlan;
use crate::error::Result;
use crate::tokenizer::TokenId;
pub(crate) use answer::without_thoughts;
pub use dialogue::{Dialogue, DialoguePrompt};
pub use dialogue_state::DialogueState;
pub use prefix_break::PrefixBreak;
use seen::{Answer, Seen};

/// Yields the prompts of a dataset's dialogue, one turn after the other, and takes the model's answers. [`Dialogue`] is for one whose
/// messages come later.
///
/// An answer given as ids is written as those ids, so that the next prompt begins with exactly the tokens
/// that the engine has in its cache; [`TurnPrompt::prefix_tokens`] says how many.
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
/// // What the engine gives: "2", and <|im_end|>.
/// turns.answer_ids(&[17, 1052])?;
/// let second = turns.next_prompt()?.expect("there are two turns");
/// assert_eq!(second.prefix_tokens, first.input_ids.len() + 2);
/// assert!(second.prompt.input_ids.starts_with(&[first.input_ids, vec![17, 1052]].concat()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Turns {
    session: Session,
    plan: TurnPlan,
    /// With the conversation that its prompt was made of.
    seen: Option<(Conversation, Seen)>,
    strip_thoughts: bool,
}

/// The prompt of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnPrompt {
    /// Which of the model's turns, from 0.
    pub turn: usize,
    /// What it was made of.
    pub conversation: Conversation,
    /// The prompt.
    pub prompt: TokenizedPrompt,
    /// How many of its first tokens are the first of what the engine has seen: the prompt of the turn
    /// before, and the answer to it.
    pub prefix_tokens: usize,
    /// Why these are not all of them, if they are not.
    pub prefix_break: Option<PrefixBreak>,
}

impl PromptBuilder {
    /// The turns of a dialogue as prompts, one after the other.
    pub fn turns(&self, plan: TurnPlan) -> Turns {
        Turns { session: self.session(), plan, seen: None, strip_thoughts: false }
    }
}

impl Turns {
    /// Whether a model's thoughts, up to `</think>`, are taken out of its answers before they go back in.
    #[must_use]
    pub fn strip_thoughts(mut self, strip: bool) -> Self {
        self.strip_thoughts = strip;
        self
    }

    /// The prompt of the turn that is to be answered next; nothing when all were. Without an answer it is
    /// the same again.
    ///
    /// # Errors
    /// As [`PromptBuilder::build`].
    pub fn next_prompt(&mut self) -> Result<Option<TurnPrompt>> {
        let (Some(conversation), Some(turn)) = (self.plan.prompt(), self.plan.turn()) else { return Ok(None) };
        let prompt = self.session.build(&conversation)?;
        let answered = self.seen.as_ref().filter(|(_, seen)| seen.answer != Answer::None);
        let (prefix_tokens, prefix_break) = match answered {
            None => (0, None),
            Some((before, seen)) => {
                let prefix = seen.prefix(&prompt);
                let takes_answers = self.plan.mode().takes_answers();
                let why = || seen.prefix_break(prefix, before, self.session.builder(), takes_answers);
                (prefix, (prefix < seen.ids.len()).then(why).transpose()?)
            }
        };
        if answered.is_some() || self.seen.is_none() {
            self.seen = Some((conversation.clone(), Seen::new(&prompt, self.strip_thoughts)));
        }
        Ok(Some(TurnPrompt { turn, conversation, prompt, prefix_tokens, prefix_break }))
    }

    /// Takes the answer as the engine's ids, to the first stop id: what comes behind it does not count, and
    /// the template itself writes how a turn ends.
    ///
    /// # Errors
    /// Names an id outside the vocabulary.
    pub fn answer_ids(&mut self, ids: &[TokenId]) -> Result<()> {
        let (said, read) = answer::read(self.session.builder(), ids, self.strip_thoughts)?;
        if let Some((_, seen)) = &mut self.seen {
            seen.answered(&ids[..read]);
        }
        self.plan.answer(vec![said]);
        Ok(())
    }

    /// Takes the answer as text.
    pub fn answer_text(&mut self, text: impl Into<String>) {
        if let Some((_, seen)) = &mut self.seen {
            seen.answer = Answer::Text;
        }
        let text = text.into();
        self.plan.answer(if self.strip_thoughts { without_thoughts(&text) } else { &text });
    }

    /// What is asked for, and what was answered.
    pub fn plan(&self) -> &TurnPlan {
        &self.plan
    }

    /// There is no answer: the engine failed. The turns behind are not asked for.
    pub fn fail(&mut self) {
        self.plan.fail();
    }
}
