//! A format of engines' answers: how it is recognised and how it is read.

use crate::error::Result;
use crate::server::EngineAnswer;
use crate::server::raw_object::RawObject;

/// A format of answers: a JSON object, recognised by its keys.
#[derive(Debug)]
pub struct AnswerFormat {
    /// The engine that writes it.
    pub name: &'static str,
    /// The keys that identify it: an answer has all of them.
    pub keys: &'static [&'static str],
    /// Reads the answers of one object.
    pub(super) read: for<'a> fn(&RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>>,
}
