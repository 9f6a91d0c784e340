//! Server-sent events: extracts their data from bytes that arrive in pieces of any size.

use crate::dataset::Scan;

/// The longest event, in bytes.
const LONGEST: usize = 16 << 20;

/// A stream may begin with it.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Splits bytes into events.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    /// Whether the line before ended in a carriage return, which a newline may belong to.
    ends_in_cr: bool,
    /// The data of the event so far, which may have several lines.
    data: String,
    scan: Scan,
    /// Whether this is all of its data: an object, or the word for the end in its brackets.
    is_complete: bool,
}

/// An event is longer than any server should send.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// Adds a piece, and returns the data of each event that it completes.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut events = Vec::new();
        for part in piece.split_inclusive(|byte| matches!(byte, b'\r' | b'\n')) {
            // The second half of an end of which the first may be in the piece before.
            let is_ended = std::mem::replace(&mut self.ends_in_cr, part.ends_with(b"\r"));
            if is_ended && part == b"\n" {
                continue;
            }
            self.line.extend_from_slice(part);
            if self.line.len() + self.data.len() > LONGEST {
                return Err(TooLong);
            }
            if part.ends_with(b"\r") || part.ends_with(b"\n") {
                self.end_line(&mut events);
            }
        }
        Ok(events)
    }

    /// The last events, if they have no end.
    pub(super) fn finish(&mut self) -> Vec<String> {
        let mut events = Vec::new();
        self.end_line(&mut events);
        self.end_event(&mut events);
        events
    }

    fn end_line(&mut self, events: &mut Vec<String>) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_start_matches(BYTE_ORDER_MARK);
        // llama.cpp gives its errors this name. Other fields, and comments, which keep connections alive, have no data.
        let data = line.strip_prefix("data:").or_else(|| line.strip_prefix("error:"));
        match data.map(str::trim) {
            Some(data) => {
                // Some servers leave out the empty line between two events.
                if self.is_complete {
                    self.end_event(events);
                }
                self.data.push_str(data);
                self.data.push('\n');
                self.is_complete = self.data.starts_with(['{', '[']) && self.scan.end(data.as_bytes()).is_some();
            }
            None if line.trim().is_empty() => self.end_event(events),
            None => {}
        }
    }

    fn end_event(&mut self, events: &mut Vec<String>) {
        let data = std::mem::take(&mut self.data);
        (self.scan, self.is_complete) = (Scan::default(), false);
        events.extend(Some(data.trim().to_owned()).filter(|data| !data.is_empty()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STREAM: &str = ": alive\r\n\r\ndata: {\"a\":\"ü\"}\n\ndata:[DONE]\n\nevent: x\nid: 1\nerror: {\"b\":1}\ndata: {\"c\":\r\ndata: 2}\r\n\r\n\
        : alive\rdata: {\"d\":\rdata: 3}\r\rdata: last";

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
            prop_assert_eq!(found, ["{\"a\":\"ü\"}", "[DONE]", "{\"b\":1}", "{\"c\":\n2}", "{\"d\":\n3}", "last"]);
        }
    }

    #[test]
    fn a_stream_may_begin_with_a_byte_order_mark() {
        assert_eq!(Events::default().push("\u{feff}data: {}\n\n".as_bytes()), Ok(vec!["{}".to_owned()]));
    }

    /// Each line could be the last one of the event, which takes minutes if all of it is read again each time.
    #[test]
    fn an_event_of_many_lines() {
        let lines = "data: [1],\n".repeat(100_000);
        let stream = format!("data: [\n{lines}data: [1]]\ndata: {{}}\n\n");
        let found = Events::default().push(stream.as_bytes()).expect("it is short");
        assert_eq!(found.len(), 2);
        assert_eq!((&*found[0], &*found[1]), (&*format!("[\n{}[1]]", "[1],\n".repeat(100_000)), "{}"));
    }
}
