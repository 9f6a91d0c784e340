//! Writes prompts one after the other, as token ids or as messages.

use std::fmt;
use std::ops::Range;

use serde_json::value::RawValue;

use crate::answers::ModelAnswers;
use crate::assemble::Detail;
use crate::build::scored_prompt::{begin_without_context, detail_for, labels_of};
use crate::build::{MessagesForm, Written};
use crate::builder::{PromptBuilder, Session};
use crate::conversation::Conversation;
use crate::dataset::{MaxOutLen, RowKey, RowPrompt, SamplingParams, ScoredText, TurnPlan};
use crate::error::{At, ErrorKind, Place, Result};
use crate::render::Omissions;
use crate::sink::{BuiltPrompt, CHOICE, PromptKey, PromptRecord, Sink, no_place};
use crate::tokenizer::TokenId;
use crate::truncate::{ContextBudget, Fitted};
use crate::turns::TurnPrompt;

/// Prompts as token ids: how they are built, and how they are written.
pub struct IdsForm {
    /// The builder.
    pub builder: PromptBuilder,
    /// The output format.
    pub sink: Sink,
    /// How many tokens an answer may have if its row has no limit.
    pub max_out_len: Option<u64>,
    /// How answers are sampled.
    pub sampling_params: SamplingParams,
    /// How long prompts may be, and what is dropped if they are longer.
    pub budget: Option<ContextBudget>,
    /// Whether the text of a prompt is written too.
    pub text: bool,
    /// Whether the labels of a text to score are written too.
    pub labels: bool,
    /// Whether prompts with an image, audio or video whose file is missing are rejected.
    pub check_files: bool,
    /// What built the prompts, to be written with each one.
    pub fingerprint: Option<Box<RawValue>>,
}

impl IdsForm {
    /// Prompts of any length, with only their ids.
    pub fn new(builder: PromptBuilder, sink: Sink) -> Self {
        Self {
            builder,
            sink,
            max_out_len: None,
            sampling_params: SamplingParams::default(),
            budget: None,
            text: false,
            labels: false,
            check_files: false,
            fingerprint: None,
        }
    }
}

impl fmt::Debug for IdsForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdsForm").field("builder", &self.builder).field("budget", &self.budget).finish_non_exhaustive()
    }
}

/// Prompts that are written: lines, or parts of a file.
#[derive(Debug, Default)]
pub(crate) struct Out {
    pub(crate) lines: Vec<u8>,
    pub(crate) records: Vec<PromptRecord>,
}

impl Out {
    /// The current length.
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.lines.len(), self.records.len())
    }

    /// Removes what was added later.
    pub(crate) fn truncate(&mut self, (lines, records): (usize, usize)) {
        self.lines.truncate(lines);
        self.records.truncate(records);
    }

    fn push(&mut self, sink: &Sink, key: &PromptKey<'_>, built: &BuiltPrompt<'_>) -> Result<()> {
        match sink {
            Sink::Lines(sink) => sink.write(key, built, &mut self.lines),
            Sink::File(sink) => {
                self.records.push(PromptRecord::new(sink.unit(), key, built)?);
                Ok(())
            }
        }
    }
}

/// A prompt to write.
#[derive(Clone, Copy)]
pub(crate) struct PromptRequest<'p> {
    pub(super) key: PromptKey<'p>,
    pub(super) conversation: &'p Conversation,
    pub(super) scored: &'p ScoredText,
    pub(super) choices: &'p [String],
    pub(super) examples: &'p [Range<usize>],
    pub(super) tools: Option<&'p str>,
}

/// Writes prompts one after the other, on one thread.
pub(crate) enum PromptWriter<'f> {
    Ids(&'f IdsForm, &'f mut Session),
    Messages(&'f MessagesForm),
}

impl<'p> PromptRequest<'p> {
    /// A prompt of a row with this key.
    pub(super) fn of_row(row: &'p RowKey, prompt: &'p RowPrompt) -> Self {
        let key = PromptKey {
            label: prompt.label.as_ref(),
            label_index: prompt.label_index,
            is_normalizing: prompt.is_normalizing,
            turn: prompt.turn,
            max_out_len: prompt.max_out_len,
            ..PromptKey::from(row)
        };
        let RowPrompt { conversation, scored, choices, examples, tools, .. } = prompt;
        Self { key, conversation, scored, choices, examples, tools: tools.as_deref() }
    }
}

impl PromptWriter<'_> {
    /// How many tokens a prompt has; an estimate for messages.
    pub(crate) fn tokens(&mut self, conversation: &Conversation) -> Result<usize> {
        match self {
            Self::Ids(ids, session) => Ok(session.build(&*ids.builder.prepared(conversation)?)?.input_ids.len()),
            Self::Messages(messages) => messages.estimated_tokens(conversation),
        }
    }

    /// What the template leaves out of a conversation.
    pub(crate) fn omissions<'c>(&self, conversation: &'c Conversation) -> Omissions<'c> {
        match self {
            Self::Ids(ids, _) => ids.builder.omissions(conversation),
            Self::Messages(messages) => messages.omissions(conversation),
        }
    }

    /// Appends a prompt.
    pub(crate) fn write(&mut self, prompt: PromptRequest<'_>, out: &mut Out) -> Result<Written> {
        match self {
            Self::Ids(ids, session) => ids.write(prompt, session, out),
            Self::Messages(_) if !prompt.choices.is_empty() => Err(no_place("messages have", CHOICE)),
            Self::Messages(messages) => messages.write(&prompt.key, prompt.conversation, prompt.tools, &mut out.lines),
        }
    }

    /// Appends the prompts of a dialogue's turns, each with the model's answers in earlier turns, up to the first
    /// unanswered turn.
    pub(crate) fn write_turns(
        &mut self,
        row: &RowKey,
        plan: TurnPlan,
        max_out_len: &MaxOutLen,
        answers: &ModelAnswers,
        out: &mut Out,
    ) -> Result<Written> {
        match self {
            Self::Ids(ids, _) => ids.write_turns(row, plan, max_out_len, answers, out),
            Self::Messages(messages) => messages.write_turns(row, plan, max_out_len, answers, &mut out.lines),
        }
    }
}

impl IdsForm {
    /// What a thread builds with: conversations that are prepared.
    pub(super) fn session(&self) -> Session {
        self.builder.of_prepared().session()
    }

    fn write(&self, request: PromptRequest<'_>, session: &mut Session, out: &mut Out) -> Result<Written> {
        let key = request.key;
        let conversation = &*self.builder.prepared(request.conversation)?;
        // After an answer that a prompt list keeps, another one is asked for already.
        let is_list = matches!(request.conversation, Conversation::List(_));
        let keeps_answer = key.turn.is_some() && !is_list && self.builder.omits_answer(conversation);
        let of_turn = keeps_answer.then(|| self.builder.before_turn());
        let mut session_of_turn = of_turn.as_ref().map(|builder| builder.of_prepared().session());
        let (builder, session) =
            (of_turn.as_ref().unwrap_or(&self.builder), session_of_turn.as_mut().unwrap_or(session));
        conversation.check_media(self.check_files)?;
        let detail = self.detail(request.scored);
        let Fitted { mut prompt, truncated, conversation: made } = match self.budget {
            None => Fitted::whole(session.build_with(conversation, detail)?),
            Some(budget) => {
                let (builder, budget) = (builder.with_detail(detail), budget.of_answer(key.max_out_len));
                builder.fit(request.conversation, conversation, request.examples, &budget)?
            }
        };
        let conversation = made.as_ref().unwrap_or(conversation);
        begin_without_context(&mut prompt, conversation, request.scored, builder)?;
        let labels = match self.needs_labels(request.scored) {
            true => labels_of(&prompt, conversation, request.scored, session)?,
            false => None,
        };
        if !self.text {
            prompt.text = None;
        }
        if !self.builder.detail().spans {
            prompt.spans = None;
        }
        let choice_ids = request.choices.iter().map(|choice| one_token(choice, &self.builder));
        let choice_ids = choice_ids.collect::<Result<Vec<_>>>().at(Place::column("choices"))?;
        let built = BuiltPrompt {
            labels: labels.as_deref(),
            choice_ids: &choice_ids,
            truncated: truncated.as_ref(),
            conversation: Some(conversation),
            ..BuiltPrompt::from(&prompt)
        };
        let max_out_len = key.max_out_len.or(self.max_out_len);
        out.push(&self.sink, &PromptKey { max_out_len, ..self.key(key) }, &built)?;
        Ok(Written { truncated: u64::from(truncated.is_some()), ..Written::of(prompt) })
    }

    /// What is recorded of a prompt: with labels, also where the scored part is, so that it is built only once.
    fn detail(&self, scored: &ScoredText) -> Detail {
        let detail = self.builder.detail();
        if self.needs_labels(scored) { detail_for(detail, scored) } else { detail }
    }

    /// Whether it is asked which tokens are scored, or a file that cannot hold this has to refuse it.
    fn needs_labels(&self, scored: &ScoredText) -> bool {
        self.labels || *scored != ScoredText::Whole && matches!(self.sink, Sink::File(_))
    }

    fn write_turns(
        &self,
        row: &RowKey,
        plan: TurnPlan,
        max_out_len: &MaxOutLen,
        answers: &ModelAnswers,
        out: &mut Out,
    ) -> Result<Written> {
        let mut written = Written::default();
        let mut turns = self.builder.turns(plan).strip_thoughts(answers.strips_thoughts());
        while let Some(TurnPrompt { turn, conversation, prompt, prefix_tokens, prefix_break }) = turns.next_prompt()? {
            conversation.check_media(self.check_files)?;
            let max_out_len = turns.plan().max_out_len(max_out_len)?.or(self.max_out_len);
            let key = PromptKey { turn: Some(turn), max_out_len, ..self.key(PromptKey::from(row)) };
            let built = BuiltPrompt {
                conversation: Some(&conversation),
                prefix_tokens: (turn > 0).then_some(prefix_tokens),
                prefix_break: prefix_break.as_ref(),
                ..BuiltPrompt::from(&prompt)
            };
            out.push(&self.sink, &key, &built)?;
            written.add(Written::of(prompt));
            if !answers.answer(row, &mut turns)? {
                written.waiting = u64::from(turns.plan().needs_answers());
                break;
            }
        }
        Ok(written)
    }

    /// With the values that all prompts share.
    fn key<'k>(&'k self, key: PromptKey<'k>) -> PromptKey<'k> {
        PromptKey { fingerprint: self.fingerprint.as_deref(), sampling_params: self.sampling_params, ..key }
    }
}

/// A choice must be one token, because the model's next token is compared.
fn one_token(choice: &str, builder: &PromptBuilder) -> Result<TokenId> {
    match builder.tokenizer().encode(choice)?[..] {
        [id] => Ok(id),
        ref ids => Err(ErrorKind::Row(format!(
            "the choice {choice:?} is {} tokens, but only the model's next token is compared; use choices that are one token each, or score them with PPLInferencer",
            ids.len()
        ))
        .into()),
    }
}
