//! Finds an engine's mistakes: compares the end that it reports with its tokens and text.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::server::{EngineAnswer, calls_tools};
use crate::stop::{CompletionEnd, Stop, StopCriteria};
use crate::tokenizer::TokenId;
use crate::trim::line::Problem;
use crate::trim::stops::{AnswerStops, TextStops};

/// Collects the problems of one answer.
pub(super) struct Problems<'p> {
    stops: &'p AnswerStops,
    answer: &'p EngineAnswer<'p>,
    texts: &'p TextStops,
    /// The stops with one that only the engine names, if there is one.
    named: Option<&'p StopCriteria>,
    /// The stop at which it ends.
    stop: Option<&'p Stop>,
    /// The name of the setting for more stops.
    setting: String,
    found: Vec<Problem>,
}

impl<'p> Problems<'p> {
    pub(super) fn new(
        stops: &'p AnswerStops,
        answer: &'p EngineAnswer<'_>,
        stop: Option<&'p Stop>,
        setting: String,
    ) -> Self {
        Self { stops, answer, texts: &stops.texts, named: None, stop, setting, found: Vec::new() }
    }

    /// Looks for these stops in place of those that are known, because the engine names another one.
    pub(super) fn with_named(mut self, texts: &'p TextStops, criteria: &'p StopCriteria) -> Self {
        (self.texts, self.named) = (texts, Some(criteria));
        self
    }

    /// The problems of an answer with only text.
    pub(super) fn of_text(mut self) -> Vec<Problem> {
        self.stop_in_text(false, "");
        self.only_thoughts();
        self.reported_length();
        self.found
    }

    /// The problems of an answer that ends here, and whose ids decode to this text.
    pub(super) fn of_ids(mut self, ids: &[TokenId], end: CompletionEnd, text: &str) -> Vec<Problem> {
        // The stop string spans several tokens if more than one was read after those that are kept.
        self.stop_in_text(end.tokens + 1 < end.read, text);
        self.text_differs(ids, end, text);
        self.only_thoughts();
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

    /// `decoded` is what the ids are without control tokens.
    fn stop_in_text(&mut self, is_split: bool, decoded: &str) {
        let Some(text) = &self.answer.text else { return };
        let (trimmed, found) = self.texts.matcher.trim(text);
        match (self.stops.stop_in_text(self.texts, self.named, found), self.stop) {
            (None, _) => {}
            (Some(Stop::Token { token: Some(token), .. }), Some(_))
                if self.answer.stop_is_optional && text[trimmed.len()..] == token => {}
            // The model spelled it in other tokens.
            (Some(Stop::Token { token: Some(token), .. }), _)
                if decoded.strip_prefix(trimmed).is_some_and(|rest| rest.starts_with(&token)) => {}
            (Some(Stop::Token { token_id, .. }), _) => {
                let token = self.stops.name(token_id);
                self.add("eos-in-text", format!("the text contains the stop token {token}; it should end before it"));
            }
            (Some(Stop::String { string }), Some(Stop::String { .. })) if is_split => self.add(
                "split-stop",
                format!(
                    "the text contains the stop string {string:?}, which spans several tokens: a comparison token by token misses it"
                ),
            ),
            (Some(Stop::String { string }), _) => self.add(
                "stop-in-text",
                format!("the text contains the stop string {string:?}; it should end before it"),
            ),
        }
    }

    /// The engine's text must be what its ids decode to, the content of a chat's message a part of it.
    fn text_differs(&mut self, ids: &[TokenId], end: CompletionEnd, decoded: &str) {
        let Some(text) = &self.answer.text else { return };
        let trimmed = self.texts.matcher.trim(text).0;
        let is_same = |ids: &[TokenId], decoded: &str| {
            self.stops.spellings(ids, decoded).any(|spelling| spelling == trimmed || spelling == text)
        };
        // A text with the whole output is reported as a stop in the text.
        let is_part = || self.answer.is_chat && decoded.contains(trimmed.trim());
        let is_whole = || self.stops.tokenizer.decode(ids, true).is_ok_and(|all| is_same(ids, &all));
        if !is_same(&ids[..end.tokens], decoded) && !is_part() && !is_whole() {
            self.add("text-differs", format!("the text is {trimmed:?}, but its ids decode to {decoded:?}"));
        }
    }

    /// Servers that expect thoughts at the beginning take an answer without any for thoughts.
    fn only_thoughts(&mut self) {
        #[derive(Default, Deserialize)]
        struct Said {
            #[serde(alias = "reasoning_content")]
            reasoning: Option<IgnoredAny>,
            audio: Option<IgnoredAny>,
            content: Option<IgnoredAny>,
            function_call: Option<IgnoredAny>,
            refusal: Option<IgnoredAny>,
            tool_calls: Option<IgnoredAny>,
        }

        let Some(message) = self.answer.message.as_ref().filter(|_| self.answer.is_chat) else { return };
        let ended = self.answer.finish_reason.as_deref().filter(|reason| *reason == "stop" || calls_tools(reason));
        let is_empty = self.answer.text.as_ref().is_none_or(|text| text.trim().is_empty());
        let Some(reason) = ended.filter(|_| is_empty) else { return };
        let said: Said = serde_json::from_str(message.get()).unwrap_or_default();
        let other = said.audio.or(said.content).or(said.function_call).or(said.refusal).or(said.tool_calls);
        if said.reasoning.is_some() && other.is_none() {
            self.add("only-thoughts", format!("the engine reports {reason:?}, but the answer has only thoughts"));
        }
    }

    fn reported_length(&mut self) {
        if self.stop.is_some() && self.answer.finish_reason.as_deref() == Some("length") {
            self.add("ran-past-stop", "the engine reports \"length\", but the answer has a stop".into());
        }
    }

    /// The answer ends with this id, but no known stop ends it.
    fn unknown_stop(&mut self, last: TokenId) {
        let is_cut = self.answer.finish_reason.as_deref() == Some("length");
        if self.stops.trimmer.is_special(last) && !is_cut {
            let (token, setting) = (self.stops.name(last), &self.setting);
            let way_out = format!("add it with {setting}, or as eos_token_id in the model file");
            self.add("unknown-eos", format!("the answer ends with {token}, which is not a stop id; {way_out}"));
        } else if !self.answer.stop_is_optional
            && self.answer.stop_reason.is_none()
            && self.answer.finish_reason.as_deref() == Some("stop")
        {
            self.add("no-stop", "the engine reports \"stop\", but the answer has no stop".into());
        }
    }
}
