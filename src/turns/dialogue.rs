//! A dialogue that grows: messages are added one by one, and its prompts fit into the model's context.

use crate::assemble::TokenizedPrompt;
use crate::builder::{PromptBuilder, Session};
use crate::conversation::{ChatMessage, Conversation};
use crate::error::Result;
use crate::tokenizer::TokenId;
use crate::truncate::{ContextBudget, Truncated};
use crate::turns::answer::ReservedTokens;
use crate::turns::seen::{Answer, Seen};
use crate::turns::{PrefixBreak, answer, without_thoughts};

/// A dialogue with a model, of any duration. It owns its builder.
///
/// Answers given as ids are written as those ids, so the next prompt begins with the tokens that are already in the
/// engine's cache. [`DialoguePrompt::prefix_tokens`] is their number.
///
/// ```
/// use metatok::truncate::Truncation;
/// use metatok::{ContextBudget, PromptBuilder};
///
/// let budget = ContextBudget::new(60, 8).truncation(Truncation::OldestTurns);
/// let mut dialogue = PromptBuilder::demo()?.dialogue().budget(budget);
/// dialogue.push(("user", "Which planet is red?"));
/// let first = dialogue.next_prompt()?;
/// // The engine's output: "Mars", and <|im_end|>.
/// dialogue.answer_ids(&[44, 695, 1052])?;
/// dialogue.push(("user", "How many moons has it?"));
/// let second = dialogue.next_prompt()?;
/// assert_eq!(second.prefix_tokens, first.prompt.input_ids.len() + 3);
///
/// dialogue.answer_text("Two.");
/// dialogue.push(("user", "What is the capital of France?"));
/// let third = dialogue.next_prompt()?;
/// // It would have been too long: the first question and its answer are gone.
/// assert_eq!(third.dropped.len(), 2);
/// assert!(third.prompt.input_ids.len() <= 52);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug)]
pub struct Dialogue {
    pub(super) session: Session,
    pub(super) messages: Vec<ChatMessage>,
    pub(super) budget: Option<ContextBudget>,
    pub(super) strip_thoughts: bool,
    pub(super) seen: Option<SeenPrompt>,
}

/// What the engine has seen of a dialogue.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct SeenPrompt {
    /// This many of the messages were in the prompt.
    pub(super) messages: usize,
    /// Whether tokens of them were cut.
    pub(super) is_cut: bool,
    #[serde(flatten)]
    pub(super) seen: Seen,
}

/// The next prompt of a [`Dialogue`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DialoguePrompt {
    /// The prompt.
    pub prompt: TokenizedPrompt,
    /// How many of its first tokens the engine has already seen: in the previous prompt, and in the answer to it.
    pub prefix_tokens: usize,
    /// Why the engine has seen more tokens than these, if it has.
    pub prefix_break: Option<PrefixBreak>,
    /// What was dropped so that it fits.
    pub truncated: Option<Truncated>,
    /// The messages that were dropped entirely. They are not in any later prompt either.
    pub dropped: Vec<ChatMessage>,
}

impl PromptBuilder {
    /// A dialogue without messages.
    pub fn dialogue(&self) -> Dialogue {
        let session = self.session();
        Dialogue { session, messages: Vec::new(), budget: None, strip_thoughts: false, seen: None }
    }
}

impl Dialogue {
    /// Sets the room for the answers, and what is dropped if a prompt is too long.
    #[must_use]
    pub fn budget(mut self, budget: ContextBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Whether a model's thoughts, up to `</think>`, are removed from its answers in later prompts.
    #[must_use]
    pub fn strip_thoughts(mut self, strip: bool) -> Self {
        self.strip_thoughts = strip;
        self
    }

    /// Adds a message. Add the model's answers with [`Self::answer_ids`] or [`Self::answer_text`] instead.
    pub fn push(&mut self, message: impl Into<ChatMessage>) {
        self.messages.push(message.into());
    }

    /// Takes back the last message, for example one that [`Self::next_prompt`] refuses; none if it was in a prompt, or is the
    /// answer to one.
    ///
    /// ```
    /// let mut dialogue = metatok::PromptBuilder::demo()?.dialogue();
    /// dialogue.push(("user", "Which planet is red?"));
    /// dialogue.push(("tool", "Mars"));
    /// assert!(dialogue.next_prompt().is_err());
    /// assert_eq!(dialogue.pop().map(|message| message.role).as_deref(), Some("tool"));
    /// dialogue.next_prompt()?;
    /// assert_eq!(dialogue.pop(), None);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn pop(&mut self) -> Option<ChatMessage> {
        let is_answered = |SeenPrompt { seen, .. }: &SeenPrompt| usize::from(seen.answer != Answer::None);
        let seen = self.seen.as_ref().map_or(0, |prompt| prompt.messages + is_answered(prompt));
        if self.messages.len() > seen { self.messages.pop() } else { None }
    }

    /// Adds the model's answer as the engine's ids, up to the first stop id: ids after it are ignored, and the template
    /// itself writes the end of a turn. A chat template works on text, and is given that of the ids, in which reserved
    /// tokens such as `<tool_call>` stay tokens.
    ///
    /// # Errors
    /// Names an id outside the vocabulary.
    pub fn answer_ids(&mut self, ids: &[TokenId]) -> Result<()> {
        let (said, read) = answer::read(self.session.builder(), ids, self.strip_thoughts, ReservedTokens::Kept)?;
        if let Some(SeenPrompt { seen, .. }) = &mut self.seen {
            seen.answered(&ids[..read]);
        }
        self.push(("assistant", said));
        Ok(())
    }

    /// Adds the model's answer as text.
    pub fn answer_text(&mut self, text: impl Into<String>) {
        if let Some(SeenPrompt { seen, .. }) = &mut self.seen {
            seen.answer = Answer::Text;
        }
        let text = text.into();
        self.push(("assistant", if self.strip_thoughts { without_thoughts(&text) } else { &text }));
    }

    /// The messages of the next prompt.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// What it builds with.
    pub fn builder(&self) -> &PromptBuilder {
        self.session.builder()
    }

    /// The next prompt to answer.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`] and [`PromptBuilder::build_within`]. The dialogue is then unchanged.
    pub fn next_prompt(&mut self) -> Result<DialoguePrompt> {
        let conversation = Conversation::Messages(std::mem::take(&mut self.messages));
        let next = self.build(&conversation);
        if let Conversation::Messages(messages) = conversation {
            self.messages = messages;
        }
        let mut next = next?;
        if let Some(truncated) = &next.truncated {
            let mut at = 0;
            let is_gone = |_: &mut ChatMessage| {
                at += 1;
                truncated.messages.binary_search(&(at - 1)).is_ok()
            };
            next.dropped = self.messages.extract_if(.., is_gone).collect();
        }
        let is_cut = next.truncated.as_ref().is_some_and(|truncated| !truncated.tokens.is_empty());
        let seen = Seen::new(&next.prompt, self.strip_thoughts);
        self.seen = Some(SeenPrompt { messages: self.messages.len(), is_cut, seen });
        Ok(next)
    }

    fn build(&mut self, conversation: &Conversation) -> Result<DialoguePrompt> {
        let (prompt, truncated) = match &self.budget {
            None => (self.session.build(conversation)?, None),
            Some(budget) => {
                let fitted = self.session.builder().build_within(conversation, budget)?;
                (fitted.prompt, fitted.truncated)
            }
        };
        let prefix_tokens = self.seen.as_ref().map_or(0, |SeenPrompt { seen, .. }| seen.prefix(&prompt));
        let is_truncated = truncated.is_some();
        let prefix_break = self.prefix_break(prefix_tokens, conversation, is_truncated)?;
        Ok(DialoguePrompt { prompt, prefix_tokens, prefix_break, truncated, dropped: Vec::new() })
    }

    fn prefix_break(&self, prefix: usize, now: &Conversation, is_truncated: bool) -> Result<Option<PrefixBreak>> {
        let Some(SeenPrompt { messages, is_cut, seen }) = self.seen.as_ref().filter(|it| prefix < it.seen.ids.len())
        else {
            return Ok(None);
        };
        if is_truncated || *is_cut {
            return Ok(Some(PrefixBreak::Truncated));
        }
        if seen.answer == Answer::None {
            return Ok(Some(PrefixBreak::Unanswered));
        }
        let Conversation::Messages(all) = now else { return Ok(None) };
        let before = Conversation::Messages(all[..*messages].to_vec());
        seen.prefix_break(prefix, &before, self.session.builder(), true).map(Some)
    }
}
