//! Writes each prompt as a request to one engine.

use crate::error::{Result, Warning};
use crate::server::object::Object;
use crate::server::request::Requests;
use crate::sink::{BuiltPrompt, LineSink, PromptKey, Sink};

/// Writes the keys of a request for a prompt.
pub(super) type WriteBody = fn(&Requests, &PromptKey<'_>, &BuiltPrompt<'_>, &mut Object<'_>) -> Result<()>;

/// Writes a line for each prompt: the keys of its request, the user's own keys, and the prompt's columns.
struct RequestSink {
    requests: Requests,
    write: WriteBody,
}

impl Requests {
    /// The sink that writes them.
    pub(super) fn into_sink(self, write: WriteBody) -> Sink {
        Sink::lines(RequestSink { requests: self, write })
    }
}

impl LineSink for RequestSink {
    fn write(&self, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.requests.check(key, built)?;
        let mut body = Object::open(out, &self.requests.params.request);
        (self.write)(&self.requests, key, built, &mut body)?;
        body.close_line(key);
        Ok(())
    }

    fn warnings(&self) -> &[Warning] {
        &self.requests.warnings
    }
}
