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
            let what = format!("this request has no id, which would be its {}", names.join(", "));
            return Err(ErrorKind::Invalid(what).into());
        };
        Ok(Self { id: id.to_owned(), columns: keys.raw("columns").map(ToOwned::to_owned), is_repeated })
    }

    /// Gives an answer what its request says.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if it is the answer to another request.
    pub(crate) fn give<'a>(&'a self, answer: &mut EngineAnswer<'a>) -> Result<()> {
        if let Some(own) = answer.id.as_ref().filter(|own| self.is_repeated && own.get() != self.id.get()) {
            let what =
                format!("this is the answer to {}, but the request in its place is {}", own.get(), self.id.get());
            return Err(ErrorKind::Invalid(what).with_way_out("bring both into one order, or leave the requests out"));
        }
        answer.id = Some(Cow::Borrowed(&self.id));
        answer.columns = answer.columns.or(self.columns.as_deref());
        Ok(())
    }
}
