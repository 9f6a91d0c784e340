//! The thoughts of a model before its answer.

use crate::conversation::END_OF_THOUGHTS;
use crate::error::{Warning, counted};

/// What begins a model's thoughts.
const BEGIN_OF_THOUGHTS: &str = "<think>";

/// A model's text after its thoughts, if it had any: nothing if it begins to think and does not end.
pub(crate) fn without_thoughts(text: &str) -> &str {
    match text.rsplit_once(END_OF_THOUGHTS) {
        Some((_, said)) => said.trim_start_matches('\n'),
        None if is_unfinished(text) => "",
        None => text,
    }
}

fn is_unfinished(text: &str) -> bool {
    text.trim_start().starts_with(BEGIN_OF_THOUGHTS) && !text.contains(END_OF_THOUGHTS)
}

/// The answers that never end their thoughts: nothing of them is left.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedThoughts {
    count: u64,
    /// The id of the first one's row, as JSON.
    first: Option<String>,
}

impl UnfinishedThoughts {
    /// An answer to the row with this id.
    pub(crate) fn see(&mut self, text: &str, id: &str) {
        if is_unfinished(text) {
            self.count += 1;
            self.first.get_or_insert_with(|| id.to_owned());
        }
    }

    /// A note of them, if there are any.
    pub(crate) fn warning(&self) -> Option<Warning> {
        let (first, answers) = (self.first.as_ref()?, counted(self.count, "answer"));
        let what = format!("nothing is left of {answers} whose thoughts never end, the first one to id {first}");
        Some(Warning::new("unfinished-thoughts", what).with_way_out("let the model generate more tokens"))
    }
}
