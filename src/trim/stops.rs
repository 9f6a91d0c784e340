//! Finds a model's stops among ids and in text.

use std::sync::Arc;

use crate::builder::PromptBuilder;
use crate::error::Result;
use crate::stop::{FinishReason, Stop, StopCriteria, StopMatcher, Trimmer};
use crate::tokenizer::{TokenId, Tokenizer};

/// Where answers of a model end.
#[derive(Debug)]
pub(super) struct AnswerStops {
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) trimmer: Trimmer,
    pub(super) texts: TextStops,
}

/// Finds stop strings in texts. The strings of the stop ids come after them in the list.
#[derive(Debug, Clone)]
pub(super) struct TextStops {
    pub(super) criteria: StopCriteria,
    pub(super) matcher: StopMatcher,
}

impl TextStops {
    pub(super) fn new(criteria: &StopCriteria, tokenizer: &Tokenizer) -> Result<Self> {
        let mut strings = StopCriteria::default();
        criteria.in_text(tokenizer).for_each(|string| strings.add_string(string));
        Ok(Self { matcher: strings.matcher()?, criteria: strings })
    }
}

impl AnswerStops {
    pub(super) fn new(builder: &PromptBuilder, trimmer: Trimmer) -> Result<Self> {
        let tokenizer = builder.tokenizer();
        Ok(Self { tokenizer: Arc::clone(tokenizer), trimmer, texts: TextStops::new(builder.stop(), tokenizer)? })
    }

    /// The stop that ends a text: a string, or the string of a stop id.
    pub(super) fn stop_in_text(
        &self,
        texts: &TextStops,
        named: Option<&StopCriteria>,
        reason: FinishReason,
    ) -> Option<Stop> {
        let FinishReason::StopString(string) = reason else { return None };
        let string = texts.criteria.strings()[string].clone();
        let criteria = named.unwrap_or(self.trimmer.criteria());
        if criteria.strings().contains(&string) {
            return Some(Stop::String { string });
        }
        let stop = criteria.ids().iter().find(|stop| self.tokenizer.id_to_token(stop.id).as_deref() == Some(&string));
        stop.map(|stop| Stop::Token { token_id: stop.id, token: Some(string), sources: stop.sources.clone() })
    }

    /// A token with its id. The tokenizer may not have it.
    pub(super) fn name(&self, id: TokenId) -> String {
        match self.tokenizer.id_to_token(id) {
            Some(_) => format!("{} (id {id})", self.tokenizer.quoted_token(id)),
            None => format!("id {id}, which the tokenizer does not have"),
        }
    }
}
