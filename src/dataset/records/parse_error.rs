//! The errors of records that cannot be read.

use serde_json::value::RawValue;

use crate::conversation::Conversation;
use crate::dataset::records::reads_for::ReadsFor;
use crate::error::{Error, ErrorKind, Fault, Place, Setting, way_out};
use crate::wording::{bytes_before, number_of_python, plain};

/// A parser's message with the place in the record; `part` is what was parsed.
pub(crate) fn parse_error(record: &str, part: &str, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    let Some((what, _)) = message.rsplit_once(" at line ") else { return ErrorKind::Parse(plain(&message)).into() };
    let what = plain(what);
    let start = (part.as_ptr() as usize).saturating_sub(record.as_ptr() as usize).min(record.len());
    let before = &record.as_bytes()[..start];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + error.line();
    let column = match error.line() {
        0 | 1 => start - before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1) + error.column(),
        _ => error.column(),
    };
    let place = match record.trim_end().contains('\n') {
        false => format!("column {column}"),
        true => format!("line {line} of the value, column {column}"),
    };
    let here = part.get(bytes_before(part, error).saturating_sub(1)..);
    let of_python = here.and_then(|here| number_of_python(here, &place));
    of_python.unwrap_or_else(|| ErrorKind::Parse(format!("{what} at {place}")).into())
}

/// The error of JSON that is a conversation, with the message that is wrong.
pub(super) fn messages_error(record: &str, messages: &str, error: &serde_json::Error) -> Error {
    let failed = parse_error(record, messages, error);
    match message_at(messages, error) {
        Some(message) => failed.at(Place::Message(message)),
        None => failed,
    }
}

/// The number of the first message of a list that has this error by itself, or else of the one at which the list had it.
fn message_at(list: &str, error: &serde_json::Error) -> Option<usize> {
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    let is_same = |own: serde_json::Error| without_place(&own) == without_place(error);
    let is_wrong = |item: &&RawValue| serde_json::from_str::<Conversation>(&format!("[{item}]")).is_err_and(is_same);
    let place = bytes_before(list, error);
    let ends_behind = |item: &&RawValue| {
        let end = item.get().as_ptr() as usize + item.get().len() - list.as_ptr() as usize;
        // What an item lacks is found out one byte after it.
        place <= end + 1
    };
    items.iter().position(is_wrong).or_else(|| items.iter().position(ends_behind))
}

/// What an error says, without where.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or_else(|| message.clone(), |(what, _)| what.to_owned())
}

/// An error of a record that is valid JSON.
pub(super) fn refused(what: &str) -> Error {
    ErrorKind::Invalid(what.to_owned()).into()
}

/// An error of a record in a format that the user chose. The record is wrong, not the option.
pub(super) fn of_format(name: &str, what: String) -> Error {
    Error::from(ErrorKind::Invalid(what)).at(Setting::INPUT_FORMAT.set_to(name.to_owned())).with_fault(Fault::Input)
}

/// The error for variables or documents, which are for chat templates, where none is used.
pub(super) fn variables_would_be_lost(key: &'static str, reads_for: ReadsFor) -> Error {
    let why = match (reads_for, key) {
        (ReadsFor::Server, _) => "only messages and tools are passed to the server",
        (_, "documents") => "they are for a chat template, but none is used",
        _ => "they are variables of a chat template, but none is used",
    };
    let lost = ErrorKind::WouldBeLost { key, why };
    match (reads_for, key) {
        (ReadsFor::Server, "documents") => lost.with_way_out("put them in a message, or remove the key"),
        (ReadsFor::Server, _) => lost.with_way_out("remove the key"),
        _ => {
            let put = if key == "documents" { "put them in a message, " } else { "" };
            let remove = format!("{put}remove the key, or use the chat template of ");
            lost.with_way_out(way_out![remove, Setting::TOKENIZER, " without ", Setting::MODEL])
        }
    }
}

pub(super) fn layout_would_be_lost() -> Error {
    let why = "it tells a server how to render the prompt";
    ErrorKind::WouldBeLost { key: "chat_template", why }.with_way_out(way_out![
        "choose the model with ",
        Setting::MODEL,
        ", and remove the key"
    ])
}

pub(super) fn functions_would_be_lost(reads_for: ReadsFor) -> Error {
    if reads_for == ReadsFor::ChatTemplate {
        let why = "they are an older form of \"tools\", which is what chat templates read";
        let way_out = "write each one as {\"type\": \"function\", \"function\": …} in \"tools\", or remove the key";
        return ErrorKind::WouldBeLost { key: "functions", why }.with_way_out(way_out);
    }
    let why = "they are an older form of \"tools\", and templates have no place for either";
    ErrorKind::WouldBeLost { key: "functions", why }
        .with_way_out("put them in the system message in the form that the model expects, or remove the key")
}
