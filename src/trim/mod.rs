//! Cuts an engine's answers where they should have ended: lines of answers in, lines of trimmed answers out.
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

mod batches;
mod line;
mod problems;
mod requests;
mod spellings;
mod stops;
mod totals;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::builder::PromptBuilder;
use crate::error::{At, Result, Setting, counted};
use crate::server::{EngineAnswer, RequestRecord, StopReason, read_answers, without_run_id};
use crate::stop::{CompletionEnd, FinishReason, Stop, Trimmer};
use crate::tokenizer::TokenId;
pub use batches::TrimmedBatch;
pub use line::{Problem, Reported, TrimmedAnswer};
use problems::Problems;
use stops::{AnswerStops, TextStops};
pub use totals::TrimTotals;

/// Options for trimming answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrimOptions {
    /// Whether to keep the stop itself.
    pub include_stop: bool,
    /// Whether to keep special tokens in the text, see [`Trimmer::skip_special_tokens`](crate::Trimmer::skip_special_tokens).
    pub keep_special_tokens: bool,
    /// Whether to explain in words what stopped an answer, and where.
    pub explain: bool,
    /// Whether to look for mistakes of the engine.
    pub validate: bool,
}

/// Trims answers of one model.
#[derive(Debug)]
pub struct AnswerTrimmer {
    stops: AnswerStops,
    options: TrimOptions,
    /// Formats the names of settings in the messages of problems.
    setting_name: fn(&Setting) -> String,
    /// The prefix of the ids of requests.
    run_id: Option<String>,
    stops_at_error: bool,
    /// The last stops that engines named, with which others are found, too.
    named: Mutex<Vec<(StopReason, Arc<NamedStops>)>>,
}

/// At most this many stops that engines named are kept: they name few different ones.
const MOST_NAMED: usize = 64;
/// A longer one is not kept: it is no stop, and takes many times as much memory to look for.
const LONGEST_NAMED: usize = 1 << 10;

/// The stops, with one more that an engine named.
#[derive(Debug)]
struct NamedStops {
    trimmer: Trimmer,
    texts: TextStops,
}

impl AnswerTrimmer {
    /// Creates a trimmer with the stops of a builder.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::trimmer`].
    pub fn new(builder: &PromptBuilder, options: TrimOptions) -> Result<Self> {
        let TrimOptions { include_stop, keep_special_tokens, .. } = options;
        let trimmer = builder.trimmer()?.include_stop(include_stop).skip_special_tokens(!keep_special_tokens);
        let stops = AnswerStops::new(builder, trimmer)?;
        Ok(Self {
            stops,
            options,
            setting_name: Setting::to_string,
            run_id: None,
            stops_at_error: true,
            named: Mutex::default(),
        })
    }

    /// Sets how the messages of problems name settings.
    #[must_use]
    pub fn setting_name(mut self, name: fn(&Setting) -> String) -> Self {
        self.setting_name = name;
        self
    }

    /// Removes this prefix from ids, see [`RequestOptions`](crate::server::RequestOptions).
    #[must_use]
    pub fn run_id(mut self, run_id: Option<String>) -> Self {
        self.run_id = run_id;
        self
    }

    /// Whether [`Self::batches`] ends at the first line that is no answer, as it does by default.
    #[must_use]
    pub fn stop_at_error(mut self, stop: bool) -> Self {
        self.stops_at_error = stop;
        self
    }

    /// Trims a line of JSON in any of [`ANSWER_FORMATS`](crate::server::ANSWER_FORMATS), which may hold several
    /// answers. A stop that the engine names counts even if the builder does not have it.
    ///
    /// # Errors
    /// The same as for [`read_answers`]; an id before the stop that the tokenizer does not have.
    pub fn trim<'a>(&self, json: &'a str) -> Result<Vec<TrimmedAnswer<'a>>> {
        self.trim_to(json, None)
    }

    /// Trims a line with the answers to this request.
    fn trim_to<'a>(&self, json: &'a str, asked: Option<&'a RequestRecord>) -> Result<Vec<TrimmedAnswer<'a>>> {
        let mut answers = read_answers(json)?;
        asked.map_or(Ok(()), |asked| asked.give(&mut answers))?;
        answers.into_iter().map(|answer| self.trim_answer(answer)).collect()
    }

    /// Trims an answer that is already parsed.
    ///
    /// # Errors
    /// An id before the stop that the tokenizer does not have.
    pub fn trim_answer<'a>(&self, mut answer: EngineAnswer<'a>) -> Result<TrimmedAnswer<'a>> {
        answer.id = answer.id.map(|id| without_run_id(&id, self.run_id.as_deref()).map_or(id, Cow::Owned));
        if !answer.tail.is_empty() {
            // It is not the engine's.
            answer.text = None;
        }
        let trimmed = match answer.generated_ids() {
            Some(ids) if answer.tail.is_empty() => self.ids(&answer, ids).at("token_ids")?,
            Some(ids) => self.ids(&answer, &[ids, &answer.tail].concat()).at("token_ids")?,
            None => self.text(&answer, answer.text.as_deref().unwrap_or_default())?,
        };
        Ok(trimmed.of_engine(answer))
    }

    /// The texts that engines may write for ids that decode to this text.
    pub(crate) fn spellings<'t>(&self, ids: &[TokenId], text: &'t str) -> impl Iterator<Item = &'t str> + use<'t> {
        self.stops.spellings(ids, text)
    }

    fn ids(&self, answer: &EngineAnswer<'_>, ids: &[TokenId]) -> Result<TrimmedAnswer<'static>> {
        let named = self.with_named_stop(answer)?;
        let trimmer = named.as_ref().map_or(&self.stops.trimmer, |named| &named.trimmer);
        let end = trimmer.end(ids)?;
        let completion = trimmer.complete_at(ids, end)?;
        let explain = self.options.explain.then(|| {
            let before_stop = trimmer.clone().include_stop(false).end(ids).unwrap_or(end);
            self.explain_ids(ids, before_stop, completion.stop.as_ref())
        });
        let problems = match self.options.validate {
            true => {
                let text = trimmer.clone().include_stop(false).skip_special_tokens(true).complete(ids)?.text;
                self.problems(answer, named.as_deref(), completion.stop.as_ref()).of_ids(ids, end, &text)
            }
            false => Vec::new(),
        };
        Ok(TrimmedAnswer { explain, problems, ..TrimmedAnswer::new(completion) })
    }

    fn text(&self, answer: &EngineAnswer<'_>, text: &str) -> Result<TrimmedAnswer<'static>> {
        let named = self.with_named_stop(answer)?;
        let texts = named.as_ref().map_or(&self.stops.texts, |named| &named.texts);
        let (before, reason) = texts.matcher.trim(text);
        let stop = self.stops.stop_in_text(texts, named.as_ref().map(|named| named.trimmer.criteria()), reason);
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
        let problems = match self.options.validate {
            true => self.problems(answer, named.as_deref(), stop.as_ref()).of_text(),
            false => Vec::new(),
        };
        Ok(TrimmedAnswer { explain, problems, ..TrimmedAnswer::of_text(kept.to_owned(), stop) })
    }

    /// The stops, with the one that the engine names if it is a new one.
    fn with_named_stop(&self, answer: &EngineAnswer<'_>) -> Result<Option<Arc<NamedStops>>> {
        let Some(reason) = &answer.stop_reason else { return Ok(None) };
        let stop = Stop::from(reason.clone());
        if stop.is_among(self.stops.trimmer.criteria()) {
            return Ok(None);
        }
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, stops)) = named.iter().find(|(known, _)| known == reason) {
            return Ok(Some(Arc::clone(stops)));
        }
        let trimmer = self.stops.trimmer.with_stop(&stop)?;
        let texts = TextStops::new(trimmer.criteria(), &self.stops.tokenizer)?;
        let stops = Arc::new(NamedStops { trimmer, texts });
        if matches!(&stop, Stop::String { string } if string.len() > LONGEST_NAMED) {
            return Ok(Some(stops));
        }
        if named.len() == MOST_NAMED {
            named.remove(0);
        }
        named.push((reason.clone(), Arc::clone(&stops)));
        Ok(Some(stops))
    }

    fn problems<'p>(
        &'p self,
        answer: &'p EngineAnswer<'_>,
        named: Option<&'p NamedStops>,
        stop: Option<&'p Stop>,
    ) -> Problems<'p> {
        let setting = (self.setting_name)(&Setting::STOP_TOKEN_IDS);
        let problems = Problems::new(&self.stops, answer, stop, setting);
        match named {
            Some(NamedStops { trimmer, texts }) => problems.with_named(texts, trimmer.criteria()),
            None => problems,
        }
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
