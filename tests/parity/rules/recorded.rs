//! Conditions on what is recorded.

use serde::Deserialize;
use serde_json::Value;

use crate::rules::filled::{rows_of_parts, with_filled_parts};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RecordedCondition {
    /// A string.
    Text,
    /// An empty list, or a list of them.
    EmptyList,
    /// What was found, with an empty list for an empty text.
    EmptyListForText,
    /// What was found, with the fields in content parts that were filled from the rows.
    UnfilledParts,
    /// What was found, with the `api_role` of the meta template's own turn.
    WithApiRole,
    /// A prompt list that opens with a string, or with a list of them.
    ListOpensWithText,
    /// A prompt list in which a turn's prompt is a list.
    PromptIsList,
    /// Content parts among which characters stand by themselves.
    CharactersAmongParts,
    /// A list of sections' names.
    SectionNames,
    /// A prompt list with the markers of its sections.
    SectionMarkers,
    /// No exception.
    Value,
    /// What was found, without the system messages that are empty.
    WithoutEmptySystem,
}

impl RecordedCondition {
    pub(super) fn holds(&self, job: &Value, expected: &Value) -> bool {
        match self {
            Self::PromptIsList => {
                let turns = [&expected["$pl"], expected].into_iter().filter_map(Value::as_array).flatten();
                turns.flat_map(|turn| [&turn["prompt"], &turn["content"]]).any(Value::is_array)
            }
            Self::CharactersAmongParts => {
                let contents =
                    expected.as_array().into_iter().flatten().flat_map(|turn| [&turn["prompt"], &turn["content"]]);
                contents.filter_map(Value::as_array).any(|parts| parts.iter().any(Value::is_string))
            }
            Self::EmptyList => expected
                .as_array()
                .is_some_and(|items| items.iter().all(|item| item.as_array().is_some_and(Vec::is_empty))),
            Self::EmptyListForText => {
                let list = |found: &Value| if found == "" { Value::Array(Vec::new()) } else { found.clone() };
                let found = &job["found"];
                *expected == found.as_array().map_or_else(|| list(found), |batch| batch.iter().map(list).collect())
            }
            Self::UnfilledParts => job["found"] == with_filled_parts(expected, &mut rows_of_parts(job).into_iter()),
            Self::WithApiRole => {
                let own = &job["meta"]["begin"]["api_role"];
                let mut expected = expected.clone();
                let messages = expected.as_array_mut().into_iter().flatten();
                let of_own =
                    messages.filter_map(Value::as_object_mut).find(|message| message.get("api_role") == Some(own));
                of_own.is_some_and(|message| message.remove("api_role").is_some()) && expected == job["found"]
            }
            Self::ListOpensWithText => {
                [&expected["$pl"][0], &expected[0]].iter().any(|first| first.is_string() || first.is_array())
            }
            Self::Value => expected.get("$error").and_then(Value::as_str).is_none(),
            Self::WithoutEmptySystem => without_empty_systems(&job["found"]).as_ref() == Some(expected),
            Self::Text => expected.is_string() || expected.get("$sha256").is_some(),
            Self::SectionMarkers => {
                expected["$pl"].as_array().is_some_and(|items| items.iter().any(|item| item.get("section").is_some()))
            }
            Self::SectionNames => {
                let is_section = |name: &Value| ["begin", "round", "end"].iter().any(|section| name == section);
                expected.as_array().is_some_and(|names| !names.is_empty() && names.iter().all(is_section))
            }
        }
    }
}

/// Messages without the empty ones of the system, if they have some, after which those beside them are merged.
fn without_empty_systems(messages: &Value) -> Option<Value> {
    let is_empty_system = |message: &Value| message["role"] == "system" && message["content"] == "";
    let messages = messages.as_array().filter(|messages| messages.iter().any(is_empty_system))?;
    let mut kept: Vec<Value> = Vec::new();
    for message in messages.iter().filter(|message| !is_empty_system(message)) {
        match kept.last_mut().filter(|last| last["role"] == message["role"]) {
            Some(last) => {
                let text = |content: &Value| content.as_str().unwrap_or_default().to_owned();
                last["content"] = format!("{}\n{}", text(&last["content"]), text(&message["content"])).into();
            }
            None => kept.push(message.clone()),
        }
    }
    Some(kept.into())
}
