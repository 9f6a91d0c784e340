//! Lines of the output of OpenAI's batch API: `custom_id`, and the `response` or an `error`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{At, Result};
use crate::input::from_json;
use crate::server::raw_object::RawObject;
use crate::server::{AnswerFormat, EngineAnswer, completions, responses};

pub(super) const ANSWERS: AnswerFormat =
    AnswerFormat { name: "OpenAI's batch API", keys: &["custom_id", "response"], read };
pub(super) const ERRORS: AnswerFormat = AnswerFormat { keys: &["custom_id", "error"], ..ANSWERS };

#[derive(Default, Deserialize)]
struct Response<'a> {
    status_code: Option<u16>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

/// The answer of the endpoint that the batch was for.
fn read_body<'a>(body: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let is_response = responses::ANSWERS.keys.iter().all(|key| body.has(key));
    (if is_response { responses::ANSWERS.read } else { completions::ANSWERS.read })(body)
}

fn read<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let Response { status_code, body } = object.get("response")?.unwrap_or_default();
    let line = object.answer()?;
    let error = object.raw("error");
    match body {
        Some(body) if error.is_none() && status_code.is_none_or(|status| status == 200) => {
            let answers = from_json(body.get()).and_then(|body| read_body(&body)).at("response.body")?;
            let EngineAnswer { repeat, turn, columns, .. } = line;
            Ok(answers.into_iter().map(|answer| EngineAnswer { repeat, turn, columns, ..answer }).collect())
        }
        body => Ok(vec![EngineAnswer { error: error.or(body).or(object.raw("response")), ..line }]),
    }
}
