//! The key `prompt_mm` of a message: a pattern for each kind of fragment.

use crate::conversation::{ContentPart, unknown_type};
use crate::dataset::rows::Value;
use crate::dataset::template::FragmentKind;

/// What a message does with each kind of fragment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Patterns {
    pub(super) by_kind: Vec<(FragmentKind, std::result::Result<ContentPart, String>)>,
    /// Keys that are not a kind.
    pub(super) unknown: Vec<String>,
    /// Whether the message has a `prompt` too, which hides the parts in AISBench.
    pub(super) has_prompt: bool,
}

pub(super) const PROMPT_MM: &str = "prompt_mm";

/// The items of a section without their patterns, which are recorded for each message.
pub(super) fn without_patterns(items: &Value, patterns: &mut Vec<Option<Patterns>>) -> Value {
    let mut one = |item: &Value| {
        let Value::Dict(entries) = item else { return item.clone() };
        let is_pattern = |key: &Value| key.as_text() == Some(PROMPT_MM);
        let own = entries.iter().find(|(key, _)| is_pattern(key)).map(|(_, value)| Patterns::new(value, item));
        // A marker is not a message.
        if item.get("section").is_none() {
            patterns.push(own);
        }
        Value::Dict(entries.iter().filter(|(key, _)| !is_pattern(key)).cloned().collect())
    };
    match items {
        Value::List(list) => Value::List(list.iter().map(one).collect()),
        single => one(single),
    }
}

impl Patterns {
    fn new(value: &Value, message: &Value) -> Self {
        let mut patterns =
            Self { by_kind: Vec::new(), unknown: Vec::new(), has_prompt: message.get("prompt").is_some() };
        let Value::Dict(entries) = value else { return patterns };
        for (key, pattern) in entries {
            let key = key.text();
            match FragmentKind::ALL.into_iter().find(|kind| kind.name() == key) {
                Some(kind) => patterns.by_kind.push((kind, pattern_of(kind, pattern))),
                None => patterns.unknown.push(key.into_owned()),
            }
        }
        patterns
    }
}

/// A content part of this kind.
fn pattern_of(kind: FragmentKind, pattern: &Value) -> std::result::Result<ContentPart, String> {
    let serde_json::Value::Object(entries) = pattern.to_json() else {
        return Err(format!("expected a content part {{ type = …, … }}, not {}", pattern.shown()));
    };
    let part = ContentPart::from_json(entries)?;
    let is = match &part {
        ContentPart::Media(media) if media.is_elsewhere() => {
            let name = media.kind.name();
            return Err(format!("a content part of type {name:?} has no string {name:?}"));
        }
        ContentPart::Media(media) => FragmentKind::Media(media.kind),
        ContentPart::Other(_) => return Err(unknown_type(part.other_type().unwrap_or_default())),
        ContentPart::Text(_) | ContentPart::Ids(_) => FragmentKind::Text,
    };
    if is == kind {
        Ok(part)
    } else {
        Err(format!("the content part is {}, not {}", is.indefinite(), kind.indefinite()))
    }
}

/// The field of a pattern that its fragment fills.
pub(super) fn field_of(kind: FragmentKind) -> &'static str {
    match kind {
        FragmentKind::Text => "question",
        FragmentKind::Media(kind) => kind.name(),
    }
}
