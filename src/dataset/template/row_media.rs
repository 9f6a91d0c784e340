//! The sources of a row's media, if its messages only say where they belong: other columns list them, as beside the
//! messages of a conversation.

use serde_json::Value as Json;

use crate::conversation::{ChatMessage, MediaKind, give_sources_to, has_place_for};
use crate::dataset::rows::{Row, Value};
use crate::error::Result;

/// Gives the messages of a row the sources in its columns `images`, `videos` and `audios`, or in `image`, `video` and
/// `audio`, if they have places for them. Rows may have such columns for other purposes.
pub(crate) fn give_sources(messages: &mut [ChatMessage], row: &Row) -> Result<()> {
    for kind in MediaKind::ALL {
        if let Some((column, sources)) = listed(row, kind)
            && has_place_for(messages, kind)
        {
            give_sources_to(messages, kind, column, &sources)?;
        }
    }
    Ok(())
}

fn listed(row: &Row, kind: MediaKind) -> Option<(&'static str, Vec<Json>)> {
    match (row.get(kind.list_key()), row.get(kind.name())) {
        (Some(Value::List(sources)), _) if !sources.is_empty() => {
            Some((kind.list_key(), sources.iter().map(Value::to_json).collect()))
        }
        (_, Some(Value::Text(source))) if !source.is_empty() => Some((kind.name(), vec![source.as_str().into()])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(content: &str, columns: &str) -> Result<String> {
        let message = format!(r#"{{"role": "user", "content": {content}}}"#);
        let mut messages = vec![serde_json::from_str(&message).expect("it is a message")];
        give_sources(&mut messages, &Row::from_json(columns).expect("it is a row"))?;
        Ok(serde_json::to_string(&messages[0]).expect("it is JSON"))
    }

    #[test]
    fn places_get_sources_and_other_rows_stay() {
        let place = r#"[{"type": "image"}, {"type": "text", "text": "hi"}]"#;
        let with_source = r#"[{"type": "image", "image": "/own.png"}, {"type": "text", "text": "<image>"}]"#;
        for (content, columns, expected) in [
            (place, r#"{"images": ["/a.png"]}"#, "/a.png"),
            (place, r#"{"images": [{"bytes": null, "path": "/a.png"}]}"#, "/a.png"),
            (place, r#"{"image": "/a.png"}"#, "/a.png"),
            ("\"<image>hi\"", r#"{"images": ["/a.png"]}"#, "/a.png"),
            (place, r#"{"images": []}"#, r#"{"type":"image"}"#),
            ("\"hi\"", r#"{"images": ["/a.png"]}"#, r#""content":"hi""#),
            ("\"<image>hi\"", r#"{"image": {"bytes": "x"}}"#, "<image>hi"),
            (with_source, r#"{"images": ["/a.png"]}"#, "<image>"),
        ] {
            let given = given(content, columns).unwrap_or_else(|error| panic!("{content} {columns}: {error}"));
            assert!(given.contains(expected), "{given}");
        }
        let error = given(place, r#"{"images": ["/a.png", "/b.png"]}"#).expect_err("there is one place");
        assert!(error.to_string().contains("\"images\" has 2 sources"), "{error}");
    }
}
