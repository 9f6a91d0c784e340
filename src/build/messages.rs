//! Prompts as messages, for servers that apply the template.

use crate::answers::ModelAnswers;
use crate::build::Written;
use crate::builder::BuilderOptions;
use crate::conversation::{ChatMessage, Content, ContentPart, Conversation, Mode};
use crate::dataset::records::OwnRoles;
use crate::dataset::{InputFormat, MaxOutLen, ReadsFor, RecordReader, RowKey, TurnPlan};
use crate::dialect::Model;
use crate::error::{ErrorKind, Result};
use crate::render::{ApiTemplate, Omissions};
use crate::sink::{MessagesJsonl, PromptKey};

/// Prompts as messages: how they are built, and how they are written.
#[derive(Debug)]
pub struct MessagesForm {
    template: ApiTemplate,
    each_message: bool,
    is_chat_wrapper: bool,
    continue_final_message: bool,
    mode: Mode,
    sink: MessagesJsonl,
    check_files: bool,
}

impl MessagesForm {
    /// With the roles of a model, or with OpenAI's if the model is the default. `check_files` rejects images, audio and
    /// video whose file is missing.
    ///
    /// # Errors
    /// The same as for [`Model::to_api`].
    pub fn new(model: &Model, options: &BuilderOptions, check_files: bool) -> Result<Self> {
        let stop_strings: Vec<String> = model.stop.strings.iter().chain(&options.stop_strings).cloned().collect();
        let BuilderOptions { each_message, continue_final_message, mode, .. } = *options;
        let is_chat_wrapper = options.chat_wrapper.or(model.chat_wrapper).is_some();
        // A wrapper knows nothing of another model's roles.
        let mut template = match options.chat_wrapper.filter(|_| model.chat_wrapper.is_none()) {
            Some(wrapper) => wrapper.template(),
            None => model.to_api()?,
        };
        if let ApiTemplate::Roles(roles) = &mut template {
            roles.compat = options.compat;
        }
        let sink = MessagesJsonl::new(stop_strings);
        Ok(Self { template, each_message, is_chat_wrapper, continue_final_message, mode, sink, check_files })
    }

    /// Reads records with what servers have places for. Which roles of tools a server's template has is not known: they stay.
    pub(super) fn record_reader(&self, format: InputFormat) -> RecordReader {
        RecordReader::new(format)
            .reads_for(ReadsFor::Server)
            .keeps_roles(OwnRoles::of(|role| !["human", "gpt", "bot"].contains(&role)))
            .makes_messages(self.is_chat_wrapper)
    }

    /// The purpose of the prompts.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What messages have no place for. What else is left out is up to the server.
    pub(super) fn omissions<'c>(&self, conversation: &'c Conversation) -> Omissions<'c> {
        Omissions { strings: self.template.strings_left_out(conversation), ..Omissions::default() }
    }

    pub(super) fn estimated_tokens(&self, conversation: &Conversation) -> Result<usize> {
        Ok(self.template.prompt(conversation, self.mode)?.estimated_tokens())
    }

    pub(super) fn write_turns(
        &self,
        row: &RowKey,
        mut plan: TurnPlan,
        max_out_len: &MaxOutLen,
        answers: &ModelAnswers,
        out: &mut Vec<u8>,
    ) -> Result<Written> {
        let mut written = Written::default();
        while let (Some(conversation), Some(turn)) = (plan.prompt(), plan.turn()) {
            let max_out_len = plan.max_out_len(max_out_len)?;
            let key = PromptKey { turn: Some(turn), max_out_len, ..PromptKey::from(row) };
            written.add(self.write(&key, &conversation, None, out)?);
            if !answers.answer_messages(row, &mut plan, self.sink.stop())? {
                written.waiting = u64::from(plan.needs_answers());
                break;
            }
        }
        Ok(written)
    }

    pub(super) fn write(
        &self,
        key: &PromptKey<'_>,
        conversation: &Conversation,
        tools: Option<&str>,
        out: &mut Vec<u8>,
    ) -> Result<Written> {
        // A prompt list's messages are converted to new ones, which lack these keys.
        if matches!(conversation, Conversation::List(_)) {
            conversation.check_others()?;
        }
        conversation.check_media(self.check_files)?;
        let mut messages = match conversation {
            conversation if self.is_chat_wrapper => self.chat(conversation)?,
            Conversation::Messages(messages) if self.each_message => self.one_by_one(messages)?,
            conversation => self.template.turn_messages(conversation, self.mode)?,
        };
        let is_list = matches!(conversation, Conversation::List(_));
        // As in token ids, the model's next turn is left to it. A list, and a turn of a dialogue, end there already.
        let may_have_answer =
            self.mode == Mode::Generate && !self.continue_final_message && !is_list && key.turn.is_none();
        let answer = messages.pop_if(|last| may_have_answer && last.role == "assistant");
        if messages.is_empty() || is_list && messages.iter().all(|message| message.content.is_empty()) {
            return Err(ErrorKind::EmptyPrompt { has_text: false }.into());
        }
        for message in &mut messages {
            if let Content::Parts(parts) = &mut message.content {
                *parts = std::mem::take(parts).into_iter().map(ContentPart::for_server).collect();
            }
        }
        self.sink.write_with_tools(key, &messages, tools, out);
        Ok(Written { prompts: 1, answers_omitted: answer.is_some().into(), ..Written::default() })
    }

    /// Messages whose roles have the names that the template gives them, and that stay unchanged apart from that. Source:
    /// `ChatInferencer` of OpenCompass, with an `APITemplateParser`.
    fn one_by_one(&self, messages: &[ChatMessage]) -> Result<Vec<ChatMessage>> {
        let mut named = self.template.each_message(messages)?.turn_messages();
        if let ApiTemplate::Roles(_) = self.template {
            named.iter_mut().zip(messages).for_each(|(named, said)| named.others = said.others.clone());
        }
        Ok(named)
    }

    fn chat(&self, conversation: &Conversation) -> Result<Vec<ChatMessage>> {
        match self.template.chat(conversation, self.mode, self.each_message)?.into_owned() {
            Conversation::Messages(messages) => Ok(messages),
            _ => Ok(Vec::new()),
        }
    }
}
