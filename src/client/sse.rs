//! Server-sent events: extracts their data from bytes that arrive in pieces of any size.

/// The longest line, in bytes.
const LONGEST: usize = 16 << 20;

/// Splits bytes into events.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
}

/// A line is longer than any server should send.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// Adds a piece, and returns the data of each event that it completes.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut events = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len() > LONGEST {
                return Err(TooLong);
            }
            if part.ends_with(b"\n") {
                events.extend(data(&self.line));
                self.line.clear();
            }
        }
        Ok(events)
    }

    /// The last event, if it has no line end.
    pub(super) fn finish(&mut self) -> Option<String> {
        data(&std::mem::take(&mut self.line))
    }
}

/// The data of a line; none for other fields and for comments, which keep connections alive.
fn data(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    // llama.cpp gives its errors this name.
    let data = line.strip_prefix("data:").or_else(|| line.strip_prefix("error:"))?;
    let data = data.trim();
    (!data.is_empty()).then(|| data.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STREAM: &str =
        ": alive\r\n\r\ndata: {\"a\":\"ü\"}\n\ndata:[DONE]\n\nevent: x\nid: 1\nerror: {\"b\":1}\ndata: last";

    proptest! {
        /// The events are the same, wherever the bytes are cut.
        #[test]
        fn events_are_the_same_in_any_pieces(cuts in prop::collection::vec(0..STREAM.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.extend([0, STREAM.len()]);
            cuts.sort_unstable();
            let mut events = Events::default();
            let mut found = Vec::new();
            for ends in cuts.windows(2) {
                found.extend(events.push(&STREAM.as_bytes()[ends[0]..ends[1]]).expect("it is short"));
            }
            found.extend(events.finish());
            prop_assert_eq!(found, ["{\"a\":\"ü\"}", "[DONE]", "{\"b\":1}", "last"]);
        }
    }
}
