//! Finds the end of a JSON value, byte by byte: counts brackets and skips strings.

/// The state of a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
    has_begun: bool,
}

impl Scan {
    /// Scans until the value ends, and returns the position after it; none if it continues after these bytes.
    ///
    /// A value that is not an object, a list or a string ends before white space, a comma or a closing bracket.
    pub(crate) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.is_text {
                at += self.text(&bytes[at..]);
                if !self.is_text && self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            match bytes[at] {
                b'"' => (self.is_text, self.has_begun) = (true, true),
                b'[' | b'{' => (self.depth, self.has_begun) = (self.depth + 1, true),
                b',' | b']' | b'}' if self.depth == 0 => return Some(at),
                b']' | b'}' if self.depth == 1 => {
                    self.depth = 0;
                    return Some(at + 1);
                }
                b']' | b'}' => self.depth -= 1,
                byte if byte.is_ascii_whitespace() => {
                    if self.depth == 0 && self.has_begun {
                        return Some(at);
                    }
                }
                _ => self.has_begun = true,
            }
            at += 1;
        }
        None
    }

    /// Whether it is within a string.
    pub(crate) fn is_in_text(&self) -> bool {
        self.is_text
    }

    /// How many of these bytes belong to the string.
    fn text(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        if self.is_escaped && !bytes.is_empty() {
            self.is_escaped = false;
            at = 1;
        }
        while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
            at += found + 1;
            if bytes[at - 1] == b'"' {
                self.is_text = false;
                return at;
            }
            if at == bytes.len() {
                self.is_escaped = true;
                return at;
            }
            at += 1;
        }
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_they_end() {
        for (bytes, end) in [
            ("{}", Some(2)),
            ("{\"a\": \"}\"} x", Some(10)),
            ("[[1], {\"a\": []}], 2", Some(16)),
            (r#""a\"b\\" "#, Some(8)),
            ("  12, 3", Some(4)),
            ("12 3", Some(2)),
            ("true]", Some(4)),
            ("{\"a\": 1", None),
            ("\"a\\", None),
            ("]", Some(0)),
        ] {
            assert_eq!(Scan::default().end(bytes.as_bytes()), end, "{bytes}");
            // The same in pieces.
            let (mut scan, mut found) = (Scan::default(), None);
            for (at, byte) in bytes.bytes().enumerate() {
                if let Some(end) = scan.end(&[byte]) {
                    found = Some(at + end);
                    break;
                }
            }
            assert_eq!(found, end, "{bytes} in pieces");
        }
    }
}
