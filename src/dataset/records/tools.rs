//! The descriptions of tools beside a conversation, as chat templates and servers read them.

use serde_json::{Map, Value, json};

use crate::conversation::tools_would_be_lost;
use crate::dataset::records::Keys;
use crate::dataset::records::parse_error::functions_would_be_lost;
use crate::dataset::records::reads_for::ReadsFor;
use crate::error::{Error, ErrorKind, Result};
use crate::wording::plain;

/// The descriptions of tools, as JSON.
pub(super) fn tools(keys: &Keys<'_>, reads_for: ReadsFor) -> Result<Option<String>> {
    Ok(read(keys, reads_for)?.map(|tools| tools.to_string()))
}

/// In ShareGPT they are JSON in a string, and LLaMA-Factory leaves out what wraps a function.
fn read(keys: &Keys<'_>, reads_for: ReadsFor) -> Result<Option<Value>> {
    if !keys.is_empty("functions") {
        return Err(functions_would_be_lost(reads_for));
    }
    // A chat template may tell an empty list from none.
    let is_list = |raw: &str| reads_for == ReadsFor::ChatTemplate && raw.starts_with(['[', '"']) && raw.contains('[');
    match keys.raw("tools").filter(|raw| !keys.is_empty("tools") || is_list(raw)) {
        None => Ok(None),
        Some(_) if reads_for == ReadsFor::Template => Err(tools_would_be_lost()),
        Some(raw) if raw.starts_with('"') => {
            let tools = keys.text("tools")?;
            let mut parsed: Value = serde_json::from_str(&tools)
                .map_err(|error| Error::from(ErrorKind::Parse(format!("not JSON: {error}"))).at("tools"))?;
            if !parsed.as_array().is_some_and(|tools| tools.iter().all(Value::is_object)) {
                return Err(Error::from(ErrorKind::Parse("expected a list of objects".into())).at("tools"));
            }
            for tool in parsed.as_array_mut().into_iter().flatten() {
                if tool.get("name").is_some_and(Value::is_string)
                    && tool.get("type").is_none_or(|r#type| r#type != "function")
                {
                    *tool = json!({"type": "function", "function": tool.take()});
                }
            }
            Ok(Some(parsed))
        }
        Some(_) => keys.get("tools"),
    }
}

/// The functions among the tools, which have no object of their own in such a request.
pub(super) fn wrapped_tools(keys: &Keys<'_>, reads_for: ReadsFor) -> Result<Option<String>> {
    let Some(tools) = read(keys, reads_for)? else { return Ok(None) };
    let wrong = |error: serde_json::Error| Error::from(ErrorKind::Parse(plain(&error.to_string()))).at("tools");
    let tools: Vec<Map<String, Value>> = serde_json::from_value(tools).map_err(wrong)?;
    let wrapped = tools.into_iter().enumerate().map(|(i, mut tool)| match tool.get("type").and_then(Value::as_str) {
        // As in chats.
        Some("function") if tool.contains_key("function") => Ok(Value::Object(tool)),
        Some("function") => {
            tool.retain(|key, value| key != "type" && !value.is_null());
            Ok(json!({"type": "function", "function": tool}))
        }
        kind => {
            let what = format!("a prompt has no place for a tool of the type {:?}", kind.unwrap_or_default());
            Err(ErrorKind::Invalid(what).with_way_out("remove it").at(format_args!("tools[{i}]")))
        }
    });
    Ok(Some(Value::Array(wrapped.collect::<Result<_>>()?).to_string()))
}
