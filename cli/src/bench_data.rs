//! What `metatok bench` measures with: conversations, and the lines that they are read from.

use std::io::Cursor;
use std::sync::Arc;

use metatok::conversation::{Conversation, Mode};
use metatok::dataset::records::{InputFormat, RecordReader};
use metatok::error::Result;
use metatok::input::Input;

/// Conversations in memory, and as JSON lines.
pub(crate) struct Data {
    pub(crate) conversations: Vec<Conversation>,
    lines: Vec<u8>,
    pub(crate) format: InputFormat,
    pub(crate) longest_line: usize,
}

impl Data {
    pub(crate) fn new(format: InputFormat, longest_line: usize) -> Self {
        Self { conversations: Vec::new(), lines: Vec::new(), format, longest_line }
    }

    /// Adds a record of JSON.
    pub(crate) fn add(&mut self, json: &str, reader: &RecordReader, mode: Mode) -> Result<()> {
        self.conversations.push(reader.parse(json)?.into_conversation(mode)?.0);
        // Of a file that is one list, a record may have several lines. In JSON, these ends are white space.
        self.lines.extend(json.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
        self.lines.push(b'\n');
        Ok(())
    }

    /// The lines, to be read again and again.
    pub(crate) fn lines(&self) -> Arc<[u8]> {
        self.lines.as_slice().into()
    }
}

/// An input that is in memory.
pub(crate) fn input(lines: &Arc<[u8]>) -> Input {
    Input::new("the input", Cursor::new(Arc::clone(lines)))
}
