//! What an engine gave, cut to where it should have ended: lines of answers in, lines of trimmed answers out.
//!
//! ```
//! use metatok::PromptBuilder;
//! use metatok::trim::{AnswerTrimmer, TrimOptions};
//!
//! let builder = PromptBuilder::demo()?;
//! let trimmer = AnswerTrimmer::new(&builder, TrimOptions::default())?;
//! let answer = trimmer.trim(r#"{"id": 7, "text": "Paris.<|im_end|>\n<|im_start|>"}"#)?;
//! assert_eq!((answer.text.as_str(), answer.finish_reason), ("Paris.", "stop"));
//! # Ok::<(), metatok::Error>(())
//! ```

mod line;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::builder::PromptBuilder;
use crate::error::{At, ErrorKind, Result, Setting, counted};
use crate::input::from_json;
use crate::stop::{CompletionEnd, FinishReason, Stop, StopCriteria, StopMatcher, Trimmer};
use crate::tokenizer::{TokenId, Tokenizer};
pub use line::{Problem, TrimmedAnswer};

/// What is wanted of trimmed answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrimOptions {
    /// Whether the stop itself stays.
    pub include_stop: bool,
    /// Whether is said in words what stopped it, and where.
    pub explain: bool,
    /// Whether problems are looked for: what the engine should have done otherwise.
    pub validate: bool,
}

/// A line of what an engine gave. Other keys are left alone.
#[derive(Deserialize)]
struct Given<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    repeat: Option<&'a RawValue>,
    #[serde(borrow)]
    turn: Option<&'a RawValue>,
    #[serde(borrow)]
    columns: Option<&'a RawValue>,
    token_ids: Option<Vec<TokenId>>,
    text: Option<String>,
    /// The prompt's, which some engines give again before the answer.
    input_ids: Option<Vec<TokenId>>,
    finish_reason: Option<String>,
    /// Which stop it was, where the engine says so.
    stop_reason: Option<serde::de::IgnoredAny>,
}

/// Trims answers of one model.
#[derive(Debug)]
pub struct AnswerTrimmer {
    tokenizer: Arc<Tokenizer>,
    trimmer: Trimmer,
    /// Finds stop strings in texts, and after them in the list the strings of the stop ids.
    texts: StopMatcher,
    texts_criteria: StopCriteria,
    options: TrimOptions,
    /// What settings are called in the texts of problems.
    setting_name: fn(&Setting) -> String,
}

impl AnswerTrimmer {
    /// With the stops of a builder.
    ///
    /// # Errors
    /// As [`PromptBuilder::trimmer`].
    pub fn new(builder: &PromptBuilder, options: TrimOptions) -> Result<Self> {
        let tokenizer = builder.tokenizer();
        let mut texts_criteria = StopCriteria::default();
        builder.stop().strings().iter().for_each(|string| texts_criteria.add_string(string));
        // In text an engine should have left them out of.
        for id in builder.stop().stop_token_ids() {
            if let Some(token) = tokenizer.added_token(id) {
                texts_criteria.add_string(&token.content);
            }
        }
        Ok(Self {
            tokenizer: Arc::clone(tokenizer),
            trimmer: builder.trimmer()?.include_stop(options.include_stop),
            texts: texts_criteria.matcher()?,
            texts_criteria,
            options,
            setting_name: Setting::to_string,
        })
    }

    /// Calls settings by the program's own names in the texts of problems.
    #[must_use]
    pub fn setting_name(mut self, name: fn(&Setting) -> String) -> Self {
        self.setting_name = name;
        self
    }

    /// Trims a line of JSON: `token_ids` or `text`, and what else the engine says. Keys that name its prompt are kept.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a line without either.
    pub fn trim<'a>(&self, json: &'a str) -> Result<TrimmedAnswer<'a>> {
        let given: Given<'a> = from_json(json)?;
        let trimmed = match (&given.token_ids, &given.text) {
            (Some(ids), _) => {
                let ids = self.trimmer.without_echo(given.input_ids.as_deref().unwrap_or_default(), ids);
                self.ids(&given, ids)?
            }
            (None, Some(text)) => self.text(&given, text),
            (None, None) => {
                return Err(ErrorKind::Invalid("there is neither \"token_ids\" nor \"text\"".into()).into());
            }
        };
        let Given { id, repeat, turn, columns, .. } = given;
        Ok(TrimmedAnswer { id, repeat, turn, columns, ..trimmed })
    }

    fn ids(&self, given: &Given<'_>, ids: &[TokenId]) -> Result<TrimmedAnswer<'static>> {
        let end = self.trimmer.end(ids).at("token_ids")?;
        let completion = self.trimmer.complete_at(ids, end).at("token_ids")?;
        let read = end.read;
        let trimmed = TrimmedAnswer::new(completion);
        let stop = &trimmed.stop;
        let explain = self.options.explain.then(|| match stop {
            None => "nothing stops it".to_owned(),
            Some(Stop::Token { token_id, sources, .. }) => {
                let token = self.name(*token_id);
                let sources: Vec<String> = sources.iter().map(ToString::to_string).collect();
                let after = counted(ids.len() - read, "token");
                format!("token {} is {token}: {}; {after} after it", read - 1, sources.join(", "))
            }
            Some(Stop::String { string }) => {
                let (first, last) = (end.tokens, read - 1);
                let over =
                    if first == last { format!("in token {last}") } else { format!("over tokens {first} to {last}") };
                format!("the stop string {string:?} {over}; {} after it", counted(ids.len() - read, "token"))
            }
        });
        let problems =
            if self.options.validate { self.problems(given, Some((ids, end)), stop.as_ref()) } else { Vec::new() };
        Ok(TrimmedAnswer { explain, problems, ..trimmed })
    }

    fn text(&self, given: &Given<'_>, text: &str) -> TrimmedAnswer<'static> {
        let (before, reason) = self.texts.trim(text);
        let stop = self.stop_in_text(reason);
        let kept = match reason {
            FinishReason::StopString(string) if self.options.include_stop => {
                &text[..before.len() + self.texts_criteria.strings()[string].len()]
            }
            _ => before,
        };
        let explain = self.options.explain.then(|| match &stop {
            None => "nothing stops it".to_owned(),
            Some(Stop::Token { token_id, .. }) => {
                let token = self.tokenizer.quoted_token(*token_id);
                format!("the text has the stop token {token} at byte {}", before.len())
            }
            Some(Stop::String { string }) => format!("the stop string {string:?} at byte {}", before.len()),
        });
        let problems = if self.options.validate { self.problems(given, None, stop.as_ref()) } else { Vec::new() };
        TrimmedAnswer { explain, problems, ..TrimmedAnswer::of_text(kept.to_owned(), stop) }
    }

    /// Which stop a text came to: a string, or the string of a stop id.
    fn stop_in_text(&self, reason: FinishReason) -> Option<Stop> {
        let FinishReason::StopString(string) = reason else { return None };
        let string = self.texts_criteria.strings()[string].clone();
        if self.trimmer.criteria().strings().contains(&string) {
            return Some(Stop::String { string });
        }
        let stops = self.trimmer.criteria().ids().iter();
        let stop = stops.into_iter().find(|stop| self.tokenizer.id_to_token(stop.id).as_deref() == Some(&string));
        stop.map(|stop| Stop::Token { token_id: stop.id, token: Some(string), sources: stop.sources.clone() })
    }

    /// A token with its id, which the tokenizer may not have.
    fn name(&self, id: TokenId) -> String {
        match self.tokenizer.id_to_token(id) {
            Some(_) => format!("{} (id {id})", self.tokenizer.quoted_token(id)),
            None => format!("id {id}, which the tokenizer does not have"),
        }
    }

    /// What the engine said, beside what should have been.
    fn problems(
        &self,
        given: &Given<'_>,
        ids: Option<(&[TokenId], CompletionEnd)>,
        stop: Option<&Stop>,
    ) -> Vec<Problem> {
        // The stop string lies over several tokens if more than one is read behind those that stay.
        let is_split = ids.is_some_and(|(_, end)| end.tokens + 1 < end.read);
        let (ids, read) = ids.map_or((&[][..], 0), |(ids, end)| (ids, end.read));
        let mut problems = Vec::new();
        let mut add = |code, message| problems.push(Problem { code, message });
        let leaked = given.text.as_deref().and_then(|text| self.stop_in_text(self.texts.trim(text).1));
        match (&leaked, stop) {
            (Some(Stop::Token { token_id, .. }), _) => {
                add(
                    "eos-in-text",
                    format!("the text has the stop token {}, where it should end before it", self.name(*token_id)),
                );
            }
            (Some(Stop::String { string }), Some(Stop::String { .. })) if is_split => {
                add(
                    "split-stop",
                    format!(
                        "the text has the stop string {string:?}, which lies over several tokens: comparing token by token misses it"
                    ),
                );
            }
            (Some(Stop::String { string }), _) => {
                add("stop-in-text", format!("the text has the stop string {string:?}, where it should end before it"));
            }
            (None, _) => {}
        }
        let pad = |id: &&TokenId| self.trimmer.pad() == Some(**id);
        let behind = ids.len() - read - ids[read..].iter().rev().take_while(pad).count();
        if stop.is_some() && behind > 0 {
            let tokens = if behind == 1 { "token comes" } else { "tokens come" };
            add("ran-past-stop", format!("{behind} {tokens} after the stop"));
        } else if stop.is_some() && given.finish_reason.as_deref() == Some("length") {
            add("ran-past-stop", "the engine says \"length\", and there is a stop".into());
        }
        let last = ids.iter().rev().find(|id| !pad(id));
        match last.filter(|id| stop.is_none() && self.trimmer.is_special(**id)) {
            Some(&eos) => add(
                "unknown-eos",
                format!(
                    "the output ends with {}, which is no stop id; name it with {}, or as eos_token_id in the model file",
                    self.name(eos),
                    (self.setting_name)(&Setting::STOP_TOKEN_IDS)
                ),
            ),
            None if stop.is_none()
                && !ids.is_empty()
                && given.stop_reason.is_none()
                && given.finish_reason.as_deref() == Some("stop") =>
            {
                add("no-stop", "the engine says \"stop\", and nothing here is one".into());
            }
            None => {}
        }
        problems
    }
}
