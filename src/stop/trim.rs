//! Trimming what a model gave, as ids, to where it should have ended: finished, or while it streams.
//!
//! Stop ids are looked for among the ids, stop strings in the bytes of the tokens one behind the other, so the
//! borders of tokens and of characters play no part. What is complete first counts, the longest of several.

use std::sync::Arc;

use crate::error::Result;
use crate::stop::{Completion, FinishReason, Stop, StopCriteria, StopMatcher, StopSource};
use crate::tokenizer::{ByteTable, TokenId, Tokenizer};
use aho_corasick::automaton::StateID;

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
    matcher: StopMatcher,
    table: Arc<ByteTable>,
    pad_token_id: Option<TokenId>,
    include_stop: bool,
}

/// Where a completion ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletionEnd {
    /// How many tokens are kept.
    pub tokens: usize,
    /// How many bytes of their text, and of the token behind them, are kept.
    pub bytes: usize,
    /// How many tokens were read: up to the one with which the stop is complete.
    pub read: usize,
    /// Why.
    pub finish_reason: FinishReason,
}

impl Trimmer {
    /// For these stops and the tokenizer that the ids belong to.
    ///
    /// # Errors
    /// As [`StopCriteria::matcher`].
    pub fn new(criteria: &StopCriteria, tokenizer: &Tokenizer) -> Result<Self> {
        Ok(Self {
            criteria: Arc::new(criteria.clone()),
            matcher: criteria.matcher()?,
            table: Arc::new(tokenizer.byte_table()),
            pad_token_id: None,
            include_stop: false,
        })
    }

    /// The same for other stops, without reading the vocabulary again.
    ///
    /// # Errors
    /// As [`StopCriteria::matcher`].
    pub fn with_criteria(&self, criteria: &StopCriteria) -> Result<Self> {
        Ok(Self {
            criteria: Arc::new(criteria.clone()),
            matcher: criteria.matcher()?,
            table: Arc::clone(&self.table),
            pad_token_id: self.pad_token_id,
            include_stop: self.include_stop,
        })
    }

    /// With an id of padding, which is left out where nothing stops before it.
    #[must_use]
    pub fn pad_token_id(mut self, pad_token_id: Option<TokenId>) -> Self {
        self.pad_token_id = pad_token_id;
        self
    }

    /// Whether the stop stays in the text and among the ids.
    #[must_use]
    pub fn include_stop(mut self, include: bool) -> Self {
        self.include_stop = include;
        self
    }

    /// What was generated, trimmed.
    ///
    /// # Errors
    /// Names an id before the stop that the tokenizer does not have.
    pub fn complete(&self, ids: &[TokenId]) -> Result<Completion> {
        self.complete_at(ids, self.end(ids)?)
    }

    /// [`Self::complete`], for ids whose end is known.
    pub(crate) fn complete_at(&self, ids: &[TokenId], end: CompletionEnd) -> Result<Completion> {
        let CompletionEnd { tokens, bytes, read, finish_reason } = end;
        let mut text = Vec::with_capacity(bytes);
        for &id in &ids[..read] {
            text.extend_from_slice(if self.matcher.stops_at(id) {
                self.stop_bytes(id)
            } else {
                self.table.require(id)?
            });
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

    /// Where generated ids end, without making their text.
    ///
    /// # Errors
    /// As [`Self::complete`].
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
            let bytes = self.table.require(id)?;
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
            total -= self.table.require(id)?.len();
        }
        Ok(CompletionEnd { tokens: kept, bytes: total, read: ids.len(), finish_reason: FinishReason::Length })
    }

    /// What a stop id says where it stays. One that the tokenizer does not have says nothing: generation_config.json may
    /// name ids of the model for which there is no token.
    fn stop_bytes(&self, id: TokenId) -> &[u8] {
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

    /// Who asks for the stop at which output ended.
    fn sources(&self, finish_reason: FinishReason) -> &[StopSource] {
        let FinishReason::StopToken(id) = finish_reason else { return &[] };
        self.criteria.ids().iter().find(|stop| stop.id == id).map_or(&[], |stop| &stop.sources)
    }

    /// A stop string ends at this byte, in the last of the tokens, which begins at `last`.
    fn end_at_string(&self, read: &[TokenId], last: usize, end: usize, string: usize) -> Result<CompletionEnd> {
        let finish_reason = FinishReason::StopString(string);
        if self.include_stop {
            return Ok(CompletionEnd { tokens: read.len(), bytes: end, read: read.len(), finish_reason });
        }
        let bytes = end - self.matcher.string_len(string);
        let (mut tokens, mut start) = (read.len() - 1, last);
        while start > bytes {
            tokens -= 1;
            start -= self.table.require(read[tokens])?.len();
        }
        Ok(CompletionEnd { tokens, bytes, read: read.len(), finish_reason })
    }

    /// Watches a stream.
    pub fn stream(&self) -> TokenStream {
        TokenStream {
            state: self.matcher.start(),
            trimmer: self.clone(),
            held: Vec::new(),
            ids: Vec::new(),
            bytes: 0,
            kept: 0,
            finished: None,
        }
    }

    /// Where output ends, and who says so.
    pub fn criteria(&self) -> &StopCriteria {
        &self.criteria
    }

    /// The id of padding.
    pub fn pad(&self) -> Option<TokenId> {
        self.pad_token_id
    }

    /// Whether the tokenizer flags an id special.
    pub fn is_special(&self, id: TokenId) -> bool {
        self.table.special(id).is_some()
    }
}

/// Generated ids without the prompt's before them, for engines that repeat it. It may be padded on the left, as in what
/// transformers' `generate()` gives: some one id before it, over and over.
///
/// ```
/// assert_eq!(metatok::stop::without_echo(&[1, 2], &[0, 0, 1, 2, 773, 13]), [773, 13]);
/// assert_eq!(metatok::stop::without_echo(&[1, 2], &[773, 13]), [773, 13]);
/// ```
pub fn without_echo<'i>(prompt: &[TokenId], ids: &'i [TokenId]) -> &'i [TokenId] {
    let padding = ids.iter().take_while(|id| Some(*id) == ids.first()).count();
    (0..=padding).find_map(|start| ids[start..].strip_prefix(prompt)).unwrap_or(ids)
}

/// A stream of token ids, watched for its end; from [`Trimmer::stream`]. It can be kept for as long as one likes.
///
/// ```
/// use std::collections::HashMap;
/// use metatok::stop::{FinishReason, StopSource, TokenStream};
/// use metatok::PromptBuilder;
///
/// let trimmer = PromptBuilder::demo()?.trimmer()?;
/// let mut streams: HashMap<&str, TokenStream> = HashMap::from([("a", trimmer.stream()), ("b", trimmer.stream())]);
/// let mut text = String::new();
/// for (request, id) in [("a", 44), ("b", 17), ("a", 695), ("a", 1052)] {
///     streams.get_mut(request).expect("it is one of them").push(id, &mut text)?;
/// }
/// let mut stream = streams.remove("a").expect("it is one of them");
/// assert_eq!(stream.finish(&mut text), FinishReason::StopToken(1052));
/// assert_eq!((stream.token_ids(), stream.tokens_read()), (&[44, 695][..], 3));
/// assert!(stream.stop_sources().contains(&StopSource::MetaTemplate));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TokenStream {
    trimmer: Trimmer,
    state: Option<StateID>,
    /// What may still become a stop, or the rest of a character.
    held: Vec<u8>,
    /// What was read.
    ids: Vec<TokenId>,
    /// The bytes of these.
    bytes: usize,
    /// How many of them stand before the stop, once there is one.
    kept: usize,
    finished: Option<FinishReason>,
}

impl TokenStream {
    /// Takes a token. Appends to `text` the whole characters that can be no part of a stop any more, and says
    /// why the output ends, if it does; what comes then is not read.
    ///
    /// # Errors
    /// Names an id that the tokenizer does not have, and that is no stop. It is not read.
    pub fn push(&mut self, id: TokenId, text: &mut String) -> Result<Option<FinishReason>> {
        if self.finished.is_some() {
            return Ok(self.finished);
        }
        let Trimmer { matcher, table, include_stop, .. } = &self.trimmer;
        if matcher.stops_at(id) {
            if *include_stop {
                self.held.extend_from_slice(self.trimmer.stop_bytes(id));
            }
            self.kept = self.ids.len() + usize::from(*include_stop);
            self.ids.push(id);
            self.finished = Some(FinishReason::StopToken(id));
            return Ok(self.finished);
        }
        let bytes = table.require(id)?;
        self.ids.push(id);
        let before = self.held.len();
        self.held.extend_from_slice(bytes);
        let certain = match self.state.map(|state| matcher.read(state, bytes)) {
            None => self.held.len(),
            Some(Ok(state)) => {
                self.state = Some(state);
                self.held.len() - matcher.held(state)
            }
            Some(Err((end, string))) => {
                let kept = if *include_stop { before + end } else { before + end - matcher.string_len(string) };
                self.held.truncate(kept);
                self.kept = self.trimmer.end_at_string(&self.ids, self.bytes, self.bytes + end, string)?.tokens;
                self.finished = Some(FinishReason::StopString(string));
                return Ok(self.finished);
            }
        };
        self.bytes += bytes.len();
        let read = push_characters(&self.held[..certain], text);
        self.held.drain(..read);
        Ok(None)
    }

    /// The end of a stream: appends what was held back and is no stop. Once it has ended, nothing changes that.
    pub fn finish(&mut self, text: &mut String) -> FinishReason {
        text.push_str(&String::from_utf8_lossy(&std::mem::take(&mut self.held)));
        *self.finished.get_or_insert(FinishReason::Length)
    }

    /// Why it ended, if it has.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.finished
    }

    /// The tokens before the stop, as [`Completion::token_ids`]; all that were read, where there is none yet. Only
    /// [`Trimmer::complete`] leaves out padding.
    pub fn token_ids(&self) -> &[TokenId] {
        match self.finished {
            None | Some(FinishReason::Length) => &self.ids,
            Some(_) => &self.ids[..self.kept],
        }
    }

    /// How many tokens were read, the stop among them.
    pub fn tokens_read(&self) -> usize {
        self.ids.len()
    }

    /// What was read, trimmed.
    pub(crate) fn complete(&self) -> Result<Completion> {
        self.trimmer.complete(&self.ids)
    }

    /// Who asks for the stop id at which it ended.
    pub fn stop_sources(&self) -> &[StopSource] {
        self.finished.map_or(&[], |reason| self.trimmer.sources(reason))
    }
}

/// Appends whole characters, and U+FFFD for what is none; a beginning of one at the end is left. Gives how
/// many bytes were read.
fn push_characters(bytes: &[u8], text: &mut String) -> usize {
    let mut read = 0;
    loop {
        match std::str::from_utf8(&bytes[read..]) {
            Ok(valid) => {
                text.push_str(valid);
                return bytes.len();
            }
            Err(error) => {
                let valid = &bytes[read..read + error.valid_up_to()];
                text.push_str(&String::from_utf8_lossy(valid));
                read += valid.len();
                let Some(invalid) = error.error_len() else { return read };
                text.push(char::REPLACEMENT_CHARACTER);
                read += invalid;
            }
        }
    }
}
