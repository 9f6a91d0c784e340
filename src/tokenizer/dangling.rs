//! Names in a `tokenizer.json` of what it does not have: entries that merges need, tokens that a template writes. Libraries panic
//! at them, or do not say where they are.

use serde_json::{Map, Value};

use crate::error::{At, ErrorKind, Result};

/// Rejects a merge without its entries, and a template without its tokens.
pub(crate) fn check(json: &Value) -> Result<()> {
    let dangling =
        |what: String| ErrorKind::UnsupportedTokenizer(what).with_way_out("use the file of the model's repository");
    if let Some((at, what)) = wrong_merge(&json["model"]) {
        return Err(dangling(what)).at(format!("model.merges[{at}]"));
    }
    match undeclared(&json["post_processor"]) {
        Some(token) => {
            let what = format!("it writes the token {token:?}, which is not among its special_tokens");
            Err(dangling(what)).at("post_processor")
        }
        None => Ok(()),
    }
}

/// The first merge without its entries, and what is wrong with it.
fn wrong_merge(model: &Value) -> Option<(usize, String)> {
    if !matches!(model["type"].as_str(), None | Some("BPE")) {
        return None;
    }
    let vocabulary = model["vocab"].as_object()?;
    let prefix = model["continuing_subword_prefix"].as_str().unwrap_or_default();
    let merges = model["merges"].as_array()?.iter().enumerate();
    merges.filter_map(|(at, merge)| Some((at, fault(merge, vocabulary, prefix)?))).next()
}

/// What is wrong with a merge. Of other values than texts and pairs the libraries say it.
fn fault(merge: &Value, vocabulary: &Map<String, Value>, prefix: &str) -> Option<String> {
    let parts = match merge {
        // The first line of older files.
        Value::String(text) if text.starts_with("#version") => return None,
        Value::String(text) => text.split_once(' ').filter(|(_, right)| !right.contains(' ')),
        pair => Some((pair.get(0)?.as_str()?, pair.get(1)?.as_str()?)),
    };
    let Some((left, right)) = parts else { return Some(format!("{merge} is not two entries")) };
    if let Some(part) = [left, right].into_iter().find(|part| !vocabulary.contains_key(*part)) {
        return Some(format!("{part:?} is not an entry of the vocabulary"));
    }
    let Some(rest) = right.get(prefix.len()..) else {
        return Some(format!("{right:?} does not begin with the continuing_subword_prefix, {prefix:?}"));
    };
    let made = [left, rest].concat();
    let is_entry = vocabulary.contains_key(&made);
    (!is_entry).then(|| format!("{left:?} and {right:?} make {made:?}, which is not an entry of the vocabulary"))
}

/// A token that a template writes and does not declare. Templates of pairs are not used.
fn undeclared(post_processor: &Value) -> Option<&str> {
    if let Some(steps) = post_processor["processors"].as_array() {
        return steps.iter().find_map(undeclared);
    }
    let declared = post_processor["special_tokens"].as_object()?;
    let written = post_processor["single"].as_array()?.iter().filter_map(|piece| piece["SpecialToken"]["id"].as_str());
    written.into_iter().find(|token| !declared.contains_key(*token))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merges_have_their_entries() {
        let said = |prefix: &str, merge: Value| {
            let vocab = json!({"h": 0, "i": 1, "##i": 2, "hi": 3});
            let model = json!({"vocab": vocab, "merges": [merge], "continuing_subword_prefix": prefix});
            wrong_merge(&model).map(|(_, what)| what)
        };
        for whole in [json!("h i"), json!(["h", "i"]), json!("#version: 0.2")] {
            assert_eq!(said("", whole), None);
        }
        assert_eq!(said("##", json!("h ##i")), None);
        for (prefix, merge, expected) in [
            ("", json!("i h"), r#""i" and "h" make "ih", which is not an entry of the vocabulary"#),
            ("", json!(["x", "i"]), r#""x" is not an entry of the vocabulary"#),
            ("", json!("h x"), r#""x" is not an entry of the vocabulary"#),
            ("", json!("hi"), r#""hi" is not two entries"#),
            ("", json!("h i h"), r#""h i h" is not two entries"#),
            ("##", json!("h i"), r###""i" does not begin with the continuing_subword_prefix, "##""###),
        ] {
            assert_eq!(said(prefix, merge).as_deref(), Some(expected));
        }
    }

    #[test]
    fn templates_declare_their_tokens() {
        let of = |declared: Value| {
            let single =
                json!([{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]);
            json!({"type": "TemplateProcessing", "single": single, "special_tokens": declared})
        };
        assert_eq!(undeclared(&of(json!({"<s>": {}}))), None);
        assert_eq!(undeclared(&of(json!({"</s>": {}}))), Some("<s>"));
        assert_eq!(undeclared(&json!({"processors": [{"type": "ByteLevel"}, of(json!({}))]})), Some("<s>"));
        assert_eq!(undeclared(&Value::Null), None);
    }
}
