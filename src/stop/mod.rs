//! Where a model's output ends: stop ids and stop strings, each with the sources that declare it.
//!
//! ```
//! use metatok::PromptBuilder;
//!
//! let builder = PromptBuilder::demo()?;
//! assert_eq!(builder.stop().stop_token_ids().collect::<Vec<_>>(), [1052, 1050]);
//! assert_eq!(builder.complete(&[44, 695, 1052, 1053])?.text, "Mars");
//! # Ok::<(), metatok::Error>(())
//! ```

mod automaton;
mod completion;
mod echo;
mod first_stop;
mod matcher;
mod token_stream;
mod trim;

use std::fmt;

use foldhash::{HashMap, HashSet};
use serde::{Deserialize, Serialize};

use crate::tokenizer::{TokenId, Tokenizer};
pub use completion::{Completion, FinishReason, Stop};
pub use echo::without_echo;
pub(crate) use first_stop::before_first;
pub use matcher::{StopMatcher, StopStream};
pub use token_stream::TokenStream;
pub use trim::{CompletionEnd, Trimmer};

/// Where generation stops: the union of the stops of the template, the tokenizer's files and the user.
///
/// ```
/// use metatok::stop::{StopCriteria, StopSource};
///
/// let mut criteria = StopCriteria::default();
/// criteria.add_id(1052, StopSource::User);
/// criteria.add_string("\n\n");
/// let json = serde_json::to_string(&criteria)?;
/// assert_eq!(json, r#"{"ids":[{"id":1052,"sources":["user"]}],"strings":["\n\n"]}"#);
/// assert_eq!(serde_json::from_str::<StopCriteria>(&json)?, criteria);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StopLists")]
pub struct StopCriteria {
    ids: Vec<StopId>,
    strings: Vec<String>,
    /// The position of each id, and the set of strings: model files may list thousands.
    #[serde(skip)]
    places: HashMap<TokenId, usize>,
    #[serde(skip)]
    known: HashSet<String>,
}

/// Stops as written.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StopLists {
    ids: Vec<StopId>,
    strings: Vec<String>,
}

impl From<StopLists> for StopCriteria {
    fn from(StopLists { ids, strings }: StopLists) -> Self {
        let mut criteria = Self::default();
        for StopId { id, sources } in ids {
            criteria.place_of(id);
            sources.into_iter().for_each(|source| criteria.add_id(id, source));
        }
        strings.iter().for_each(|string| criteria.add_string(string));
        criteria
    }
}

/// A stop id and all its sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopId {
    /// The id.
    pub id: TokenId,
    /// Its sources, in the order of [`StopSource`].
    pub sources: Vec<StopSource>,
}

/// The source of a stop id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopSource {
    /// `eos_token_id` of the meta template.
    MetaTemplate,
    /// The first id of the generating role's `end`, if that is a control token.
    RoleEnd,
    /// `stop_token_ids` of a conversation template.
    ConversationTemplate,
    /// What a chat template writes after an answer, if that is a control token.
    ChatTemplate,
    /// `stop.token_ids` of the model file.
    ModelFile,
    /// `eos_token` of `tokenizer_config.json` or `special_tokens_map.json`.
    TokenizerConfig,
    /// `eos_token_id` of `generation_config.json`.
    GenerationConfig,
    /// The user.
    User,
    /// The engine, which says that it stopped there.
    Engine,
}

impl fmt::Display for StopSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MetaTemplate => "meta_template.eos_token_id",
            Self::RoleEnd => "the generating role's end",
            Self::ConversationTemplate => "the conversation template's stop_token_ids",
            Self::ChatTemplate => "what the chat template writes after an answer",
            Self::ModelFile => "stop.token_ids of the model file",
            Self::TokenizerConfig => "the tokenizer's eos_token",
            Self::GenerationConfig => "generation_config.json",
            Self::User => "the user",
            Self::Engine => "the engine",
        })
    }
}

impl StopCriteria {
    /// Adds an id from `source`.
    pub fn add_id(&mut self, id: TokenId, source: StopSource) {
        let place = self.place_of(id);
        let stop = &mut self.ids[place];
        if let Err(at) = stop.sources.binary_search(&source) {
            stop.sources.insert(at, source);
        }
    }

    /// Where an id is, which is added if it is new.
    fn place_of(&mut self, id: TokenId) -> usize {
        let place = *self.places.entry(id).or_insert(self.ids.len());
        if place == self.ids.len() {
            self.ids.push(StopId { id, sources: Vec::new() });
        }
        place
    }

    /// Adds a stop string. An empty one would stop at once, so it is ignored.
    pub fn add_string(&mut self, string: &str) {
        if !string.is_empty() && self.known.insert(string.to_owned()) {
            self.strings.push(string.to_owned());
        }
    }

    /// The stop ids with their sources, in the order in which they were added.
    pub fn ids(&self) -> &[StopId] {
        &self.ids
    }

    /// The stop ids alone, for an engine's `stop_token_ids`.
    pub fn stop_token_ids(&self) -> impl Iterator<Item = TokenId> + '_ {
        self.ids.iter().map(|stop| stop.id)
    }

    /// The stop strings, for an engine's `stop`.
    pub fn strings(&self) -> &[String] {
        &self.strings
    }

    /// What ends a text: the strings, and the texts of stop ids that are added tokens, which engines should leave out of it.
    pub(crate) fn in_text<'s>(&'s self, tokenizer: &'s Tokenizer) -> impl Iterator<Item = &'s str> {
        let tokens = self.stop_token_ids().filter_map(|id| tokenizer.added_token(id));
        self.strings.iter().map(String::as_str).chain(tokens.map(|token| &*token.content))
    }

    /// A text that a model generated, up to its first stop.
    pub(crate) fn before_in<'t>(&self, text: &'t str, tokenizer: &Tokenizer) -> &'t str {
        before_first(text, self.in_text(tokenizer))
    }

    /// Whether nothing ever stops.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.strings.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_without_a_source_stops_too() {
        let json = r#"{"ids":[{"id":5,"sources":[]}],"strings":[]}"#;
        let criteria: StopCriteria = serde_json::from_str(json).expect("it is written so");
        assert_eq!(criteria.stop_token_ids().collect::<Vec<_>>(), [5]);
        assert_eq!(serde_json::to_string(&criteria).expect("it is data"), json);
    }
}
