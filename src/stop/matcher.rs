//! Finding where output ends: in a stream, token by token, or in finished output.
//!
//! The stop that is complete first counts; if several are complete at once, the longest. So a stream and a finished
//! text are cut at the same place, wherever the boundaries of tokens are. FastChat looks for the last occurrence of the
//! first string in its list, on every other token.

use std::sync::Arc;

use aho_corasick::automaton::StateID;

use crate::error::{ErrorKind, Result};
use crate::stop::StopCriteria;
use crate::stop::automaton::Automaton;
use crate::stop::completion::FinishReason;
use crate::tokenizer::TokenId;

/// Stop ids and stop strings, prepared for searching. Cloning it is cheap.
///
/// ```
/// use metatok::stop::{FinishReason, StopCriteria};
///
/// let mut criteria = StopCriteria::default();
/// criteria.add_string("\nUser");
/// criteria.add_string("User:");
/// let matcher = criteria.matcher()?;
/// assert_eq!(matcher.trim("Yes.\nUser: and"), ("Yes.", FinishReason::StopString(0)));
///
/// let (mut stream, mut text) = (matcher.stream(), String::new());
/// assert_eq!(stream.push(7, "Yes.\nUs", &mut text), None);
/// assert_eq!(text, "Yes.");
/// assert_eq!(stream.push(8, "e it", &mut text), None);
/// assert_eq!(text, "Yes.\nUse it");
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StopMatcher {
    ids: Arc<[TokenId]>,
    strings: Option<Arc<Strings>>,
}

/// The stop strings as an automaton over bytes.
#[derive(Debug)]
struct Strings {
    automaton: Automaton,
    start: StateID,
    lengths: Vec<usize>,
    /// How many of the last bytes may still become a stop, for each state.
    held: Vec<u32>,
}

impl StopCriteria {
    /// Prepares the stops for searching.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if there are too many stop strings for an automaton.
    pub fn matcher(&self) -> Result<StopMatcher> {
        let mut ids: Vec<TokenId> = self.stop_token_ids().collect();
        ids.sort_unstable();
        let strings = if self.strings().is_empty() { None } else { Some(Arc::new(Strings::new(self.strings())?)) };
        Ok(StopMatcher { ids: ids.into(), strings })
    }
}

impl Strings {
    fn new(strings: &[String]) -> Result<Self> {
        let automaton = Automaton::new(strings)
            .map_err(|error| ErrorKind::Usage(format!("the stop strings cannot be searched for: {error}")))?;
        let start = automaton.start().map_err(|error| ErrorKind::Usage(error.to_string()))?;
        let mut held: Vec<u32> = Vec::new();
        for string in strings {
            let mut state = start;
            for (i, &byte) in string.as_bytes().iter().enumerate() {
                state = automaton.next(state, byte);
                if held.len() <= state.as_usize() {
                    held.resize(state.as_usize() + 1, 0);
                }
                // The state knows the longest beginning of a stop that the text ends with.
                let longest = &mut held[state.as_usize()];
                *longest = (*longest).max(i as u32 + 1);
            }
        }
        Ok(Self { automaton, start, lengths: strings.iter().map(String::len).collect(), held })
    }

    /// Reads text up to the first stop. Returns the state, or where the stop ends and which one it is.
    fn read(&self, mut state: StateID, text: &[u8]) -> std::result::Result<StateID, (usize, usize)> {
        for (i, &byte) in text.iter().enumerate() {
            state = self.automaton.next(state, byte);
            let matches = self.automaton.matches(state);
            if matches > 0 {
                let all = (0..matches).map(|at| self.automaton.matched(state, at));
                let longest = all.max_by_key(|&string| self.lengths[string]).unwrap_or_default();
                return Err((i + 1, longest));
            }
        }
        Ok(state)
    }

    fn held(&self, state: StateID) -> usize {
        self.held.get(state.as_usize()).map_or(0, |&held| held as usize)
    }
}

impl StopMatcher {
    /// A finished text up to its first stop string, and why it ends there.
    pub fn trim<'t>(&self, text: &'t str) -> (&'t str, FinishReason) {
        let Some(strings) = &self.strings else { return (text, FinishReason::Length) };
        match strings.read(strings.start, text.as_bytes()) {
            Ok(_) => (text, FinishReason::Length),
            Err((end, string)) => (&text[..end - strings.lengths[string]], FinishReason::StopString(string)),
        }
    }

    /// Finished ids up to the first stop id, and why they end there.
    pub fn trim_ids<'t>(&self, ids: &'t [TokenId]) -> (&'t [TokenId], FinishReason) {
        match ids.iter().position(|id| self.stops_at(*id)) {
            Some(end) => (&ids[..end], FinishReason::StopToken(ids[end])),
            None => (ids, FinishReason::Length),
        }
    }

    /// How many bytes at the end of a text without a stop may still become one.
    pub fn held_back(&self, text: &str) -> usize {
        let Some(strings) = &self.strings else { return 0 };
        strings.read(strings.start, text.as_bytes()).map_or(0, |state| strings.held(state))
    }

    /// Watches a stream.
    pub fn stream(&self) -> StopStream {
        StopStream { matcher: self.clone(), state: self.start(), held: String::new(), finished: None }
    }

    /// Whether output ends at this id.
    pub(super) fn stops_at(&self, id: TokenId) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    /// The state before any text; none if there are no strings.
    pub(super) fn start(&self) -> Option<StateID> {
        self.strings.as_ref().map(|strings| strings.start)
    }

    /// Reads bytes up to the first stop. Returns the state, or where the stop ends and which one it is.
    pub(super) fn read(&self, state: StateID, bytes: &[u8]) -> std::result::Result<StateID, (usize, usize)> {
        self.strings.as_ref().map_or(Ok(state), |strings| strings.read(state, bytes))
    }

    /// How many of the last bytes may still become a stop.
    pub(super) fn held(&self, state: StateID) -> usize {
        self.strings.as_ref().map_or(0, |strings| strings.held(state))
    }

    /// How long a stop string is, in bytes.
    pub(super) fn string_len(&self, string: usize) -> usize {
        self.strings.as_ref().map_or(0, |strings| strings.lengths[string])
    }
}

/// A stream of tokens, watched for its end; from [`StopMatcher::stream`].
#[derive(Debug, Clone)]
pub struct StopStream {
    matcher: StopMatcher,
    state: Option<StateID>,
    /// What may still become a stop.
    held: String,
    finished: Option<FinishReason>,
}

impl StopStream {
    /// Takes a token and the text that it adds. Appends to `out` the text that can no longer be part of a stop, and
    /// returns why the output ends, if it does. Anything after that is not read. A stop is not part of the output.
    pub fn push(&mut self, id: TokenId, text: &str, out: &mut String) -> Option<FinishReason> {
        if self.finished.is_some() {
            return self.finished;
        }
        if self.matcher.stops_at(id) {
            out.push_str(&std::mem::take(&mut self.held));
            self.finished = Some(FinishReason::StopToken(id));
            return self.finished;
        }
        let (Some(strings), Some(state)) = (&self.matcher.strings, self.state) else {
            out.push_str(text);
            return None;
        };
        let before = self.held.len();
        self.held.push_str(text);
        match strings.read(state, text.as_bytes()) {
            Ok(state) => {
                self.state = Some(state);
                let certain = self.held.len() - strings.held(state);
                out.push_str(&self.held[..certain]);
                self.held.drain(..certain);
            }
            Err((end, string)) => {
                out.push_str(&self.held[..before + end - strings.lengths[string]]);
                self.held.clear();
                self.finished = Some(FinishReason::StopString(string));
            }
        }
        self.finished
    }

    /// The end of a stream: appends the text that was held back, because it did not become a stop. If the stream had
    /// already ended, nothing changes.
    pub fn finish(&mut self, out: &mut String) -> FinishReason {
        out.push_str(&std::mem::take(&mut self.held));
        *self.finished.get_or_insert(FinishReason::Length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// With `is_large`, an additional string that requires the other automaton.
    fn criteria(strings: &[String], is_large: bool) -> StopCriteria {
        let mut criteria = StopCriteria::default();
        strings.iter().for_each(|string| criteria.add_string(string));
        if is_large {
            criteria.add_string(&"z".repeat(1 << 15));
        }
        criteria
    }

    /// The first stop that is complete, the longest of those, by trying every end.
    fn oracle<'t>(strings: &[String], text: &'t str) -> (&'t str, FinishReason) {
        for end in 1..=text.len() {
            let ended = |string: &&String| text.as_bytes()[..end].ends_with(string.as_bytes());
            if let Some(longest) = strings.iter().filter(ended).max_by_key(|string| string.len()) {
                let index = strings.iter().position(|string| string == longest).expect("it is one of them");
                return (&text[..end - longest.len()], FinishReason::StopString(index));
            }
        }
        (text, FinishReason::Length)
    }

    proptest! {
        #[test]
        fn as_a_plain_search_however_the_text_is_split(
            strings in prop::collection::vec("[abé#]{1,4}", 0..5),
            pieces in prop::collection::vec("[abé#x]{0,5}", 0..12),
            is_large in any::<bool>(),
        ) {
            let criteria = criteria(&strings, is_large);
            let matcher = criteria.matcher().expect("they are few");
            let text = pieces.concat();
            let expected = oracle(criteria.strings(), &text);
            prop_assert_eq!(matcher.trim(&text), expected);

            let (mut stream, mut out) = (matcher.stream(), String::new());
            let mut before = 0;
            for piece in &pieces {
                let ended = stream.push(0, piece, &mut out);
                prop_assert!(expected.0.starts_with(out.as_str()), "{out:?} is no beginning of {:?}", expected.0);
                prop_assert!(out.len() >= before);
                before = out.len();
                if ended.is_some() {
                    break;
                }
            }
            let reason = stream.finish(&mut out);
            prop_assert_eq!((out.as_str(), reason), expected);
        }

        #[test]
        fn only_what_can_become_a_stop_is_held_back(
            strings in prop::collection::vec("[abé#]{1,4}", 1..4),
            text in "[abé#x]{0,8}",
            is_large in any::<bool>(),
        ) {
            let criteria = criteria(&strings, is_large);
            let matcher = criteria.matcher().expect("they are few");
            let has_stop = matcher.trim(&text).1 != FinishReason::Length;
            let longest = (0..=text.len())
                .filter(|&at| text.is_char_boundary(at))
                .map(|at| &text[at..])
                .find(|end| strings.iter().any(|string| string.starts_with(end)))
                .map_or(0, str::len);
            prop_assert_eq!(matcher.held_back(&text), if has_stop { 0 } else { longest });
        }
    }

    #[test]
    fn a_stop_id_ends_before_its_text() {
        let mut criteria = criteria(&["ab".to_owned()], false);
        criteria.add_id(5, crate::stop::StopSource::User);
        let matcher = criteria.matcher().expect("they are few");
        assert_eq!(matcher.trim_ids(&[1, 5, 2]), (&[1][..], FinishReason::StopToken(5)));
        assert_eq!(matcher.trim_ids(&[1]), (&[1][..], FinishReason::Length));
        let (mut stream, mut out) = (matcher.stream(), String::new());
        assert_eq!(stream.push(1, "xa", &mut out), None);
        assert_eq!(out, "x");
        assert_eq!(stream.push(5, "b", &mut out), Some(FinishReason::StopToken(5)));
        assert_eq!(stream.push(6, "more", &mut out), Some(FinishReason::StopToken(5)));
        assert_eq!(stream.finish(&mut out), FinishReason::StopToken(5));
        assert_eq!(out, "xa");
    }
}
