//! What an engine did otherwise than it should have: its words beside what its tokens and text hold.

use crate::server::EngineAnswer;
use crate::stop::{CompletionEnd, Stop};
use crate::tokenizer::TokenId;
use crate::trim::line::Problem;
use crate::trim::stops::AnswerStops;

/// Collects the problems of one answer.
pub(super) struct Problems<'p> {
    stops: &'p AnswerStops,
    given: &'p EngineAnswer<'p>,
    /// The stop at which it ends.
    stop: Option<&'p Stop>,
    /// What the setting is called that names further stops.
    setting: String,
    found: Vec<Problem>,
}

impl<'p> Problems<'p> {
    pub(super) fn new(
        stops: &'p AnswerStops,
        given: &'p EngineAnswer<'_>,
        stop: Option<&'p Stop>,
        setting: String,
    ) -> Self {
        Self { stops, given, stop, setting, found: Vec::new() }
    }

    /// Of an answer of text alone.
    pub(super) fn of_text(mut self) -> Vec<Problem> {
        self.stop_in_text(false);
        self.reported_length();
        self.found
    }

    /// Of ids that end there, and whose text up to there is this.
    pub(super) fn of_ids(mut self, ids: &[TokenId], end: CompletionEnd, text: &str) -> Vec<Problem> {
        // The stop string is split if more than one token is read after those that stay.
        self.stop_in_text(end.tokens + 1 < end.read);
        self.text_differs(ids, text);
        let pad = |id: &&TokenId| self.stops.trimmer.pad() == Some(**id);
        let after = ids.len() - end.read - ids[end.read..].iter().rev().take_while(pad).count();
        let last = ids.iter().rev().find(|id| !pad(id)).copied();
        if self.stop.is_some() && after > 0 {
            let tokens = if after == 1 { "token comes" } else { "tokens come" };
            self.add("ran-past-stop", format!("{after} {tokens} after the stop"));
        } else {
            self.reported_length();
        }
        if self.stop.is_none()
            && let Some(last) = last
        {
            self.unknown_stop(last);
        }
        self.found
    }

    fn add(&mut self, code: &'static str, message: String) {
        self.found.push(Problem { code, message });
    }

    fn stop_in_text(&mut self, is_split: bool) {
        let texts = &self.stops.texts;
        let Some(text) = &self.given.text else { return };
        match (self.stops.stop_in_text(texts, None, texts.matcher.trim(text).1), self.stop) {
            (None, _) => {}
            (Some(Stop::Token { token_id, .. }), _) => {
                let token = self.stops.name(token_id);
                self.add("eos-in-text", format!("the text has the stop token {token}, where it should end before it"));
            }
            (Some(Stop::String { string }), Some(Stop::String { .. })) if is_split => self.add(
                "split-stop",
                format!(
                    "the text has the stop string {string:?}, which lies over several tokens: comparing token by token misses it"
                ),
            ),
            (Some(Stop::String { string }), _) => self.add(
                "stop-in-text",
                format!("the text has the stop string {string:?}, where it should end before it"),
            ),
        }
    }

    /// What the engine decoded is not what its ids are.
    fn text_differs(&mut self, ids: &[TokenId], decoded: &str) {
        let Some(text) = &self.given.text else { return };
        let given = self.stops.texts.matcher.trim(text).0;
        // Engines hold back the beginning of a character at the end.
        let is_same = |decoded: &str| {
            let whole = decoded.trim_end_matches(char::REPLACEMENT_CHARACTER);
            [given, text].iter().any(|text| *text == decoded || *text == whole)
        };
        // What comes after the stop is reported as that.
        let is_whole = || self.stops.tokenizer.decode(ids, true).is_ok_and(|all| is_same(&all));
        if !is_same(decoded) && !is_whole() {
            self.add("text-differs", format!("the text is {given:?}, and its ids are {decoded:?}"));
        }
    }

    fn reported_length(&mut self) {
        if self.stop.is_some() && self.given.finish_reason.as_deref() == Some("length") {
            self.add("ran-past-stop", "the engine says \"length\", and there is a stop".into());
        }
    }

    /// It ends with this id, and nothing that is known stops it.
    fn unknown_stop(&mut self, last: TokenId) {
        if self.stops.trimmer.is_special(last) {
            let (token, setting) = (self.stops.name(last), &self.setting);
            let way_out = format!("name it with {setting}, or as eos_token_id in the model file");
            self.add("unknown-eos", format!("the output ends with {token}, which is no stop id; {way_out}"));
        } else if self.given.stop_reason.is_none() && self.given.finish_reason.as_deref() == Some("stop") {
            self.add("no-stop", "the engine says \"stop\", and nothing here is one".into());
        }
    }
}
