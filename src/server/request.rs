//! What the requests of all engines have in common: the stops, the id, and how tokens are sampled.

use serde_json::value::{RawValue, to_raw_value};

use crate::builder::PromptBuilder;
use crate::sink::{PromptKey, write_ids, write_json};

/// The stops of a model as JSON, which are the same for every request.
#[derive(Debug)]
pub(super) struct Stops {
    ids: Vec<u8>,
    strings: Vec<u8>,
}

impl Stops {
    pub(super) fn new(builder: &PromptBuilder) -> Self {
        let (mut ids, mut strings) = (Vec::new(), Vec::new());
        write_ids(builder.stop().stop_token_ids(), &mut ids);
        write_json(builder.stop().strings(), &mut strings);
        Self { ids, strings }
    }

    /// `"stop_token_ids":[…],"stop":[…]`
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"stop_token_ids\":");
        out.extend_from_slice(&self.ids);
        out.extend_from_slice(b",\"stop\":");
        out.extend_from_slice(&self.strings);
    }
}

/// The prompt's id as a string, with the numbers of the repeat and the turn, as engines take it.
pub(super) fn request_id(key: &PromptKey<'_>) -> String {
    let mut id: String = serde_json::from_str(key.id).unwrap_or_else(|_| key.id.to_owned());
    for (name, number) in [(REPEAT, key.repeat), (TURN, key.turn)] {
        id.extend(number.map(|number| format!("{name}{number}")));
    }
    id
}

/// The row, the repeat and the turn that [`request_id`] put in one string.
pub(crate) fn split_request_id(id: &str) -> (&str, Option<usize>, Option<usize>) {
    let (id, turn) = split_number(id, TURN);
    let (id, repeat) = split_number(id, REPEAT);
    (id, repeat, turn)
}

const REPEAT: &str = "-repeat-";
const TURN: &str = "-turn-";

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

/// `,"max_tokens":5,"temperature":0.7`, the limit in the engine's word for it.
pub(super) fn write_sampling(name: &str, key: &PromptKey<'_>, out: &mut Vec<u8>) {
    if let Some(limit) = key.max_out_len {
        out.extend_from_slice(format!(",\"{name}\":{limit}").as_bytes());
    }
    for (name, value) in key.sampling_params.said() {
        out.extend_from_slice(format!(",\"{name}\":{value}").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What a request's id is made of is found in it again.
        #[test]
        fn a_request_id_is_split_again(id in "[a-z0-9-]{0,8}", repeat: Option<usize>, turn: Option<usize>) {
            prop_assume!(split_request_id(&id) == (&*id, None, None));
            let json = json_string(&id);
            let key = PromptKey { repeat, turn, ..PromptKey::of(json.get()) };
            let request_id = request_id(&key);
            prop_assert_eq!(split_request_id(&request_id), (&*id, repeat, turn));
        }
    }
}
