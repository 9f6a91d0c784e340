//! How many tokens of a text to score are its context.

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::PromptBuilder;
use crate::common_prefix::common_prefix;
use crate::conversation::{Chat, ChatMessage, Conversation, Mode, is_openai_role};
use crate::error::Result;
use crate::render::{Segments, TextArena};
use crate::tokenizer::TokenId;

const SPANS: Detail = Detail { offsets: false, text: false, ..Detail::ALL };

impl PromptBuilder {
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
        Ok(self.session().assemble(&segments, Detail::default().of(conversation))?.input_ids.len())
    }

    /// How many of the first ids of a conversation's prompt are those of its messages without this many last ones, with
    /// what the template writes before an answer. Where the template writes these messages in another way if others
    /// follow, as Qwen3's does with thoughts, they end after their last content.
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
        let whole = &*self.prepared(conversation)?;
        let Some(messages) = whole.messages() else { return Ok(0) };
        let (first, last) = messages.split_at(messages.len().saturating_sub(last_messages));
        let before = match whole {
            Conversation::Chat(chat) => {
                Conversation::Chat(Box::new(Chat { messages: first.to_vec(), ..(**chat).clone() }))
            }
            _ => Conversation::Messages(first.to_vec()),
        };
        let renderer = &self.shared.renderer;
        let is_answer = |said: &ChatMessage| renderer.speaks_for_model(&said.role);
        // A chat template may have other names for the model.
        let asks = |said: &ChatMessage| is_openai_role(&said.role) && !is_answer(said);
        let mode = match first.last().is_some_and(is_answer) || last.first().is_some_and(asks) {
            true => Mode::Score,
            false => Mode::Generate,
        };
        let arena = TextArena::default();
        let mut segments = Segments::new(&arena);
        self.render_by(&before, &mut segments, |segments| renderer.render(&before, mode, segments))?;
        let mut session = self.session();
        let own = session.assemble(segments.as_slice(), Detail::default())?;
        let same = common_prefix(ids, &own.input_ids);
        if same == own.input_ids.len() {
            return Ok(same);
        }
        // The template writes the first messages in another way if others follow, so their last token is looked for.
        let own = session.assemble(segments.as_slice(), SPANS)?;
        let whole = session.build_with(conversation, SPANS)?;
        match (end_of_messages(&own, first.len()), end_of_messages(&whole, first.len())) {
            (Some(own_end), Some(end)) if ids == whole.input_ids => {
                Ok(end + common_prefix(&ids[end..], &own.input_ids[own_end..]))
            }
            _ => Ok(same),
        }
    }
}

/// Where the last token ends that is known to come from one of the first `messages` messages.
fn end_of_messages(prompt: &TokenizedPrompt, messages: usize) -> Option<usize> {
    let is_one = |message: Option<u32>| message.is_some_and(|message| (message as usize) < messages);
    let last = prompt.spans.as_ref()?.iter().rfind(|span| is_one(span.part.message))?;
    Some(last.end)
}
