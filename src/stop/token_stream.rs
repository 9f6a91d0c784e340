//! Trimming a stream of token ids while it is generated.

use aho_corasick::automaton::StateID;

use crate::error::Result;
use crate::stop::trim::Trimmer;
use crate::stop::{Completion, FinishReason, StopSource};
use crate::tokenizer::TokenId;

impl Trimmer {
    /// Trims a stream of ids as they are generated.
    pub fn stream(&self) -> TokenStream {
        TokenStream {
            state: self.matcher.start(),
            trimmer: self.clone(),
            held: Vec::new(),
            ids: Vec::new(),
            bytes: 0,
            kept: 0,
            max_tokens: usize::MAX,
            finished: None,
        }
    }
}

/// A stream of token ids that is watched for its end; from [`Trimmer::stream`]. It borrows nothing.
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
///     streams.get_mut(request).expect("it is one of the two").push(id, &mut text)?;
/// }
/// let mut stream = streams.remove("a").expect("it is one of the two");
/// assert_eq!(stream.finish(&mut text), FinishReason::StopToken(1052));
/// assert_eq!((stream.token_ids(), stream.tokens_read()), (&[44, 695][..], 3));
/// assert!(stream.stop_sources().contains(&StopSource::MetaTemplate));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TokenStream {
    trimmer: Trimmer,
    state: Option<StateID>,
    /// Bytes that may still become part of a stop, or of a character.
    held: Vec<u8>,
    /// The ids that were read.
    ids: Vec<TokenId>,
    /// How many bytes these have.
    bytes: usize,
    /// How many of them come before the stop, once there is one.
    kept: usize,
    max_tokens: usize,
    finished: Option<FinishReason>,
}

impl TokenStream {
    /// Sets how many tokens are read, the stop included. The output ends there with [`FinishReason::Length`].
    #[must_use]
    pub fn max_tokens(mut self, max_tokens: usize) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// Takes a token. Appends to `text` the whole characters that can no longer be part of a stop, and returns why the
    /// output ends, if it does: then `text` has all of it, and anything after that is not read.
    ///
    /// # Errors
    /// Names an id that the tokenizer does not have and that is not a stop. It is not read.
    pub fn push(&mut self, id: TokenId, text: &mut String) -> Result<Option<FinishReason>> {
        if self.finished.is_none() && self.ids.len() < self.max_tokens {
            self.finished = self.read(id, text)?;
        }
        if self.ids.len() >= self.max_tokens {
            self.finish(text);
        }
        Ok(self.finished)
    }

    fn read(&mut self, id: TokenId, text: &mut String) -> Result<Option<FinishReason>> {
        let Trimmer { matcher, include_stop, .. } = &self.trimmer;
        if matcher.stops_at(id) {
            if *include_stop {
                self.held.extend_from_slice(self.trimmer.stop_bytes(id));
            }
            self.kept = self.ids.len() + usize::from(*include_stop);
            self.ids.push(id);
            return Ok(Some(self.end(FinishReason::StopToken(id), text)));
        }
        let bytes = self.trimmer.bytes(id)?;
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
                return Ok(Some(self.end(FinishReason::StopString(string), text)));
            }
        };
        self.bytes += bytes.len();
        let read = push_characters(&self.held[..certain], text);
        self.held.drain(..read);
        Ok(None)
    }

    /// The end of a stream that no stop ended: appends the text that was held back, because it did not become one. If the
    /// stream had already ended, nothing changes.
    pub fn finish(&mut self, text: &mut String) -> FinishReason {
        self.end(self.finished.unwrap_or(FinishReason::Length), text)
    }

    fn end(&mut self, reason: FinishReason, text: &mut String) -> FinishReason {
        text.push_str(&String::from_utf8_lossy(&std::mem::take(&mut self.held)));
        self.finished = Some(reason);
        reason
    }

    /// Why it ended, if it has.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.finished
    }

    /// The tokens before the stop, as in [`Completion::token_ids`]; all that were read if there is no stop yet. Only
    /// [`Trimmer::complete`] removes padding.
    pub fn token_ids(&self) -> &[TokenId] {
        match self.finished {
            None | Some(FinishReason::Length) => &self.ids,
            Some(_) => &self.ids[..self.kept],
        }
    }

    /// How many tokens were read, including the stop.
    pub fn tokens_read(&self) -> usize {
        self.ids.len()
    }

    /// The ids that were read, trimmed.
    pub(crate) fn complete(&self) -> Result<Completion> {
        self.trimmer.complete(&self.ids)
    }

    /// The sources of the stop id at which it ended.
    pub fn stop_sources(&self) -> &[StopSource] {
        self.finished.map_or(&[], |reason| self.trimmer.sources(reason))
    }
}

/// Appends whole characters, and U+FFFD for bytes that are not UTF-8. An incomplete character at the end is left.
/// Returns how many bytes were read.
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
