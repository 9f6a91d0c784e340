//! Keys of a request, and variables of its template, that are refused because an option or another key decides them.

use serde_json::{Map, Value};

use crate::error::{ErrorKind, Result, Setting, WayOut, way_out};

const ADD_GENERATION_PROMPT: &str = "add_generation_prompt";
const CONTINUE_FINAL_MESSAGE: &str = "continue_final_message";

/// Rejects a variable of a chat template whose value something else decides.
///
/// # Errors
/// [`ErrorKind::WouldBeLost`] names it, and what decides.
pub(crate) fn check_variables(variables: &Map<String, Value>) -> Result<()> {
    let (key, way_out): (_, WayOut) = if variables.contains_key("messages") {
        ("messages", "remove it: the conversation has them".into())
    } else if variables.contains_key("tools") {
        ("tools", "put it beside the messages: {\"messages\": [ … ], \"tools\": [ … ]}".into())
    } else if variables.contains_key("documents") {
        ("documents", "put it beside the messages: {\"messages\": [ … ], \"documents\": [ … ]}".into())
    } else if variables.contains_key(ADD_GENERATION_PROMPT) {
        (ADD_GENERATION_PROMPT, way_out_of_generating())
    } else if variables.contains_key(CONTINUE_FINAL_MESSAGE) {
        (CONTINUE_FINAL_MESSAGE, way_out_of_continuing())
    } else {
        return Ok(());
    };
    Err(ErrorKind::WouldBeLost { key, why: "it is not set by a variable" }.with_way_out(way_out))
}

/// Rejects how a record's prompt ends if that is not how all prompts end: the keys of a server's request.
///
/// `raw` gives a key's value as JSON.
///
/// # Errors
/// [`ErrorKind::WouldBeLost`] names the key, and the option.
pub(crate) fn check_end<'a>(raw: impl Fn(&str) -> Option<&'a str>) -> Result<()> {
    let why = "how prompts end is an option, for all of them";
    if raw(ADD_GENERATION_PROMPT) == Some("false") {
        return Err(ErrorKind::WouldBeLost { key: ADD_GENERATION_PROMPT, why }.with_way_out(way_out_of_generating()));
    }
    if raw(CONTINUE_FINAL_MESSAGE) == Some("true") {
        return Err(ErrorKind::WouldBeLost { key: CONTINUE_FINAL_MESSAGE, why }.with_way_out(way_out_of_continuing()));
    }
    Ok(())
}

fn way_out_of_generating() -> WayOut {
    way_out![
        "remove it; ",
        Setting::MODE.set_to("ppl"),
        " builds texts without a generation prompt, ",
        Setting::CONTINUE_FINAL_MESSAGE,
        " lets the model continue the last message"
    ]
}

fn way_out_of_continuing() -> WayOut {
    way_out!["remove it, and use the option ", Setting::CONTINUE_FINAL_MESSAGE]
}
