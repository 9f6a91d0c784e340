//! Answers as metatok writes them: `{"id", "token_ids", "text", "finish_reason"}`, or an error.

use std::borrow::Cow;

use crate::error::Result;
use crate::server::keys::Keys;
use crate::server::{AnswerFormat, EngineAnswer};

pub(super) const IDS: AnswerFormat = AnswerFormat { name: "metatok", keys: &["token_ids"], read };
pub(super) const TEXT: AnswerFormat = AnswerFormat { name: "metatok", keys: &["text"], read };
pub(super) const ERROR: AnswerFormat = AnswerFormat { name: "metatok", keys: &["error"], read };

fn read<'a>(keys: &Keys<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    Ok(vec![EngineAnswer {
        token_ids: keys.get("token_ids")?,
        text: keys.get("text")?,
        message: keys.raw("message").filter(|message| message.get().starts_with('{')).map(Cow::Borrowed),
        finish_reason: keys.get("finish_reason")?,
        stop_reason: keys.get("stop_reason")?,
        error: keys.raw("error"),
        ..keys.answer()?
    }])
}
