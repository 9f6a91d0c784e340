//! OpenAI-style messages, for servers that have the template themselves.

use crate::conversation::ChatMessage;
use crate::sink::Key;
use crate::sink::jsonl::{write_json, write_key};

/// Writes `id`, `messages` and `stop`, one object per prompt.
pub struct MessagesJsonl {
    stop: Vec<String>,
}

impl MessagesJsonl {
    /// With the strings at which output ends.
    pub fn new(stop: Vec<String>) -> Self {
        Self { stop }
    }

    /// Appends one prompt.
    pub fn write(&self, key: &Key<'_>, messages: &[ChatMessage], out: &mut Vec<u8>) {
        write_key(key, out);
        out.extend_from_slice(b",\"messages\":");
        write_json(messages, out);
        if !self.stop.is_empty() {
            out.extend_from_slice(b",\"stop\":");
            write_json(&self.stop, out);
        }
        out.extend_from_slice(b"}\n");
    }
}
