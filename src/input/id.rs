//! Ids of records, which are JSON as it is written.

use std::borrow::Cow;

/// One string may be written in several ways.
pub(crate) fn without_escapes(json: &str) -> Cow<'_, str> {
    if !json.contains('\\') {
        return json.into();
    }
    let text = serde_json::from_str::<String>(json).and_then(|text| serde_json::to_string(&text));
    text.map_or(json.into(), Cow::Owned)
}
