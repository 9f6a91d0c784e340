//! Answers of `/v1/responses`: one object with an `output` of several items.
//!
//! Sources: `Response` of OpenAI's Python library, 3.57.0; recorded answers of vLLM 0.32 and llama.cpp's server.

use serde::Deserialize;

use crate::error::Result;
use crate::server::raw_object::RawObject;
use crate::server::said::Said;
use crate::server::unfinished::in_progress;
use crate::server::{AnswerFormat, EngineAnswer};

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "/v1/responses", keys: &["output", "status"], read };

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Default, Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

fn read<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let status: String = object.get("status")?.unwrap_or_default();
    if matches!(&*status, "in_progress" | "queued") {
        return Err(in_progress(&status));
    }
    let said = Said::of_parts(object, "output", read_item)?;
    let finish_reason = match &*status {
        "completed" => said.complete().to_owned(),
        "incomplete" => match object.get::<Incomplete>("incomplete_details")?.unwrap_or_default().reason {
            Some(reason) if reason != "max_output_tokens" => reason,
            _ => "length".to_owned(),
        },
        "failed" => "error".to_owned(),
        "cancelled" => "abort".to_owned(),
        _ => status,
    };
    let answer = said.into_answer(object.answer()?);
    Ok(vec![EngineAnswer { finish_reason: Some(finish_reason), error: object.raw("error"), ..answer }])
}

/// Whether it is an item of a known kind.
fn read_item(item: &RawObject<'_>, said: &mut Said<'_>) -> Result<bool> {
    let parts = |key| Ok::<_, crate::Error>(item.get::<Vec<Part>>(key)?.unwrap_or_default());
    match item.get::<String>("type")?.as_deref() {
        Some("message") => {
            for part in parts("content")? {
                said.text.extend(part.text);
                said.beside.refusal.extend(part.refusal);
            }
        }
        Some("reasoning") => {
            // A summary says again what the thoughts say.
            let thoughts = Some(parts("content")?).filter(|parts| !parts.is_empty());
            let thoughts = thoughts.map_or_else(|| parts("summary"), Ok)?;
            said.beside.reasoning_content.extend(thoughts.into_iter().filter_map(|part| part.text));
        }
        Some("function_call") => {
            let [name, arguments] = ["name", "arguments"].map(|key| item.get::<String>(key));
            said.call_tool(item.get("call_id")?, name?.unwrap_or_default(), arguments?.unwrap_or_default());
        }
        _ => return Ok(false),
    }
    Ok(true)
}
