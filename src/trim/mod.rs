//! What an engine gave, cut to where it should have ended: lines of answers in, lines of trimmed answers out.
//!
//! ```
//! use metatok::PromptBuilder;
//! use metatok::trim::{AnswerTrimmer, TrimOptions};
//!
//! let builder = PromptBuilder::demo()?;
//! let trimmer = AnswerTrimmer::new(&builder, TrimOptions::default())?;
//! let answers = trimmer.trim(r#"{"id": 7, "text": "Paris.<|im_end|>\n<|im_start|>"}"#)?;
//! assert_eq!((answers[0].text.as_str(), &*answers[0].finish_reason), ("Paris.", "stop"));
//! # Ok::<(), metatok::Error>(())
//! ```

mod line;
mod problems;
mod stops;
mod totals;

use std::borrow::Cow;

use crate::builder::PromptBuilder;
use crate::error::{At, Result, Setting, counted};
use crate::server::{EngineAnswer, StopReason, read_answers, without_run_id};
use crate::stop::{CompletionEnd, FinishReason, Stop, StopCriteria, StopSource};
use crate::tokenizer::TokenId;
pub use line::{Problem, Reported, TrimmedAnswer};
use problems::Problems;
use stops::{AnswerStops, TextStops};
pub use totals::TrimTotals;

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

/// Trims answers of one model.
#[derive(Debug)]
pub struct AnswerTrimmer {
    stops: AnswerStops,
    options: TrimOptions,
    /// What settings are called in the texts of problems.
    setting_name: fn(&Setting) -> String,
    /// What the ids of requests begin with.
    run_id: Option<String>,
}

impl AnswerTrimmer {
    /// With the stops of a builder.
    ///
    /// # Errors
    /// As [`PromptBuilder::trimmer`].
    pub fn new(builder: &PromptBuilder, options: TrimOptions) -> Result<Self> {
        let stops = AnswerStops::new(builder, options.include_stop)?;
        Ok(Self { stops, options, setting_name: Setting::to_string, run_id: None })
    }

    /// Calls settings by the program's own names in the texts of problems.
    #[must_use]
    pub fn setting_name(mut self, name: fn(&Setting) -> String) -> Self {
        self.setting_name = name;
        self
    }

    /// Takes this off the front of ids, see [`RequestOptions`](crate::server::RequestOptions).
    #[must_use]
    pub fn run_id(mut self, run_id: Option<String>) -> Self {
        self.run_id = run_id;
        self
    }

    /// Trims a line of JSON in any of [`ANSWER_FORMATS`](crate::server::ANSWER_FORMATS), which may hold several answers. A stop
    /// that the engine names is one, whether the builder has it or not.
    ///
    /// # Errors
    /// As [`read_answers`]; names an id before the stop that the tokenizer does not have.
    pub fn trim<'a>(&self, json: &'a str) -> Result<Vec<TrimmedAnswer<'a>>> {
        read_answers(json)?.into_iter().map(|answer| self.trim_answer(answer)).collect()
    }

    /// Trims an answer that is read already.
    ///
    /// # Errors
    /// Names an id before the stop that the tokenizer does not have.
    pub fn trim_answer<'a>(&self, mut given: EngineAnswer<'a>) -> Result<TrimmedAnswer<'a>> {
        given.id = given.id.map(|id| without_run_id(&id, self.run_id.as_deref()).map_or(id, Cow::Owned));
        let trimmed = match (given.generated_ids(), &given.text) {
            (Some(ids), _) => self.ids(&given, ids).at("token_ids")?,
            (None, text) => self.text(&given, text.as_deref().unwrap_or_default())?,
        };
        Ok(trimmed.of_engine(given))
    }

    fn ids(&self, given: &EngineAnswer<'_>, ids: &[TokenId]) -> Result<TrimmedAnswer<'static>> {
        let named = self.with_named_stop(given);
        let trimmer = match &named {
            Some(criteria) => Cow::Owned(self.stops.trimmer.with_criteria(criteria)?),
            None => Cow::Borrowed(&self.stops.trimmer),
        };
        let end = trimmer.end(ids)?;
        let completion = trimmer.complete_at(ids, end)?;
        let explain = self.options.explain.then(|| self.explain_ids(ids, end, completion.stop.as_ref()));
        let problems = match self.options.validate {
            true => {
                let text = trimmer.into_owned().include_stop(false).complete(ids)?.text;
                self.problems(given, completion.stop.as_ref()).of_ids(ids, end, &text)
            }
            false => Vec::new(),
        };
        Ok(TrimmedAnswer { explain, problems, ..TrimmedAnswer::new(completion) })
    }

    fn text(&self, given: &EngineAnswer<'_>, text: &str) -> Result<TrimmedAnswer<'static>> {
        let named = self.with_named_stop(given);
        let texts = match &named {
            Some(criteria) => Cow::Owned(TextStops::new(criteria, &self.stops.tokenizer)?),
            None => Cow::Borrowed(&self.stops.texts),
        };
        let (before, reason) = texts.matcher.trim(text);
        let stop = self.stops.stop_in_text(&texts, named.as_ref(), reason);
        let kept = match reason {
            FinishReason::StopString(string) if self.options.include_stop => {
                &text[..before.len() + texts.criteria.strings()[string].len()]
            }
            _ => before,
        };
        let explain = self.options.explain.then(|| match &stop {
            None => "nothing stops it".to_owned(),
            Some(Stop::Token { token_id, .. }) => {
                let token = self.stops.tokenizer.quoted_token(*token_id);
                format!("the text has the stop token {token} at byte {}", before.len())
            }
            Some(Stop::String { string }) => format!("the stop string {string:?} at byte {}", before.len()),
        });
        let problems = if self.options.validate { self.problems(given, stop.as_ref()).of_text() } else { Vec::new() };
        Ok(TrimmedAnswer { explain, problems, ..TrimmedAnswer::of_text(kept.to_owned(), stop) })
    }

    /// The stops with the one that the engine names, where that is a further one.
    fn with_named_stop(&self, given: &EngineAnswer<'_>) -> Option<StopCriteria> {
        let known = self.stops.trimmer.criteria();
        let mut criteria = match given.stop_reason.as_ref()? {
            StopReason::Token(id) if known.stop_token_ids().any(|stop| stop == *id) => return None,
            StopReason::String(string) if string.is_empty() || known.strings().contains(string) => return None,
            _ => known.clone(),
        };
        match given.stop_reason.as_ref()? {
            StopReason::Token(id) => criteria.add_id(*id, StopSource::Engine),
            StopReason::String(string) => criteria.add_string(string),
        }
        Some(criteria)
    }

    fn problems<'p>(&'p self, given: &'p EngineAnswer<'_>, stop: Option<&'p Stop>) -> Problems<'p> {
        let setting = (self.setting_name)(&Setting::STOP_TOKEN_IDS);
        Problems::new(&self.stops, given, stop, setting)
    }

    fn explain_ids(&self, ids: &[TokenId], end: CompletionEnd, stop: Option<&Stop>) -> String {
        let read = end.read;
        match stop {
            None => "nothing stops it".to_owned(),
            Some(Stop::Token { token_id, sources, .. }) => {
                let token = self.stops.name(*token_id);
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
        }
    }
}
