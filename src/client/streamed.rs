//! An answer that grows with the events of a stream, until the server or a stop of the model ends it.

use crate::error::Result;
use crate::server::{EngineAnswer, Extent, StopReason, StreamEvent, Usage, gave_up};
use crate::stop::{TokenStream, Trimmer};
use crate::tokenizer::TokenId;

/// The answer so far.
#[derive(Debug)]
pub(crate) struct StreamedAnswer {
    stream: TokenStream,
    pub(crate) token_ids: Option<Vec<TokenId>>,
    pub(crate) text: Option<String>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) stop_reason: Option<StopReason>,
    pub(crate) usage: Usage,
    /// How many of the ids were checked for a stop.
    checked: usize,
}

impl StreamedAnswer {
    pub(super) fn new(trimmer: &Trimmer) -> Self {
        Self {
            stream: trimmer.stream(),
            token_ids: None,
            text: None,
            finish_reason: None,
            stop_reason: None,
            usage: Usage::default(),
            checked: 0,
        }
    }

    /// Adds an event. After the end, only counts are added.
    ///
    /// # Errors
    /// An id that the tokenizer does not have.
    pub(super) fn take(&mut self, event: StreamEvent<'_>) -> Result<()> {
        let StreamEvent { answer, usage, extent } = event;
        self.usage.completion_tokens = usage.completion_tokens.or(self.usage.completion_tokens);
        self.usage.cached_tokens = usage.cached_tokens.or(self.usage.cached_tokens);
        let Some(answer) = answer.filter(|_| self.finish_reason.is_none()) else { return Ok(()) };
        let EngineAnswer { token_ids, text, finish_reason, stop_reason, .. } = answer;
        let is_whole = match extent {
            Extent::Piece => false,
            Extent::Whole => true,
            Extent::WholeText => self.is_all_text(text.as_deref().unwrap_or_default(), finish_reason.is_some()),
        };
        if is_whole {
            (self.token_ids, self.text) = (token_ids, text);
        } else {
            if let Some(ids) = token_ids {
                self.token_ids.get_or_insert_default().extend(ids);
            }
            if let Some(text) = text {
                self.text.get_or_insert_default().push_str(&text);
            }
        }
        self.finish_reason = finish_reason;
        self.stop_reason = stop_reason;
        self.watch()
    }

    /// Whether a text is all of the answer so far, and not a piece of it. The last one may be shorter than that before,
    /// because the server cuts off a stop string.
    fn is_all_text(&self, text: &str, is_last: bool) -> bool {
        let before = self.text.as_deref().unwrap_or_default();
        text.starts_with(before) || is_last && !text.is_empty() && before.starts_with(text)
    }

    /// Checks new ids for a stop.
    fn watch(&mut self) -> Result<()> {
        let ids = self.token_ids.as_deref().unwrap_or_default();
        let mut text = String::new();
        for &id in ids.get(self.checked..).unwrap_or_default() {
            self.stream.push(id, &mut text)?;
        }
        self.checked = ids.len();
        Ok(())
    }

    /// Whether anything of it has arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.token_ids.is_some() || self.text.is_some()
    }

    /// Whether the server has ended it.
    pub(super) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Whether it continues after a stop of the model, so that the rest is not needed.
    pub(super) fn is_past_stop(&self) -> bool {
        self.stream.finish_reason().is_some() && self.checked > self.stream.tokens_read()
    }

    /// Leaves out what came after a stop of the model, and the end of that. How much came depends on the time it took.
    pub(super) fn cut_at_stop(&mut self) {
        if self.is_past_stop() {
            let read = self.stream.tokens_read();
            self.token_ids.iter_mut().for_each(|ids| ids.truncate(read));
            (self.finish_reason, self.stop_reason) = (None, None);
        }
    }

    /// Whether it ends at a stop of the model.
    pub(super) fn has_stopped(&self) -> bool {
        self.stream.finish_reason().is_some()
    }

    /// The word with which the server says that it gave up on the answer.
    pub(super) fn given_up(&self) -> Option<&str> {
        self.finish_reason.as_deref().filter(|reason| gave_up(reason))
    }

    /// Whether the server has counted more tokens than it sent ids.
    pub(super) fn lacks_ids(&self) -> bool {
        self.usage.completion_tokens > Some(self.tokens().unwrap_or_default())
    }

    /// The number of tokens, if the server sends their ids.
    pub(crate) fn tokens(&self) -> Option<usize> {
        self.token_ids.as_ref().map(Vec::len)
    }
}
