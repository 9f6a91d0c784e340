//! A dialogue that grows: messages are added one by one, and its prompts fit into the model's context.

use serde_json::{Map, Value};

use crate::assemble::TokenizedPrompt;
use crate::builder::PromptBuilder;
use crate::conversation::{Chat, ChatMessage, Content, Conversation};
use crate::error::{ErrorKind, Result};
use crate::tokenizer::TokenId;
use crate::truncate::{ContextBudget, Fitted, Truncated};
use crate::turns::answer::ReservedTokens;
use crate::turns::seen::{Answer, Seen};
use crate::turns::{PrefixBreak, answer};

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
#[derive(Debug, Clone)]
pub struct Dialogue {
    pub(super) builder: PromptBuilder,
    pub(super) chat: Chat,
    pub(super) budget: Option<ContextBudget>,
    pub(super) headroom: usize,
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
    /// The prompt. Its spans and media number the messages that are left, see [`Dialogue::messages`].
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
        let (builder, chat) = (self.clone(), Chat::default());
        Dialogue { builder, chat, budget: None, headroom: 0, strip_thoughts: false, seen: None }
    }
}

impl Dialogue {
    /// Sets the room for the answers, and what is dropped if a prompt is too long.
    #[must_use]
    pub fn budget(mut self, budget: ContextBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Whenever something is dropped, drops as much more that this many tokens stay free, if it can: the next prompts then
    /// fit, and begin as this one. Without it, each prompt of a dialogue that fills its context drops something.
    ///
    /// ```
    /// use metatok::truncate::Truncation;
    /// use metatok::{ContextBudget, PromptBuilder};
    ///
    /// let breaks = |headroom| {
    ///     let budget = ContextBudget::new(100, 8).truncation(Truncation::OldestTurns);
    ///     let mut dialogue = PromptBuilder::demo()?.dialogue().budget(budget).headroom(headroom);
    ///     let mut breaks = 0;
    ///     for _ in 0..20 {
    ///         dialogue.push(("user", "How many moons has it?"));
    ///         breaks += u32::from(dialogue.next_prompt()?.prefix_break.is_some());
    ///         dialogue.answer_ids(&[17, 1052])?;
    ///     }
    ///     Ok::<_, metatok::Error>(breaks)
    /// };
    /// assert_eq!((breaks(0)?, breaks(50)?), (16, 6));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    #[must_use]
    pub fn headroom(mut self, tokens: usize) -> Self {
        self.headroom = tokens;
        self
    }

    /// Sets the descriptions of tools, a list as in OpenAI's requests, which chat templates read.
    ///
    /// ```
    /// use metatok::dialect::ChatTemplate;
    /// use metatok::{BuilderOptions, Model, PromptBuilder, Tokenizer};
    /// use serde_json::json;
    ///
    /// let source = "{{ tools | tojson }}{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}";
    /// let model = Model::from(ChatTemplate::new("mine", source));
    /// let options = BuilderOptions { text: true, ..BuilderOptions::default() };
    /// let builder = PromptBuilder::new(&model, Tokenizer::demo()?.into(), &options)?;
    /// let mut dialogue = builder.dialogue().tools(json!([{"type": "function", "function": {"name": "moons"}}]));
    /// dialogue.push(("user", "How many?"));
    /// let text = dialogue.next_prompt()?.prompt.text.unwrap_or_default();
    /// assert!(text.starts_with(r#"[{"type": "function", "function": {"name": "moons"}}]<|im_start|>How many?"#));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    #[must_use]
    pub fn tools(mut self, tools: Value) -> Self {
        self.chat.tools = Some(tools);
        self
    }

    /// Sets documents, a list of objects, which chat templates read.
    #[must_use]
    pub fn documents(mut self, documents: Value) -> Self {
        self.chat.documents = Some(documents);
        self
    }

    /// Sets variables of the chat template, such as `enable_thinking`, which come before the model's own.
    #[must_use]
    pub fn chat_template_kwargs(mut self, variables: Map<String, Value>) -> Self {
        self.chat.chat_template_kwargs = variables;
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
        self.chat.messages.push(message.into());
    }

    /// Takes back the last message, for example one that [`Self::next_prompt`] refuses; none if it was in a prompt.
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
        let in_prompt = self.seen.as_ref().map_or(0, |prompt| prompt.messages);
        let last = self.chat.messages.len().checked_sub(1).filter(|last| *last >= in_prompt)?;
        self.take_answer(last);
        self.chat.messages.pop()
    }

    /// Adds the model's answer as the engine's ids, up to the first stop: ids after it are ignored, and the template
    /// itself writes the end of a turn. A chat template works on text, and is given that of the ids, in which reserved
    /// tokens such as `<tool_call>` stay tokens.
    ///
    /// The answer comes before messages that arrived after its prompt. A second answer to the same prompt replaces the
    /// first.
    ///
    /// # Errors
    /// Names an id outside the vocabulary.
    pub fn answer_ids(&mut self, ids: &[TokenId]) -> Result<()> {
        let (said, read) = answer::read(&self.builder, ids, None, self.strip_thoughts, ReservedTokens::Kept)?;
        self.answer(said, |seen| seen.answered(&ids[..read]));
        Ok(())
    }

    /// Adds the model's answer as text, in the same place as [`Self::answer_ids`]: up to the first stop string, or the text
    /// of a stop id that is an added token.
    pub fn answer_text(&mut self, text: impl Into<String>) {
        let text = text.into();
        let said = answer::read_text(&self.builder, &text, self.strip_thoughts);
        self.answer(said, |seen| seen.answer = Answer::Text);
    }

    fn answer(&mut self, said: impl Into<Content>, see: impl FnOnce(&mut Seen)) {
        let at = self.seen.as_ref().map_or(self.chat.messages.len(), |prompt| prompt.messages);
        if self.take_answer(at) {
            self.chat.messages.remove(at);
        }
        if let Some(SeenPrompt { seen, .. }) = &mut self.seen {
            see(seen);
        }
        self.chat.messages.insert(at, ("assistant", said).into());
    }

    /// Forgets that the prompt was answered, if this message is the answer. Returns whether it is.
    fn take_answer(&mut self, message: usize) -> bool {
        let Some(SeenPrompt { messages, seen, .. }) = &mut self.seen else { return false };
        let is_answer = *messages == message && seen.answer != Answer::None;
        if is_answer {
            seen.unanswered();
        }
        is_answer
    }

    /// The messages of the next prompt.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.chat.messages
    }

    /// The messages of the next prompt, with what else a chat template reads.
    pub fn chat(&self) -> &Chat {
        &self.chat
    }

    /// What it builds with.
    pub fn builder(&self) -> &PromptBuilder {
        &self.builder
    }

    /// The next prompt to answer.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`] and [`PromptBuilder::build_within`], and [`ErrorKind::Usage`] if the template
    /// leaves out the last message, because it is an answer. The dialogue is then unchanged.
    pub fn next_prompt(&mut self) -> Result<DialoguePrompt> {
        let conversation = Conversation::from(std::mem::take(&mut self.chat));
        let next = self.build(&conversation);
        self.chat = match conversation {
            Conversation::Chat(chat) => *chat,
            Conversation::Messages(messages) => messages.into(),
            Conversation::Text(_) | Conversation::List(_) => unreachable!("it is a chat"),
        };
        let mut next = next?;
        if next.prompt.answer_omitted {
            let what = "the last message is the model's answer, so there is nothing to answer; push a message first";
            return Err(ErrorKind::Usage(what.into()).into());
        }
        if let Some(truncated) = &next.truncated {
            let mut at = 0;
            let is_gone = |_: &mut ChatMessage| {
                at += 1;
                truncated.messages.binary_search(&(at - 1)).is_ok()
            };
            next.dropped = self.chat.messages.extract_if(.., is_gone).collect();
        }
        let is_cut = next.truncated.as_ref().is_some_and(|truncated| !truncated.tokens.is_empty());
        let seen = Seen::new(&next.prompt, self.strip_thoughts);
        self.seen = Some(SeenPrompt { messages: self.chat.messages.len(), is_cut, seen });
        Ok(next)
    }

    fn build(&self, conversation: &Conversation) -> Result<DialoguePrompt> {
        let (prompt, truncated) = match &self.budget {
            None => (self.builder.build(conversation)?, None),
            Some(budget) => {
                let fitted = self.fit(conversation, budget)?;
                (fitted.prompt, fitted.truncated)
            }
        };
        let prefix_tokens = self.seen.as_ref().map_or(0, |SeenPrompt { seen, .. }| seen.prefix(&prompt));
        let is_truncated = truncated.is_some();
        let prefix_break = self.prefix_break(prefix_tokens, conversation, is_truncated)?;
        Ok(DialoguePrompt { prompt, prefix_tokens, prefix_break, truncated, dropped: Vec::new() })
    }

    fn fit(&self, conversation: &Conversation, budget: &ContextBudget) -> Result<Fitted> {
        let prepared = &*self.builder.prepared(conversation)?;
        let fit = |budget: &ContextBudget| self.builder.fit_rest(conversation, prepared, &[], budget);
        let fitted = fit(budget)?;
        if fitted.truncated.is_none() || self.headroom == 0 {
            return Ok(fitted);
        }
        let shorter = ContextBudget { max_seq_len: budget.max_seq_len.saturating_sub(self.headroom), ..*budget };
        match fit(&shorter) {
            Err(error) if matches!(error.kind(), ErrorKind::TooLong { .. }) => Ok(fitted),
            shorter => shorter,
        }
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
        let messages = now.messages().unwrap_or_default()[..*messages].to_vec();
        let chat = if let Conversation::Chat(chat) = now { (**chat).clone() } else { Chat::default() };
        let before = Conversation::from(Chat { messages, ..chat });
        seen.prefix_break(prefix, &before, &self.builder, true).map(Some)
    }
}
