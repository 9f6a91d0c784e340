//! Building many prompts with the same buffers.

use std::ops::Range;
use std::sync::{LazyLock, PoisonError};

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::buffers::Buffers;
use crate::builder::{PromptBuilder, RunCounts};
use crate::conversation::{Chat, ChatMessage, Conversation, Mode};
use crate::error::Result;
use crate::render::{Segment, Segments, TextArena, is_answer};
use crate::tokenizer::{Counts, TokenId};

impl PromptBuilder {
    /// Builds many prompts on one thread with the same buffers, which are shared with this builder and its clones.
    pub fn session(&self) -> Session {
        let idle = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let buffers = idle.unwrap_or_default();
        Session {
            counted: buffers.assemble.cache.counts(),
            builder: self.clone(),
            messages: Conversation::Messages(Vec::new()),
            prompt: TokenizedPrompt::default(),
            buffers: Some(buffers),
            shortcut: None,
        }
    }

    /// How many tokens of a text to score come before its last bytes, this many, which are scored. As in
    /// lm-evaluation-harness, these are the tokens of the text before alone, and white space at its end is scored too.
    ///
    /// ```
    /// use metatok::{Conversation, Model, PromptBuilder, Tokenizer};
    ///
    /// let builder = PromptBuilder::new(&Model::default(), Tokenizer::demo()?.into(), &Default::default())?;
    /// let text = Conversation::Text("Which planet is red? Mars".into());
    /// let prompt = builder.build(&text)?;
    /// let scored = &prompt.input_ids[builder.context_tokens(&text, " Mars".len())?..];
    /// assert_eq!(builder.tokenizer().decode(scored, false)?, " Mars");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::build`], and [`ErrorKind::Conversation`](crate::ErrorKind::Conversation) if the text does not end
    /// with content.
    pub fn context_tokens(&self, conversation: &Conversation, scored_bytes: usize) -> Result<usize> {
        let conversation = &*self.prepared(conversation)?;
        let arena = TextArena::default();
        let mut segments = self.segments(conversation, &arena)?;
        self.shared.assembler.cut_continuation(&mut segments, scored_bytes)?;
        Ok(self.ids_of(&segments)?.len())
    }

    /// How many of the first ids of a conversation's prompt are those of its messages without so many last ones, with what
    /// the template writes before an answer.
    ///
    /// ```
    /// use metatok::{BuilderOptions, ChatMessage, Conversation, Mode, Model, PromptBuilder, Tokenizer};
    ///
    /// let options = BuilderOptions { mode: Mode::Score, ..BuilderOptions::default() };
    /// let builder = PromptBuilder::new(&Model::load("demo")?, Tokenizer::demo()?.into(), &options)?;
    /// let chat: Conversation = [("user", "1+1=?"), ("assistant", "2")].into_iter().collect();
    /// let ids = builder.build(&chat)?.input_ids;
    /// let before = builder.tokens_before(&chat, 1, &ids)?;
    /// assert_eq!(builder.tokenizer().decode(&ids[before..], false)?, "2<|im_end|>\n");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::build`].
    pub fn tokens_before(&self, conversation: &Conversation, last_messages: usize, ids: &[TokenId]) -> Result<usize> {
        let before = match &*self.prepared(conversation)? {
            Conversation::Messages(messages) => Conversation::Messages(without_last(messages, last_messages)),
            Conversation::Chat(chat) => {
                let messages = without_last(&chat.messages, last_messages);
                Conversation::Chat(Box::new(Chat { messages, ..(**chat).clone() }))
            }
            Conversation::Text(_) | Conversation::List(_) => return Ok(0),
        };
        let renderer = &self.shared.renderer;
        let mode = if is_answer(&**renderer, &before) { Mode::Score } else { Mode::Generate };
        let arena = TextArena::default();
        let mut segments = Segments::new(&arena);
        self.render_by(&before, &mut segments, |segments| renderer.render(&before, mode, segments))?;
        let own = self.ids_of(segments.as_slice())?;
        Ok(ids.iter().zip(&own).take_while(|(a, b)| a == b).count())
    }

    /// The ids of segments.
    fn ids_of(&self, segments: &[Segment<'_>]) -> Result<Vec<TokenId>> {
        let (mut prompt, mut session) = (TokenizedPrompt::default(), self.session());
        let buffers = session.buffers.as_mut().expect("only dropping takes the buffers");
        self.shared.assembler.assemble(segments, Detail::default(), &mut buffers.assemble, &mut prompt)?;
        Ok(prompt.input_ids)
    }
}

fn without_last(messages: &[ChatMessage], last: usize) -> Vec<ChatMessage> {
    messages[..messages.len().saturating_sub(last)].to_vec()
}

/// Builds prompts one after the other with the same buffers; from [`PromptBuilder::session`].
#[derive(Debug)]
pub struct Session {
    pub(super) builder: PromptBuilder,
    /// The messages of earlier pairs.
    messages: Conversation,
    /// The prompt whose ids are appended to others.
    prompt: TokenizedPrompt,
    buffers: Option<Box<Buffers>>,
    /// What its buffers had counted before.
    counted: Counts,
    /// The session of a faster builder for some conversations.
    pub(super) shortcut: Option<Box<Session>>,
}

impl Session {
    /// Builds one prompt.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`].
    pub fn build(&mut self, conversation: &Conversation) -> Result<TokenizedPrompt> {
        let mut prompt = TokenizedPrompt::default();
        self.build_into(conversation, &mut prompt)?;
        Ok(prompt)
    }

    /// Builds one prompt in place of another, whose memory is reused.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`]. The contents of `prompt` are then unspecified.
    pub fn build_into(&mut self, conversation: &Conversation, prompt: &mut TokenizedPrompt) -> Result<()> {
        self.build_with_into(conversation, self.builder.detail, prompt)
    }

    /// Builds one prompt from messages that are pairs of a role and a content. Their texts are copied into reused
    /// memory.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`].
    pub fn build_messages<R: AsRef<str>, C: AsRef<str>>(&mut self, messages: &[(R, C)]) -> Result<TokenizedPrompt> {
        let mut conversation = std::mem::replace(&mut self.messages, Conversation::Messages(Vec::new()));
        conversation.set_messages(messages);
        let built = self.build(&conversation);
        self.messages = conversation;
        built
    }

    /// Appends the ids of a prompt to a flat buffer, and returns their range in it.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`]. The buffer is then unchanged.
    pub fn append(&mut self, conversation: &Conversation, ids: &mut Vec<TokenId>) -> Result<Range<usize>> {
        let mut prompt = std::mem::take(&mut self.prompt);
        let built = self.build_with_into(conversation, Detail::default(), &mut prompt);
        let start = ids.len();
        if built.is_ok() {
            ids.extend_from_slice(&prompt.input_ids);
        }
        self.prompt = prompt;
        built.map(|()| start..ids.len())
    }

    /// The builder.
    pub fn builder(&self) -> &PromptBuilder {
        &self.builder
    }

    /// How many runs of text its prompts had so far, and how many of them were found again. Those that only a library's
    /// own caches know are not counted.
    ///
    /// ```
    /// let mut session = metatok::PromptBuilder::demo()?.session();
    /// for _ in 0..3 {
    ///     session.build_messages(&[("user", "Which planet is red?")])?;
    /// }
    /// let runs = session.runs();
    /// // What comes for the second time is kept, and found the third time.
    /// assert!(runs.found_again > 0 && runs.found_again < runs.all);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn runs(&self) -> RunCounts {
        let now = self.buffers.as_ref().map_or(self.counted, |buffers| buffers.assemble.cache.counts());
        let faster = self.shortcut.as_ref().map(|session| session.runs()).unwrap_or_default();
        RunCounts::since(self.counted, now, faster)
    }

    /// Builds one prompt with this detail, whatever the builder's options are.
    pub(crate) fn build_with(&mut self, conversation: &Conversation, detail: Detail) -> Result<TokenizedPrompt> {
        let mut prompt = TokenizedPrompt::default();
        self.build_with_into(conversation, detail, &mut prompt)?;
        Ok(prompt)
    }

    fn build_with_into(
        &mut self,
        conversation: &Conversation,
        detail: Detail,
        prompt: &mut TokenizedPrompt,
    ) -> Result<()> {
        self.build_any(conversation, detail, prompt)?;
        self.builder.check_not_empty(prompt)
    }

    /// Builds one prompt, which may be empty, with this detail.
    pub(crate) fn build_any(
        &mut self,
        conversation: &Conversation,
        detail: Detail,
        prompt: &mut TokenizedPrompt,
    ) -> Result<()> {
        let conversation = &*self.builder.prepared(conversation)?;
        if self.build_by_shortcut(conversation, detail, prompt)? {
            return Ok(());
        }
        self.build_rendered(conversation, detail, prompt)
    }

    /// Builds a prepared conversation by the renderer.
    pub(super) fn build_rendered(
        &mut self,
        conversation: &Conversation,
        detail: Detail,
        prompt: &mut TokenizedPrompt,
    ) -> Result<()> {
        let Self { builder, buffers, .. } = self;
        let buffers = buffers.as_mut().expect("only dropping takes the buffers");
        let arena = TextArena::default();
        let mut segments = Segments::with_memory(Buffers::reuse(std::mem::take(&mut buffers.segments)), &arena);
        segments.needs_origins = detail.needs_origins();
        let built = match builder.by_message(conversation, detail) {
            Some(messages) => messages.build(buffers, &mut segments, prompt),
            None => builder.render(conversation, &mut segments).and_then(|()| {
                builder.shared.assembler.assemble(segments.as_slice(), detail, &mut buffers.assemble, prompt)
            }),
        };
        buffers.segments = Buffers::reuse(segments.into_vec());
        prompt.answer_omitted = builder.omits_answer(conversation);
        built
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        static MOST: LazyLock<usize> =
            LazyLock::new(|| 2 * std::thread::available_parallelism().map_or(1, usize::from));
        let buffers = self.buffers.take();
        let mut idle = self.builder.shared.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // More are never used at once, and each has a cache of megabytes.
        if idle.len() < *MOST {
            idle.extend(buffers);
        }
    }
}
