//! Trimming the ids that a model generated to where its output should have ended.
//!
//! Stop ids are searched for among the ids, and stop strings in the joined bytes of the tokens, so the boundaries of
//! tokens and characters do not matter. The stop that is complete first counts; of several, the longest.

use std::sync::Arc;

use crate::error::Result;
use crate::stop::{Completion, FinishReason, Stop, StopCriteria, StopMatcher, StopSource};
use crate::tokenizer::{ByteTable, TokenId, Tokenizer};

/// Trims completions of one model. Cloning it is cheap.
///
/// ```
/// use metatok::stop::FinishReason;
/// use metatok::PromptBuilder;
///
/// let builder = PromptBuilder::demo()?;
/// let trimmer = builder.trimmer()?;
/// let completion = trimmer.complete(&[44, 695, 1052, 1053, 1053])?;
/// assert_eq!((&*completion.text, completion.finish_reason), ("Mars", FinishReason::StopToken(1052)));
/// assert_eq!(completion.token_ids, [44, 695]);
/// assert_eq!(completion.tail, [1052, 1053, 1053]);
///
/// let (mut stream, mut text) = (trimmer.stream(), String::new());
/// for id in [44, 695, 1052] {
///     stream.push(id, &mut text)?;
/// }
/// assert_eq!((stream.finish(&mut text), &*text), (FinishReason::StopToken(1052), "Mars"));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trimmer {
    criteria: Arc<StopCriteria>,
    pub(super) matcher: StopMatcher,
    pub(super) table: Arc<ByteTable>,
    pad_token_id: Option<TokenId>,
    pub(super) include_stop: bool,
    skip_special_tokens: bool,
}

/// Where a completion ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletionEnd {
    /// How many tokens are kept.
    pub tokens: usize,
    /// Bytes of output text kept, counting the kept part of the first dropped token.
    pub bytes: usize,
    /// How many tokens were read: up to and including the one that completes the stop.
    pub read: usize,
    /// Why.
    pub finish_reason: FinishReason,
}

impl Trimmer {
    /// For these stops and the tokenizer that the ids belong to.
    ///
    /// # Errors
    /// The same as for [`StopCriteria::matcher`].
    pub fn new(criteria: &StopCriteria, tokenizer: &Tokenizer) -> Result<Self> {
        Ok(Self {
            criteria: Arc::new(criteria.clone()),
            matcher: criteria.matcher()?,
            table: Arc::clone(tokenizer.byte_table()),
            pad_token_id: None,
            include_stop: false,
            skip_special_tokens: true,
        })
    }

    /// A trimmer for other stops, without reading the vocabulary again.
    ///
    /// # Errors
    /// The same as for [`StopCriteria::matcher`].
    pub fn with_criteria(&self, criteria: &StopCriteria) -> Result<Self> {
        Ok(Self { criteria: Arc::new(criteria.clone()), matcher: criteria.matcher()?, ..self.clone() })
    }

    /// A trimmer that also ends at this stop.
    ///
    /// # Errors
    /// The same as for [`StopCriteria::matcher`].
    pub(crate) fn with_stop(&self, stop: &Stop) -> Result<Self> {
        if stop.is_among(&self.criteria) {
            return Ok(self.clone());
        }
        let mut criteria = StopCriteria::clone(&self.criteria);
        match stop {
            Stop::Token { token_id, .. } => criteria.add_id(*token_id, StopSource::Engine),
            Stop::String { string } => criteria.add_string(string),
        }
        self.with_criteria(&criteria)
    }

    /// Sets the padding token, which is removed from the end of output that no stop ends.
    #[must_use]
    pub fn pad_token_id(mut self, pad_token_id: Option<TokenId>) -> Self {
        self.pad_token_id = pad_token_id;
        self
    }

    /// Sets whether the stop is kept in the text and among the ids.
    #[must_use]
    pub fn include_stop(mut self, include: bool) -> Self {
        self.include_stop = include;
        self
    }

    /// Sets whether special tokens before the stop are left out of the text, as they are by default. Some models write
    /// calls of tools with special tokens, such as `[TOOL_CALLS]`.
    ///
    /// ```
    /// let trimmer = metatok::PromptBuilder::demo()?.trimmer()?.skip_special_tokens(false);
    /// assert_eq!(trimmer.complete(&[44, 1051, 695, 1052])?.text, "M<|im_start|>ars");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    #[must_use]
    pub fn skip_special_tokens(mut self, skip: bool) -> Self {
        self.skip_special_tokens = skip;
        self
    }

    /// The bytes of an id in the text.
    pub(super) fn bytes(&self, id: TokenId) -> Result<&[u8]> {
        match self.table.special(id).filter(|_| !self.skip_special_tokens) {
            Some(bytes) => Ok(bytes),
            None => self.table.require(id),
        }
    }

    /// Trims generated ids.
    ///
    /// # Errors
    /// Names an id before the stop that the tokenizer does not have.
    pub fn complete(&self, ids: &[TokenId]) -> Result<Completion> {
        self.complete_at(ids, self.end(ids)?)
    }

    /// What [`Self::complete`] returns, for ids whose end is known.
    pub(crate) fn complete_at(&self, ids: &[TokenId], end: CompletionEnd) -> Result<Completion> {
        let CompletionEnd { tokens, bytes, read, finish_reason } = end;
        let mut text = Vec::with_capacity(bytes);
        for &id in &ids[..read] {
            text.extend_from_slice(if self.matcher.stops_at(id) { self.stop_bytes(id) } else { self.bytes(id)? });
        }
        text.truncate(bytes);
        Ok(Completion {
            token_ids: ids[..tokens].to_vec(),
            text: String::from_utf8_lossy(&text).into_owned(),
            finish_reason,
            stop: self.stop(finish_reason),
            tail: ids[tokens..].to_vec(),
        })
    }

    /// The text before a stop string that begins within a token.
    pub(crate) fn begun_token(&self, ids: &[TokenId], end: CompletionEnd) -> Result<String> {
        let whole = ids[..end.tokens].iter().map(|id| Ok(self.bytes(*id)?.len())).sum::<Result<usize>>()?;
        match end.bytes - whole {
            0 => Ok(String::new()),
            begun => Ok(String::from_utf8_lossy(&self.bytes(ids[end.tokens])?[..begun]).into_owned()),
        }
    }

    /// Where generated ids end, without their text.
    ///
    /// # Errors
    /// The same as for [`Self::complete`].
    pub fn end(&self, ids: &[TokenId]) -> Result<CompletionEnd> {
        let mut state = self.matcher.start();
        let mut total = 0;
        for (i, &id) in ids.iter().enumerate() {
            if self.matcher.stops_at(id) {
                let kept = i + usize::from(self.include_stop);
                let stop = if self.include_stop { self.stop_bytes(id).len() } else { 0 };
                let finish_reason = FinishReason::StopToken(id);
                return Ok(CompletionEnd { tokens: kept, bytes: total + stop, read: i + 1, finish_reason });
            }
            let bytes = self.bytes(id)?;
            if let Some(before) = state {
                match self.matcher.read(before, bytes) {
                    Ok(next) => state = Some(next),
                    Err((end, string)) => return self.end_at_string(&ids[..=i], total, total + end, string),
                }
            }
            total += bytes.len();
        }
        let padding = ids.iter().rev().take_while(|id| Some(**id) == self.pad_token_id).count();
        let kept = ids.len() - padding;
        for &id in &ids[kept..] {
            total -= self.bytes(id)?.len();
        }
        Ok(CompletionEnd { tokens: kept, bytes: total, read: ids.len(), finish_reason: FinishReason::Length })
    }

    /// The bytes of a stop id that is kept. An id that the tokenizer does not have has none: generation_config.json may
    /// list ids of the model for which there is no token.
    pub(super) fn stop_bytes(&self, id: TokenId) -> &[u8] {
        self.table.special(id).or_else(|| self.table.get(id)).unwrap_or_default()
    }

    /// The stop at which output ended.
    fn stop(&self, finish_reason: FinishReason) -> Option<Stop> {
        match finish_reason {
            FinishReason::Length => None,
            FinishReason::StopString(string) => Some(Stop::String { string: self.criteria.strings()[string].clone() }),
            FinishReason::StopToken(token_id) => {
                let token = self.table.special(token_id).or_else(|| self.table.get(token_id));
                let token = token.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                Some(Stop::Token { token_id, token, sources: self.sources(finish_reason).to_vec() })
            }
        }
    }

    /// The sources of the stop id at which output ended.
    pub(super) fn sources(&self, finish_reason: FinishReason) -> &[StopSource] {
        let FinishReason::StopToken(id) = finish_reason else { return &[] };
        self.criteria.ids().iter().find(|stop| stop.id == id).map_or(&[], |stop| &stop.sources)
    }

    /// The end of output in which a stop string ends at this byte, within the last token, which begins at byte `last`.
    pub(super) fn end_at_string(
        &self,
        read: &[TokenId],
        last: usize,
        end: usize,
        string: usize,
    ) -> Result<CompletionEnd> {
        let finish_reason = FinishReason::StopString(string);
        if self.include_stop {
            return Ok(CompletionEnd { tokens: read.len(), bytes: end, read: read.len(), finish_reason });
        }
        let bytes = end - self.matcher.string_len(string);
        let (mut tokens, mut start) = (read.len() - 1, last);
        while start > bytes {
            tokens -= 1;
            start -= self.bytes(read[tokens])?.len();
        }
        Ok(CompletionEnd { tokens, bytes, read: read.len(), finish_reason })
    }

    /// The stops.
    pub fn criteria(&self) -> &StopCriteria {
        &self.criteria
    }

    /// The padding token.
    pub fn pad(&self) -> Option<TokenId> {
        self.pad_token_id
    }

    /// Whether an id is a special token of the tokenizer.
    pub fn is_special(&self, id: TokenId) -> bool {
        self.table.special(id).is_some()
    }
}
