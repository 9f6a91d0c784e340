//! What a request says that its answer may not repeat: whose prompt it has.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::error::{ErrorKind, Result};
use crate::input::from_json;
use crate::server::EngineAnswer;
use crate::server::keys::Keys;

/// A request of any form.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    id: Box<RawValue>,
    repeat: Option<usize>,
    turn: Option<usize>,
    columns: Option<Box<RawValue>>,
    /// Whether its answer repeats the id.
    is_repeated: bool,
}

/// The keys of a request's id, and whether servers repeat it in the answer.
const IDS: [(&str, bool); 5] =
    [("custom_id", true), ("request_id", true), ("rid", true), ("id", false), ("user", false)];

impl Asked {
    /// Reads a request.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] if it is no object of JSON; [`ErrorKind::Invalid`] if it has no id.
    pub(crate) fn read(json: &str) -> Result<Self> {
        let keys: Keys<'_> = from_json(json)?;
        let id = IDS.iter().find_map(|(key, is_repeated)| keys.raw(key).map(|id| (id, *is_repeated)));
        let Some((id, is_repeated)) = id else {
            let names: Vec<&str> = IDS.iter().map(|(key, _)| *key).collect();
            let what = format!("this request has no id; the keys of ids are {}", names.join(", "));
            return Err(ErrorKind::Invalid(what).into());
        };
        Ok(Self {
            id: id.to_owned(),
            repeat: keys.get_own("repeat"),
            turn: keys.get_own("turn"),
            columns: keys.raw("columns").map(ToOwned::to_owned),
            is_repeated,
        })
    }

    /// Gives the answers in its place what it says.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if they answer another request.
    pub(crate) fn give<'a>(&'a self, answers: &mut [EngineAnswer<'a>]) -> Result<()> {
        if let [EngineAnswer { choice: Some(1..), .. }] = answers {
            let what = "this is one of several answers to a request, which would each be taken for that of another";
            return Err(ErrorKind::Invalid(what.into()).with_way_out("request one answer, or leave the requests out"));
        }
        for answer in answers {
            if let Some(own) = answer.id.as_ref().filter(|own| self.is_repeated && own.get() != self.id.get()) {
                let (own, id) = (own.get(), self.id.get());
                let what = format!("this is the answer to {own}, but the request in its place is {id}");
                return Err(ErrorKind::Invalid(what).with_way_out(
                    "bring both into one order, or, if the server makes ids of its own, remove the id from the requests",
                ));
            }
            answer.id = Some(Cow::Borrowed(&self.id));
            answer.repeat = answer.repeat.or(self.repeat);
            answer.turn = answer.turn.or(self.turn);
            answer.columns = answer.columns.or(self.columns.as_deref());
        }
        Ok(())
    }
}
