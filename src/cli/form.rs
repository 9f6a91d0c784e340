//! What a prompt is written as: token ids, or messages.

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::{PromptBuilder, Session};
use crate::cli::answers::{Answer, Answers};
use crate::conversation::{ChatMessage, Conversation, Mode};
use crate::dataset::{MaxOutLen, RowKey, RowPrompt, SamplingParams, ScoredText, TurnPlan};
use crate::error::{At, ErrorKind, Result};
use crate::render::{ApiTemplate, empty_chat};
use crate::sink::{BuiltPrompt, MessagesJsonl, PromptKey, Sink};
use crate::tokenizer::TokenId;
use crate::truncate::{ContextBudget, Fitted};
use crate::turns::{TurnPrompt, without_thoughts};

/// What is written, and what makes it. Shared by all threads.
pub(crate) enum Form {
    Ids(Box<Ids>),
    Messages(Messages),
}

pub(crate) struct Ids {
    pub(crate) builder: PromptBuilder,
    pub(crate) sink: Box<dyn Sink>,
    /// How many tokens an answer may have where its row does not say.
    pub(crate) max_out_len: Option<u64>,
    /// How answers are drawn.
    pub(crate) sampling_params: SamplingParams,
    /// How long prompts may be, and what goes where they are longer.
    pub(crate) budget: Option<ContextBudget>,
    pub(crate) text: bool,
    pub(crate) labels: bool,
    pub(crate) check_files: bool,
    /// What is said of what built a prompt, as JSON.
    pub(crate) fingerprint: Option<String>,
}

pub(crate) struct Messages {
    pub(crate) template: ApiTemplate,
    pub(crate) each_message: bool,
    pub(crate) is_chat_wrapper: bool,
    pub(crate) continue_final_message: bool,
    pub(crate) mode: Mode,
    pub(crate) sink: MessagesJsonl,
    pub(crate) check_files: bool,
}

/// Writes prompts one after the other, on one thread.
pub(crate) enum Writer<'f> {
    Ids(&'f Ids, &'f mut Session),
    Messages(&'f Messages),
}

/// How much was written.
#[derive(Clone, Default)]
pub(crate) struct Written {
    pub(crate) prompts: u64,
    pub(crate) tokens: u64,
    /// How many dialogues wait for an answer.
    pub(crate) waiting: u64,
    /// Of how many prompts something had to go.
    pub(crate) truncated: u64,
    /// How many conversations end with an answer, which was left out.
    pub(crate) answers_omitted: u64,
    /// The special tokens that the prompt had already.
    pub(crate) omitted: Vec<TokenId>,
    /// Those that the tokenizer would have put behind a prompt to continue.
    pub(crate) omitted_end: Vec<TokenId>,
}

impl Form {
    /// What prompts are for.
    pub(crate) fn mode(&self) -> Mode {
        match self {
            Self::Ids(ids) => ids.builder.mode(),
            Self::Messages(messages) => messages.mode,
        }
    }

    /// Whether a server lays the prompts out, which has places that templates lack.
    pub(crate) fn is_for_server(&self) -> bool {
        matches!(self, Self::Messages(_))
    }

    /// What writes token ids.
    pub(crate) fn sink(&self) -> Option<&dyn Sink> {
        match self {
            Self::Ids(ids) => Some(&*ids.sink),
            Self::Messages(_) => None,
        }
    }

    /// What a thread builds with.
    pub(crate) fn session(&self) -> Option<Session> {
        match self {
            Self::Ids(ids) => Some(ids.builder.session()),
            Self::Messages(_) => None,
        }
    }

    pub(crate) fn writer<'f>(&'f self, session: &'f mut Option<Session>) -> Writer<'f> {
        match self {
            Self::Ids(ids) => Writer::Ids(ids, session.get_or_insert_with(|| ids.builder.session())),
            Self::Messages(messages) => Writer::Messages(messages),
        }
    }
}

impl Writer<'_> {
    /// How many tokens a prompt has; as messages, an estimate.
    pub(crate) fn tokens(&mut self, conversation: &Conversation) -> Result<usize> {
        match self {
            Self::Ids(_, session) => Ok(session.build(conversation)?.input_ids.len()),
            Self::Messages(Messages { template, mode, .. }) => {
                Ok(template.prompt(conversation, *mode)?.estimated_tokens())
            }
        }
    }

    /// Appends a prompt.
    pub(crate) fn write(&mut self, key: PromptKey<'_>, prompt: &RowPrompt, out: &mut Vec<u8>) -> Result<Written> {
        let RowPrompt { label, is_normalizing, turn, max_out_len, scored, choices, tools, conversation } = prompt;
        let (turn, max_out_len) = (*turn, *max_out_len);
        let (label, is_normalizing) = (label.as_ref(), *is_normalizing);
        let key = PromptKey { label, is_normalizing, turn, max_out_len, ..key };
        match self {
            Self::Ids(ids, session) => {
                let conversation = &*ids.builder.prepared(conversation)?;
                check_media(conversation, ids.check_files)?;
                let fitted = match ids.budget {
                    Some(budget) => ids.builder.build_within(conversation, &budget.of_answer(max_out_len))?,
                    None => Fitted { prompt: session.build(conversation)?, truncated: None, conversation: None },
                };
                let Fitted { mut prompt, truncated, conversation: left } = fitted;
                let conversation = left.as_ref().unwrap_or(conversation);
                let needs_bytes = !matches!(scored, ScoredText::Whole | ScoredText::Continuation(_));
                if ids.labels && needs_bytes && prompt.offsets.is_none() {
                    let detail = Detail { offsets: true, text: true, ..ids.builder.detail() };
                    prompt = ids.builder.build_with(conversation, detail)?;
                }
                let labels = match (ids.labels, scored) {
                    (false, _) => None,
                    (true, ScoredText::Continuation(bytes)) => {
                        Some(prompt.labels_behind(ids.builder.context_tokens(conversation, *bytes)?)?)
                    }
                    (true, _) => prompt.labels(scored.bytes(prompt.text.as_deref().unwrap_or_default())?),
                };
                if !ids.text {
                    prompt.text = None;
                }
                let choice_ids = choices.iter().map(|choice| one_token(choice, &ids.builder));
                let choice_ids = choice_ids.collect::<Result<Vec<_>>>().at("column \"choices\"")?;
                let (labels, truncated) = (labels.as_deref(), truncated.as_ref());
                let built = BuiltPrompt { labels, choice_ids: &choice_ids, truncated, ..BuiltPrompt::from(&prompt) };
                let (max_out_len, fingerprint) = (max_out_len.or(ids.max_out_len), ids.fingerprint.as_deref());
                let key = PromptKey { max_out_len, fingerprint, sampling_params: ids.sampling_params, ..key };
                ids.sink.write(&key, &BuiltPrompt { conversation: Some(conversation), ..built }, out)?;
                Ok(Written { truncated: u64::from(truncated.is_some()), ..Written::of(prompt) })
            }
            Self::Messages(messages) => messages.write(&key, conversation, tools.as_deref(), out),
        }
    }

    /// Appends the prompts of a dialogue's turns, each with the model's answers in those before, up to the
    /// first that is not answered.
    pub(crate) fn write_turns(
        &mut self,
        row: &RowKey,
        mut plan: TurnPlan,
        max_out_len: &MaxOutLen,
        answers: &Answers,
        out: &mut Vec<u8>,
    ) -> Result<Written> {
        let key = PromptKey::from(row);
        let mut written = Written::default();
        match self {
            Self::Ids(ids, _) => {
                let mut turns = ids.builder.turns(plan).strip_thoughts(answers.strip_thoughts);
                while let Some(prompt) = turns.next_prompt()? {
                    let TurnPrompt { turn, conversation, prompt, prefix_tokens, prefix_break } = prompt;
                    check_media(&conversation, ids.check_files)?;
                    let max_out_len = turns.plan().max_out_len(max_out_len)?.or(ids.max_out_len);
                    let (fingerprint, sampling_params) = (ids.fingerprint.as_deref(), ids.sampling_params);
                    let key = PromptKey { turn: Some(turn), max_out_len, sampling_params, fingerprint, ..key };
                    let built = BuiltPrompt {
                        conversation: Some(&conversation),
                        prefix_tokens: (turn > 0).then_some(prefix_tokens),
                        prefix_break: prefix_break.as_ref(),
                        ..BuiltPrompt::from(&prompt)
                    };
                    ids.sink.write(&key, &built, out)?;
                    written.add(Written::of(prompt));
                    match answers.get(row, turn) {
                        Some(answer) => answer.give(&mut turns)?,
                        None => {
                            written.waiting = u64::from(turns.plan().needs_answers());
                            return Ok(written);
                        }
                    }
                }
            }
            Self::Messages(messages) => {
                while let (Some(conversation), Some(turn)) = (plan.prompt(), plan.turn()) {
                    let key = PromptKey { turn: Some(turn), max_out_len: plan.max_out_len(max_out_len)?, ..key };
                    written.add(messages.write(&key, &conversation, None, out)?);
                    match answers.get(row, turn) {
                        Some(Answer { text: Some(text), .. }) if answers.strip_thoughts => {
                            plan.answer(without_thoughts(text));
                        }
                        Some(Answer { text: Some(text), .. }) => plan.answer(text),
                        Some(Answer { error: Some(_), .. }) => plan.fail(),
                        Some(_) => {
                            let what = "it has token ids and no text, which messages need; add its text";
                            return Err(ErrorKind::Row(what.into())).at(format_args!("the answer to turn {turn}"));
                        }
                        None => {
                            written.waiting = u64::from(plan.needs_answers());
                            return Ok(written);
                        }
                    }
                }
            }
        }
        Ok(written)
    }
}

impl Messages {
    fn write(
        &self,
        key: &PromptKey<'_>,
        conversation: &Conversation,
        tools: Option<&str>,
        out: &mut Vec<u8>,
    ) -> Result<Written> {
        // A prompt list's messages become others, which lack these keys.
        if matches!(conversation, Conversation::List(_)) {
            conversation.check_others()?;
        }
        check_media(conversation, self.check_files)?;
        let mut answers_omitted = 0;
        let mut messages = match conversation {
            conversation if self.is_chat_wrapper => self.chat(conversation)?,
            // One by one they stay as they are.
            Conversation::Messages(messages) if self.each_message && messages.is_empty() => return Err(empty_chat()),
            Conversation::Messages(messages) if self.each_message => messages.clone(),
            conversation => self.template.messages(conversation, self.mode)?,
        };
        // As in token ids, the turn that the model is to take is its own.
        if self.mode == Mode::Generate && !self.continue_final_message {
            answers_omitted = u64::from(messages.pop_if(|last| last.role == "assistant").is_some());
        }
        self.sink.write_with_tools(key, &messages, tools, out);
        Ok(Written { prompts: 1, answers_omitted, ..Written::default() })
    }
}

impl Written {
    fn of(prompt: TokenizedPrompt) -> Self {
        let TokenizedPrompt { input_ids, omitted, omitted_end, answer_omitted, .. } = prompt;
        let (tokens, answers_omitted) = (input_ids.len() as u64, u64::from(answer_omitted));
        Self { prompts: 1, tokens, answers_omitted, omitted, omitted_end, ..Self::default() }
    }

    /// Of what is omitted, the first is enough to be said.
    pub(crate) fn add(&mut self, other: Self) {
        self.prompts += other.prompts;
        self.tokens += other.tokens;
        self.waiting += other.waiting;
        self.truncated += other.truncated;
        self.answers_omitted += other.answers_omitted;
        if self.omitted.is_empty() {
            self.omitted = other.omitted;
        }
        if self.omitted_end.is_empty() {
            self.omitted_end = other.omitted_end;
        }
    }
}

impl Messages {
    fn chat(&self, conversation: &Conversation) -> Result<Vec<ChatMessage>> {
        match self.template.chat(conversation, self.mode, self.each_message)?.into_owned() {
            Conversation::Messages(messages) => Ok(messages),
            _ => Ok(Vec::new()),
        }
    }
}

/// Checks every image, audio and video, see [`crate::conversation::Media::check`].
fn check_media(conversation: &Conversation, files: bool) -> Result<()> {
    let mut media = conversation.media();
    media.try_for_each(|(message, _, media)| media.check(files).at(format_args!("message {message}")))
}

/// A choice must be one token, for the model's next token is what is compared.
fn one_token(choice: &str, builder: &PromptBuilder) -> Result<TokenId> {
    match builder.tokenizer().encode(choice)?[..] {
        [id] => Ok(id),
        ref ids => Err(ErrorKind::Row(format!(
            "the choice {choice:?} is {} tokens, and the model's next one is compared; name choices that are one token each, or score them with PPLInferencer",
            ids.len()
        ))
        .into()),
    }
}
