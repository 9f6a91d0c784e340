//! Building many prompts with the same buffers.

use std::fmt;
use std::sync::PoisonError;

use crate::assemble::{AssembleScratch, Detail, TokenizedPrompt};
use crate::builder::PromptBuilder;
use crate::conversation::Conversation;
use crate::error::Result;
use crate::render::Segment;

/// What makes building again cheap: the segments' memory, and the assembler's buffers.
pub(super) struct Buffers {
    segments: Vec<Segment<'static>>,
    assemble: AssembleScratch,
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers").finish_non_exhaustive()
    }
}

impl PromptBuilder {
    /// Builds many prompts on one thread with the same buffers, which come from, and go back to, this builder and its clones.
    pub fn session(&self) -> Session {
        let idle = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let buffers = idle.unwrap_or_else(|| Buffers { segments: Vec::new(), assemble: AssembleScratch::new() });
        Session { builder: self.clone(), buffers: Some(buffers) }
    }

    /// How many tokens a text to score has before its last bytes, so many, which are scored. As in lm-evaluation-harness, these
    /// are the tokens of the text before alone, and white space at its end is scored too.
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
    /// As [`Self::build`], and [`ErrorKind::Conversation`](crate::ErrorKind::Conversation) where the text ends with what nobody says.
    pub fn context_tokens(&self, conversation: &Conversation, scored_bytes: usize) -> Result<usize> {
        let conversation = &*self.prepared(conversation)?;
        let mut segments = self.segments(conversation)?;
        self.shared.assembler.cut_continuation(&mut segments, scored_bytes)?;
        let (mut prompt, mut session) = (TokenizedPrompt::default(), self.session());
        let buffers = session.buffers.as_mut().expect("only dropping takes the buffers");
        self.shared.assembler.assemble(&segments, Detail::default(), &mut buffers.assemble, &mut prompt)?;
        Ok(prompt.input_ids.len())
    }
}

/// Builds prompts one after the other with the same buffers; from [`PromptBuilder::session`].
#[derive(Debug)]
pub struct Session {
    builder: PromptBuilder,
    buffers: Option<Buffers>,
}

impl Session {
    /// Builds one prompt.
    ///
    /// # Errors
    /// As [`PromptBuilder::build`].
    pub fn build(&mut self, conversation: &Conversation) -> Result<TokenizedPrompt> {
        let mut prompt = TokenizedPrompt::default();
        self.build_into(conversation, &mut prompt)?;
        Ok(prompt)
    }

    /// Builds one prompt in place of another, whose memory is used again.
    ///
    /// # Errors
    /// As [`PromptBuilder::build`]. What `prompt` then holds is unspecified.
    pub fn build_into(&mut self, conversation: &Conversation, prompt: &mut TokenizedPrompt) -> Result<()> {
        self.build_with(conversation, self.builder.detail, prompt)
    }

    /// What it builds with.
    pub fn builder(&self) -> &PromptBuilder {
        &self.builder
    }

    pub(super) fn build_with(
        &mut self,
        conversation: &Conversation,
        detail: Detail,
        prompt: &mut TokenizedPrompt,
    ) -> Result<()> {
        let Self { builder, buffers } = self;
        let conversation = &*builder.prepared(conversation)?;
        let buffers = buffers.as_mut().expect("only dropping takes the buffers");
        let mut segments = reuse(std::mem::take(&mut buffers.segments));
        let built = builder
            .render(conversation, &mut segments)
            .and_then(|()| builder.shared.assembler.assemble(&segments, detail, &mut buffers.assemble, prompt));
        buffers.segments = reuse(segments);
        prompt.answer_omitted = builder.omits_answer(conversation);
        built
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let buffers = self.buffers.take();
        self.builder.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).extend(buffers);
    }
}

/// Empties the segments, keeping their memory for segments of another conversation: collecting into
/// the same layout reuses the allocation.
fn reuse<'b>(mut segments: Vec<Segment<'_>>) -> Vec<Segment<'b>> {
    segments.clear();
    segments.into_iter().map(|_| -> Segment<'b> { unreachable!("it was just emptied") }).collect()
}
