//! The sources of a row's media, if its messages only say where they belong: other columns list them, as beside the
//! messages of a conversation.

use serde_json::Value as Json;

use crate::conversation::{
    ChatMessage, MediaKind, count_marks, give_sources_to, has_part_without_source, source_or_data, sources_of_one,
};
use crate::dataset::row_error;
use crate::dataset::rows::Row;
use crate::error::Result;
use crate::wording::shortened;

/// The most characters of a value that an error shows.
const LONGEST: usize = 200;

/// Gives the parts of a row's messages that have no source those in its columns `images`, `videos` and `audios`, or in
/// `image`, `video` and `audio`. Rows may have such columns for other purposes, and a text may speak of `<image>`: marks in
/// texts are places only if a list has as many sources.
pub(crate) fn give_sources(messages: &mut [ChatMessage], row: &Row) -> Result<()> {
    for kind in MediaKind::ALL {
        let listed = if has_part_without_source(messages, kind) {
            Some(of_parts(row, kind)?)
        } else {
            of_marks(row, kind).filter(|(_, sources)| sources.len() == count_marks(messages, kind))
        };
        if let Some((column, sources)) = listed.filter(|(_, sources)| !sources.is_empty()) {
            give_sources_to(messages, kind, column, &sources)?;
        }
    }
    Ok(())
}

/// The sources of parts, as beside plain messages.
fn of_parts(row: &Row, kind: MediaKind) -> Result<(&'static str, Vec<Json>)> {
    let column = |name: &str| row.get(name).map(|value| value.to_json()).filter(|value| !value.is_null());
    let (one, many) = (column(kind.name()), column(kind.list_key()));
    let sources = sources_of_one(kind, one);
    match many {
        None => Ok((kind.name(), sources)),
        Some(Json::Array(many)) if many.is_empty() => Ok((kind.name(), sources)),
        Some(Json::Array(many)) if sources.is_empty() => Ok((kind.list_key(), many)),
        Some(Json::Array(_)) => {
            let what = format!("the row has both {:?} and {:?}", kind.name(), kind.list_key());
            Err(row_error(&what).with_way_out("list all sources in one of them"))
        }
        Some(other) => {
            let what = format!(
                "column {:?} must list paths or URLs, and is no list: {}",
                kind.list_key(),
                shortened(other.to_string(), LONGEST)
            );
            Err(row_error(&what))
        }
    }
}

/// What may be the sources of marks.
fn of_marks(row: &Row, kind: MediaKind) -> Option<(&'static str, Vec<Json>)> {
    let Json::Array(sources) = row.get(kind.list_key())?.to_json() else { return None };
    sources.iter().all(|source| source_or_data(kind, source).is_some()).then_some((kind.list_key(), sources))
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
            ("\"<image>hi\"", r#"{"image": "none"}"#, "<image>hi"),
            ("\"<image>, <image>\"", r#"{"images": ["/a.png"]}"#, "<image>, <image>"),
            ("\"<image>\"", r#"{"images": [0.5]}"#, "<image>"),
            (place, r#"{"image": {"bytes": null, "path": "/a.png"}}"#, "/a.png"),
            (place, r#"{"image": ["/a.png"]}"#, "/a.png"),
            (place, r#"{"image": {"bytes": "iVBORw0KGgo=", "path": "a"}}"#, "data:image/png;base64,iVBORw0KGgo="),
            ("\"<image>\"", r#"{"images": [{"bytes": "AAAA"}]}"#, "data:application/octet-stream;base64,AAAA"),
            (place, r#"{"image": {"bytes": "", "path": "/a.png"}}"#, "/a.png"),
            (place, r#"{"images": [{"bytes": "no base64!", "path": "/a.png"}]}"#, "/a.png"),
            (place, r#"{"image": 7}"#, r#"{"type":"image"}"#),
            (with_source, r#"{"images": ["/a.png"]}"#, "<image>"),
        ] {
            let given = given(content, columns).unwrap_or_else(|error| panic!("{content} {columns}: {error}"));
            assert!(given.contains(expected), "{given}");
        }
        for (columns, expected) in [
            (r#"{"images": [{}]}"#, "with bytes in base64, not {}"),
            (r#"{"images": ["/a.png", "/b.png"]}"#, "\"images\" has 2 sources"),
            (r#"{"images": "/a.png"}"#, "column \"images\" must list paths or URLs, and is no list: \"/a.png\""),
            (r#"{"images": ["/a.png"], "image": "/b.png"}"#, "the row has both \"image\" and \"images\""),
        ] {
            let error = given(place, columns).expect_err(columns);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
