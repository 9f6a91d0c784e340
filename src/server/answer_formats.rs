//! The formats of engines' answers. A new one is a file in this folder and a line in [`ANSWER_FORMATS`].

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::error::{ErrorKind, Result};
use crate::input::{from_json, is_of_no_json};
use crate::server::raw_object::RawObject;
use crate::server::unfinished::event;
use crate::server::{
    AnswerFormat, EngineAnswer, completions, llama_cpp, lm_eval, messages, openai_batch, own, request_output,
    responses, server_error, sglang, triton,
};
use crate::wording::shortened;

/// All formats. The first one whose keys are all present is used.
pub static ANSWER_FORMATS: &[AnswerFormat] = &[
    messages::BATCH,
    openai_batch::ANSWERS,
    openai_batch::ERRORS,
    sglang::ANSWERS,
    completions::ANSWERS,
    responses::ANSWERS,
    messages::ANSWERS,
    triton::ANSWERS,
    request_output::ANSWERS,
    llama_cpp::ANSWERS,
    lm_eval::ANSWERS,
    own::IDS,
    own::TEXT,
    own::ERROR,
    server_error::OBJECT,
    server_error::DETAIL,
];

/// The most characters of a line that an error shows.
const LONGEST: usize = 60;

/// Reads a line of an engine's output: one object, or a list of them. It may hold several answers, for example if a
/// request asks for `n` of them.
///
/// # Errors
/// [`ErrorKind::Parse`] for what is not JSON; [`ErrorKind::Invalid`] for an object of no known format, with its keys, for a
/// part of a streamed answer, and for a line without any answer or error.
pub fn read_answers(json: &str) -> Result<Vec<EngineAnswer<'_>>> {
    if !json.trim_start().starts_with('[') {
        return read(json);
    }
    let items: Vec<&RawValue> = from_json(json)?;
    if items.is_empty() {
        return Err(no_answer());
    }
    let answers: Result<Vec<_>> = items.into_iter().map(|item| read(item.get())).collect();
    Ok(answers?.into_iter().flatten().collect())
}

fn read(json: &str) -> Result<Vec<EngineAnswer<'_>>> {
    let object: RawObject<'_> = from_json(json).map_err(|error| event(json).or_else(|| page(json)).unwrap_or(error))?;
    let format = ANSWER_FORMATS.iter().find(|format| format.keys.iter().all(|key| object.has(key)));
    let format = format.ok_or_else(|| unknown(&object))?;
    let mut answers = (format.read)(&object)?;
    if answers.is_empty() && object.has("error") {
        answers = (own::ERROR.read)(&object)?;
    }
    if answers.is_empty() {
        return Err(no_answer());
    }
    // Whoever made the request gave it this id.
    if let Some(id) = object.raw("custom_id") {
        answers.iter_mut().for_each(|answer| answer.id = Some(Cow::Borrowed(id)));
    }
    Ok(answers)
}

/// The error for what servers and those before them write where something failed: a line of text, or a page.
fn page(line: &str) -> Option<crate::Error> {
    let is_text = line.starts_with(|c| c == '<' || is_of_no_json(c));
    let shown = || shortened(line.to_owned(), LONGEST);
    is_text.then(|| ErrorKind::Invalid(format!("this is not JSON: {:?}", shown())).into())
}

fn no_answer() -> crate::Error {
    ErrorKind::Invalid("it has no answer, and no error in place of one".into()).into()
}

fn unknown(object: &RawObject<'_>) -> crate::Error {
    let name = |name: &str| if object.has(name) { format!("{name:?}") } else { format!("{name:?} (null)") };
    let names: Vec<String> = object.names().map(name).collect();
    let what = match names.as_slice() {
        [] => "it has no keys".to_owned(),
        [name] => format!("it has only the key {name}"),
        names => format!("it has the keys {}", names.join(", ")),
    };
    ErrorKind::Invalid(format!("this is not an answer: {what}"))
        .with_way_out("an answer has \"token_ids\" or \"text\", or one of the formats of servers (docs/stop.md)")
}
