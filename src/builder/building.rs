//! Building prompts: one, several side by side, and one after the other in a flat buffer.

use std::ops::Range;

use crate::assemble::{Detail, TokenizedPrompt};
use crate::batch::{Batch, Padding};
use crate::builder::PromptBuilder;
use crate::conversation::Conversation;
use crate::error::{At, ErrorKind, Place, Result};
use crate::tokenizer::TokenId;

impl PromptBuilder {
    /// Builds one prompt.
    ///
    /// # Errors
    /// Names the item of the conversation that the template has no place for, or content that produces a reserved
    /// token.
    pub fn build(&self, conversation: &Conversation) -> Result<TokenizedPrompt> {
        self.session().build(conversation)
    }

    /// Builds prompts and puts them side by side, padded on the left.
    ///
    /// ```
    /// use metatok::{ChatMessage, Conversation, PromptBuilder};
    ///
    /// let builder = PromptBuilder::demo()?;
    /// let chat = |content: &str| Conversation::Messages(vec![ChatMessage::new("user", content)]);
    /// let batch = builder.build_batch(&[chat("Hi!"), chat("What is the Sun?")])?;
    /// assert_eq!(batch.input_ids.nrows(), 2);
    /// assert_eq!(batch.input_ids[[0, 0]], 1053, "<|pad|>");
    /// assert_eq!(batch.attention_mask()[[0, 0]], 0);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::build`], with the conversation's place, and [`ErrorKind::Usage`] if there is no padding token,
    /// and [`ErrorKind::OutOfMemory`] if there is not enough memory.
    pub fn build_batch(&self, conversations: &[Conversation]) -> Result<Batch> {
        let padding = self.padding()?;
        let mut session = self.session();
        let built = |(i, conversation)| session.build(conversation).at(Place::Conversation(i));
        let prompts = conversations.iter().enumerate().map(built).collect::<Result<Vec<_>>>()?;
        Batch::new(&prompts, padding)
    }

    /// Builds one prompt from messages that are pairs of a role and a content. To build many, see
    /// [`Session::build_messages`](crate::Session::build_messages).
    ///
    /// ```
    /// let prompt = metatok::PromptBuilder::demo()?.build_messages(&[("system", "Be brief."), ("user", "Hi!")])?;
    /// assert_eq!(prompt.input_ids[..4], [1051, 82, 88, 349]);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::build`].
    pub fn build_messages<R: AsRef<str>, C: AsRef<str>>(&self, messages: &[(R, C)]) -> Result<TokenizedPrompt> {
        self.session().build_messages(messages)
    }

    /// Appends the ids of a prompt to a flat buffer, and returns their range in it. To append many, see
    /// [`Session::append`](crate::Session::append).
    ///
    /// ```
    /// use metatok::{Conversation, PromptBuilder};
    ///
    /// let (builder, mut ids) = (PromptBuilder::demo()?, Vec::new());
    /// let first = builder.append(&Conversation::from([("user", "Hi!")]), &mut ids)?;
    /// let second = builder.append(&Conversation::from([("user", "What is the Sun?")]), &mut ids)?;
    /// assert_eq!((first.start, first.end, second.end), (0, second.start, ids.len()));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::build`]. The buffer is then unchanged.
    pub fn append(&self, conversation: &Conversation, ids: &mut Vec<TokenId>) -> Result<Range<usize>> {
        self.session().append(conversation, ids)
    }

    /// Padding with [`Self::pad_token_id`] on the left, as models need it to continue.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if there is no padding token.
    pub fn padding(&self) -> Result<Padding> {
        let pad_token_id = self.pad_token_id().ok_or_else(|| {
            let what = "there is no padding token: the tokenizer has neither a pad token nor an eos";
            ErrorKind::Usage(what.into()).with_way_out("set pad_token_id in the model file")
        })?;
        Ok(Padding::new(pad_token_id))
    }

    /// Rejects an empty prompt, unless empty prompts are allowed.
    pub(crate) fn check_not_empty(&self, prompt: &TokenizedPrompt) -> Result<()> {
        let is_refused = prompt.input_ids.is_empty() && !self.shared.allow_empty_prompts;
        if is_refused { Err(ErrorKind::EmptyPrompt { has_text: false }.into()) } else { Ok(()) }
    }

    /// Builds one prompt with this detail, whatever the builder's options are.
    pub(crate) fn build_with(&self, conversation: &Conversation, detail: Detail) -> Result<TokenizedPrompt> {
        self.session().build_with(conversation, detail)
    }
}
