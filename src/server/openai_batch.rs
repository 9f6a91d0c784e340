//! Lines of the output of OpenAI's batch API: `custom_id`, and the `response` or an `error`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{At, Result};
use crate::server::answer_formats::read as read_object;
use crate::server::keys::Keys;
use crate::server::{AnswerFormat, EngineAnswer};

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "OpenAI's batch API", keys: &["custom_id"], read };

#[derive(Deserialize)]
struct Response<'a> {
    status_code: Option<u16>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

fn read<'a>(keys: &Keys<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let response: Option<Response<'a>> = keys.get("response")?;
    let id = keys.raw("custom_id").map(Cow::Borrowed);
    let error = keys.raw("error");
    let mut answers = match response {
        Some(Response { status_code, body: Some(body) }) if error.is_none() => {
            if status_code.is_none_or(|status| status == 200) {
                read_object(body.get()).at("response.body")?
            } else {
                vec![EngineAnswer { error: Some(body), ..keys.answer()? }]
            }
        }
        _ => vec![EngineAnswer { error: error.or_else(|| keys.raw("response")), ..keys.answer()? }],
    };
    for answer in &mut answers {
        answer.id.clone_from(&id);
    }
    Ok(answers)
}
