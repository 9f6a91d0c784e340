//! Building many prompts with the same buffers.

use std::borrow::Cow;
use std::ops::Range;

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::buffers::Buffers;
use crate::builder::{PromptBuilder, RunCounts};
use crate::conversation::Conversation;
use crate::error::{ErrorKind, Result};
use crate::render::{Segment, Segments, TextArena};
use crate::tokenizer::{Counts, TokenId};

impl PromptBuilder {
    /// Builds many prompts on one thread with the same buffers, which are shared with this builder and its clones.
    pub fn session(&self) -> Session {
        let buffers = self.shared.idle.take();
        Session {
            counted: buffers.assemble.cache.counts(),
            builder: self.clone(),
            messages: Conversation::Messages(Vec::new()),
            prompt: TokenizedPrompt::default(),
            buffers: Some(buffers),
            shortcut: None,
        }
    }
}

/// Builds prompts one after the other with the same buffers; from [`PromptBuilder::session`]. It gives the same ids as the
/// builder, and a thread needs one of its own.
#[derive(Debug)]
pub struct Session {
    pub(super) builder: PromptBuilder,
    /// The messages of earlier pairs.
    messages: Conversation,
    /// The prompt whose ids are copied.
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
        let room = std::mem::take(&mut self.prompt.input_ids);
        let mut prompt = TokenizedPrompt { input_ids: room, ..TokenizedPrompt::default() };
        let built = self.build_into(conversation, &mut prompt);
        // A vector that grew has room for nearly twice as many; the caller gets one of its own size.
        let ids = prompt.input_ids.clone();
        self.prompt.input_ids = std::mem::replace(&mut prompt.input_ids, ids);
        built.map(|()| prompt)
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
        let of_shortcut = self.shortcut.as_ref().map(|session| session.runs()).unwrap_or_default();
        RunCounts::since(self.counted, now, of_shortcut)
    }

    /// Builds one prompt with this detail, whatever the builder's options are.
    pub(crate) fn build_with(&mut self, conversation: &Conversation, detail: Detail) -> Result<TokenizedPrompt> {
        let mut prompt = TokenizedPrompt::default();
        self.build_with_into(conversation, detail, &mut prompt)?;
        Ok(prompt)
    }

    /// The prompt of segments.
    pub(super) fn assemble(&mut self, segments: &[Segment<'_>], detail: Detail) -> Result<TokenizedPrompt> {
        let mut prompt = TokenizedPrompt::default();
        let buffers = self.buffers.as_mut().expect("only dropping takes the buffers");
        self.builder.shared.assembler.assemble(segments, detail, &mut buffers.assemble, &mut prompt)?;
        Ok(prompt)
    }

    fn build_with_into(
        &mut self,
        conversation: &Conversation,
        detail: Detail,
        prompt: &mut TokenizedPrompt,
    ) -> Result<()> {
        self.build_any(conversation, detail, prompt)?;
        let Err(error) = self.builder.check_not_empty(prompt) else { return Ok(()) };
        // Whether it has text is asked of none that has tokens.
        let mut again = TokenizedPrompt::default();
        self.build_any(conversation, Detail { text: true, ..detail }, &mut again)?;
        match again.text.is_some_and(|text| !text.is_empty()) {
            true => Err(ErrorKind::EmptyPrompt { has_text: true }.into()),
            false => Err(error),
        }
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
        let asked = self.builder.with_asked_turn(conversation);
        let conversation = &*asked;
        let detail = detail.of(conversation);
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
        if let (Cow::Owned(Conversation::Messages(messages)), Some(spans)) = (&asked, &mut prompt.spans) {
            // The turn that was added is no message of the conversation.
            let added = messages.len() as u32 - 1;
            let of_added = spans.iter_mut().filter(|span| span.part.message == Some(added));
            of_added.for_each(|span| span.part.message = None);
        }
        prompt.answer_omitted = builder.loses_answer(conversation);
        prompt.has_media = conversation.has_media();
        built
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(buffers) = self.buffers.take() {
            self.builder.shared.idle.put(buffers);
        }
    }
}
