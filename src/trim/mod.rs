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

use std::borrow::Cow;
use std::sync::Arc;

use crate::builder::PromptBuilder;
use crate::error::{At, Result, Setting, counted};
use crate::server::{EngineAnswer, StopReason, read_answers};
use crate::stop::{CompletionEnd, FinishReason, Stop, StopCriteria, StopMatcher, StopSource, Trimmer};
use crate::tokenizer::{TokenId, Tokenizer};
pub use line::{Problem, Reported, TrimmedAnswer};
use problems::Problems;

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
    tokenizer: Arc<Tokenizer>,
    trimmer: Trimmer,
    texts: TextStops,
    options: TrimOptions,
    /// What settings are called in the texts of problems.
    setting_name: fn(&Setting) -> String,
}

/// Finds stop strings in texts, and after them in the list the strings of the stop ids.
#[derive(Debug, Clone)]
struct TextStops {
    criteria: StopCriteria,
    matcher: StopMatcher,
}

impl TextStops {
    fn new(criteria: &StopCriteria, tokenizer: &Tokenizer) -> Result<Self> {
        let mut strings = StopCriteria::default();
        criteria.strings().iter().for_each(|string| strings.add_string(string));
        // An engine should have left them out of the text.
        for id in criteria.stop_token_ids() {
            if let Some(token) = tokenizer.added_token(id) {
                strings.add_string(&token.content);
            }
        }
        Ok(Self { matcher: strings.matcher()?, criteria: strings })
    }
}

impl AnswerTrimmer {
    /// With the stops of a builder.
    ///
    /// # Errors
    /// As [`PromptBuilder::trimmer`].
    pub fn new(builder: &PromptBuilder, options: TrimOptions) -> Result<Self> {
        let tokenizer = builder.tokenizer();
        Ok(Self {
            tokenizer: Arc::clone(tokenizer),
            trimmer: builder.trimmer()?.include_stop(options.include_stop),
            texts: TextStops::new(builder.stop(), tokenizer)?,
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

    /// Trims a line of JSON in any of [`ANSWER_FORMATS`](crate::server::ANSWER_FORMATS), which may hold several answers. A stop
    /// that the engine names is one, whether the builder has it or not.
    ///
    /// # Errors
    /// As [`read_answers`]; names an id before the stop that the tokenizer does not have.
    pub fn trim<'a>(&self, json: &'a str) -> Result<Vec<TrimmedAnswer<'a>>> {
        read_answers(json)?.into_iter().map(|answer| self.answer(answer)).collect()
    }

    fn answer<'a>(&self, given: EngineAnswer<'a>) -> Result<TrimmedAnswer<'a>> {
        let trimmed = match (given.generated_ids(), &given.text) {
            (Some(ids), _) => self.ids(&given, ids).at("token_ids")?,
            (None, text) => self.text(&given, text.as_deref().unwrap_or_default())?,
        };
        Ok(trimmed.of_engine(given))
    }

    fn ids(&self, given: &EngineAnswer<'_>, ids: &[TokenId]) -> Result<TrimmedAnswer<'static>> {
        let named = self.with_named_stop(given);
        let trimmer = match &named {
            Some(criteria) => Cow::Owned(self.trimmer.with_criteria(criteria)?),
            None => Cow::Borrowed(&self.trimmer),
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
            Some(criteria) => Cow::Owned(TextStops::new(criteria, &self.tokenizer)?),
            None => Cow::Borrowed(&self.texts),
        };
        let (before, reason) = texts.matcher.trim(text);
        let stop = self.stop_in_text(&texts, named.as_ref(), reason);
        let kept = match reason {
            FinishReason::StopString(string) if self.options.include_stop => {
                &text[..before.len() + texts.criteria.strings()[string].len()]
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
        let problems = if self.options.validate { self.problems(given, stop.as_ref()).of_text() } else { Vec::new() };
        Ok(TrimmedAnswer { explain, problems, ..TrimmedAnswer::of_text(kept.to_owned(), stop) })
    }

    /// The stops with the one that the engine names, where that is a further one.
    fn with_named_stop(&self, given: &EngineAnswer<'_>) -> Option<StopCriteria> {
        let known = self.trimmer.criteria();
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
        Problems::new(self, given, stop)
    }

    fn explain_ids(&self, ids: &[TokenId], end: CompletionEnd, stop: Option<&Stop>) -> String {
        let read = end.read;
        match stop {
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
        }
    }

    /// Which stop a text came to: a string, or the string of a stop id.
    fn stop_in_text(&self, texts: &TextStops, named: Option<&StopCriteria>, reason: FinishReason) -> Option<Stop> {
        let FinishReason::StopString(string) = reason else { return None };
        let string = texts.criteria.strings()[string].clone();
        let criteria = named.unwrap_or(self.trimmer.criteria());
        if criteria.strings().contains(&string) {
            return Some(Stop::String { string });
        }
        let stop = criteria.ids().iter().find(|stop| self.tokenizer.id_to_token(stop.id).as_deref() == Some(&string));
        stop.map(|stop| Stop::Token { token_id: stop.id, token: Some(string), sources: stop.sources.clone() })
    }

    /// A token with its id, which the tokenizer may not have.
    fn name(&self, id: TokenId) -> String {
        match self.tokenizer.id_to_token(id) {
            Some(_) => format!("{} (id {id})", self.tokenizer.quoted_token(id)),
            None => format!("id {id}, which the tokenizer does not have"),
        }
    }
}
