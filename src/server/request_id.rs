//! The id of a request: one string for the run, the row, the repeat and the turn or label.

use serde_json::value::{RawValue, to_raw_value};

use crate::sink::PromptKey;

const REPEAT: &str = "-repeat-";
const TURN: &str = "-turn-";
const LABEL: &str = "-label-";
const NORMALIZING: &str = "-normalizing";

/// The prompt's id as a string, with the numbers of the repeat, the turn and the label.
pub(super) fn request_id(run_id: Option<&str>, key: &PromptKey<'_>) -> String {
    let row: String = serde_json::from_str(key.id.get()).unwrap_or_else(|_| key.id.to_string());
    let mut id = match run_id {
        Some(run_id) => format!("{run_id}-{row}"),
        None => row,
    };
    for (name, number) in [(REPEAT, key.repeat), (TURN, key.turn), (LABEL, key.label_index)] {
        id.extend(number.map(|number| format!("{name}{number}")));
    }
    if key.is_normalizing {
        id.push_str(NORMALIZING);
    }
    id
}

/// Splits a [`request_id`] into the row, the repeat and the turn.
pub(crate) fn split_request_id(id: &str) -> (&str, Option<usize>, Option<usize>) {
    let (id, turn) = split_number(id, TURN);
    let (id, repeat) = split_number(id, REPEAT);
    (id, repeat, turn)
}

/// The row in a [`request_id`] of this repeat and this turn; none in another id.
pub(super) fn row_of_request(id: &str, repeat: Option<usize>, turn: Option<usize>) -> Option<&str> {
    let without = |id, name, number: Option<usize>| match (split_number(id, name), number) {
        ((rest, found), Some(number)) => (found == Some(number)).then_some(rest),
        (_, None) => Some(id),
    };
    without(without(id, TURN, turn)?, REPEAT, repeat)
}

/// Splits the label off a [`request_id`]: the rest, the label, and whether its text is normalizing.
pub(crate) fn split_label(id: &str) -> (&str, Option<usize>, bool) {
    let (text, is_normalizing) = id.strip_suffix(NORMALIZING).map_or((id, false), |text| (text, true));
    match split_number(text, LABEL) {
        (rest, Some(label)) => (rest, Some(label), is_normalizing),
        (_, None) => (id, None, false),
    }
}

/// An id as JSON, without the run's id at its beginning.
pub(crate) fn without_run_id(id: &RawValue, run_id: Option<&str>) -> Option<Box<RawValue>> {
    let text: String = serde_json::from_str(id.get()).ok()?;
    Some(json_string(text.strip_prefix(run_id?)?.strip_prefix('-')?))
}

fn split_number<'i>(id: &'i str, name: &str) -> (&'i str, Option<usize>) {
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    match id.rsplit_once(name) {
        Some((rest, digits)) if is_number(digits) => digits.parse().map_or((id, None), |number| (rest, Some(number))),
        _ => (id, None),
    }
}

/// A string as JSON.
pub(crate) fn json_string(text: &str) -> Box<RawValue> {
    to_raw_value(text).expect("a string is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// An id splits into the parts that it was made of.
        #[test]
        fn a_request_id_splits_into_its_parts(run_id in proptest::option::of("[a-z0-9-]{1,8}"), id in "[a-z0-9-]{0,8}", repeat: Option<usize>, turn: Option<usize>) {
            prop_assume!(split_request_id(&id) == (&*id, None, None));
            let json = json_string(&id);
            let key = PromptKey { repeat, turn, ..PromptKey::of(&json) };
            let request_id = json_string(&request_id(run_id.as_deref(), &key));
            let request_id = without_run_id(&request_id, run_id.as_deref()).unwrap_or(request_id);
            let request_id: String = serde_json::from_str(request_id.get()).expect("it is a string");
            prop_assert_eq!(split_request_id(&request_id), (&*id, repeat, turn));
        }

        /// The same for the id of a text to score.
        #[test]
        fn the_id_of_a_text_to_score_splits_into_its_parts(id in "[a-z0-9-]{0,8}", repeat: Option<usize>, label: usize, is_normalizing: bool) {
            prop_assume!(split_request_id(&id) == (&*id, None, None));
            let json = json_string(&id);
            let key = PromptKey { repeat, label_index: Some(label), is_normalizing, ..PromptKey::of(&json) };
            let request_id = request_id(None, &key);
            let (row, split, normalizing) = split_label(&request_id);
            prop_assert_eq!((split, normalizing), (Some(label), is_normalizing));
            prop_assert_eq!(split_request_id(row), (&*id, repeat, None));
        }
    }
}
