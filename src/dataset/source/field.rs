//! A list of records in a field of an object, such as `{"data": [ … ]}`: finds where it begins, and reads over what follows.

use std::io::BufRead;

use crate::dataset::source::{Scan, fill};
use crate::error::{Error, ErrorKind, Result, Setting, way_out};
use crate::file_kind::BOM;

/// The most fields that an error lists.
const LISTED: usize = 8;

/// Reads up to the list in this field of the object that a file is, and returns how many bytes come before it. Names of
/// fields are at most `longest` bytes long.
pub(super) fn find_list<R: BufRead>(reader: &mut R, field: &str, longest: usize) -> Result<u64> {
    let mut object = Object { reader, offset: 0 };
    object.skip_byte_order_mark()?;
    match object.next()? {
        Some(b'{') => object.take(1),
        _ => {
            let what = format!("this file is not an object with the field {field:?}");
            return Err(ErrorKind::Parse(what).with_way_out(way_out!["leave out ", Setting::FIELD]));
        }
    }
    let mut others = Vec::new();
    while let Some(name) = object.name(longest)? {
        if name == field {
            return match object.next()? {
                Some(b'[') => Ok(object.offset),
                Some(_) => Err(broken(&format!("the field {field:?} is not a list of records"))),
                None => Err(broken(ENDS)),
            };
        }
        object.value(|_| ())?;
        object.comma(&name)?;
        if others.len() <= LISTED {
            others.push(name);
        }
    }
    Err(no_field(field, &others))
}

/// Reads what follows the list in this field, up to the end of the file: the rest of its object, and nothing else.
pub(super) fn read_rest<R: BufRead>(reader: &mut R, field: &str, longest: usize) -> Result<()> {
    let mut object = Object { reader, offset: 0 };
    object.comma(field)?;
    while let Some(name) = object.name(longest)? {
        if name == field {
            return Err(broken(&format!("there are two fields {field:?}")));
        }
        object.value(|_| ())?;
        object.comma(&name)?;
    }
    object.take(1);
    match object.next()? {
        Some(_) => Err(broken("something follows the object with the records; give each object a file of its own")),
        None => Ok(()),
    }
}

const ENDS: &str = "the file ends within its object";

fn broken(what: &str) -> Error {
    ErrorKind::Parse(what.to_owned()).into()
}

fn no_field(field: &str, others: &[String]) -> Error {
    let listed: Vec<String> = others.iter().take(LISTED).map(|name| format!("{name:?}")).collect();
    let more = if others.len() > LISTED { ", …" } else { "" };
    let fields = if others.is_empty() { "it has none".into() } else { format!("fields: {}{more}", listed.join(", ")) };
    let what = format!("there is no field {field:?} ({fields})");
    ErrorKind::Parse(what).with_way_out("name the one that lists the records")
}

/// An object that is being read.
struct Object<'a, R> {
    reader: &'a mut R,
    offset: u64,
}

impl<R: BufRead> Object<'_, R> {
    /// The next byte that is not white space, which stays unread; none at the end.
    fn next(&mut self) -> Result<Option<u8>> {
        loop {
            let available = fill(self.reader)?;
            let Some(first) = available.first().copied() else { return Ok(None) };
            match available.iter().take_while(|byte| byte.is_ascii_whitespace()).count() {
                0 => return Ok(Some(first)),
                spaces => self.take(spaces),
            }
        }
    }

    /// The name of the next field, before its value; none at the end of the object, which stays unread.
    fn name(&mut self, longest: usize) -> Result<Option<String>> {
        match self.next()? {
            Some(b'"') => {}
            Some(b'}') => return Ok(None),
            Some(_) => return Err(broken("the name of a field must be a string")),
            None => return Err(broken(ENDS)),
        }
        let mut name = Vec::new();
        self.value(|bytes| name.extend_from_slice(&bytes[..bytes.len().min(longest.saturating_sub(name.len()))]))?;
        let name: String =
            serde_json::from_slice(&name).map_err(|error| broken(&format!("a field's name: {error}")))?;
        match self.next()? {
            Some(b':') => self.take(1),
            _ => return Err(broken(&format!("there is no value after the field {name:?}"))),
        }
        self.next()?;
        Ok(Some(name))
    }

    /// What comes between this field and the next one.
    fn comma(&mut self, name: &str) -> Result<()> {
        match self.next()? {
            Some(b',') => self.take(1),
            Some(b'}') => {}
            Some(_) => return Err(broken(&format!("a comma is missing after the field {name:?}"))),
            None => return Err(broken(ENDS)),
        }
        Ok(())
    }

    /// Reads a value, and passes its bytes on as they come.
    fn value(&mut self, mut take: impl FnMut(&[u8])) -> Result<()> {
        let (mut scan, start) = (Scan::default(), self.offset);
        loop {
            let available = fill(self.reader)?;
            if available.is_empty() {
                return Err(broken(ENDS));
            }
            let end = scan.end(available);
            let taken = end.unwrap_or(available.len());
            take(&available[..taken]);
            self.take(taken);
            if end.is_some() {
                return if self.offset > start { Ok(()) } else { Err(broken("a value is missing")) };
            }
        }
    }

    fn take(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.offset += bytes as u64;
    }

    fn skip_byte_order_mark(&mut self) -> Result<()> {
        for byte in BOM {
            if fill(self.reader)?.first() != Some(byte) {
                break;
            }
            self.take(1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left to read, or the error.
    #[track_caller]
    fn check(file: &str, expected: &str) {
        for capacity in [1, 3, 1 << 10] {
            let mut reader = std::io::BufReader::with_capacity(capacity, file.as_bytes());
            let found = match find_list(&mut reader, "x", 1 << 10) {
                Ok(offset) => {
                    let mut rest = String::new();
                    std::io::Read::read_to_string(&mut reader, &mut rest).expect("it is text");
                    assert_eq!(offset as usize, file.len() - rest.len());
                    rest
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{file}, {capacity} bytes at a time");
        }
    }

    #[test]
    fn lists_are_found_and_other_files_are_errors() {
        check(r#"{"x": [1]}"#, "[1]}");
        check("\u{feff} {\n\"x\":[", "[");
        check(r#"{"a": {"x": [0]}, "b" : "\"}", "c":1 , "\u0078" : [1, 2], "d": 3}"#, r#"[1, 2], "d": 3}"#);
        check("", r#"this file is not an object with the field "x"; leave out `field`"#);
        check("[1]", r#"this file is not an object with the field "x"; leave out `field`"#);
        check("{}", r#"there is no field "x" (it has none); name the one that lists the records"#);
        check(
            r#"{"a": 1, "b": []}"#,
            r#"there is no field "x" (fields: "a", "b"); name the one that lists the records"#,
        );
        check(r#"{"x": {}}"#, r#"the field "x" is not a list of records"#);
        check(r#"{"a": 1 "x": []}"#, r#"a comma is missing after the field "a""#);
        check(r#"{"a" 1}"#, r#"there is no value after the field "a""#);
        check("{a: 1}", "the name of a field must be a string");
        check(r#"{"a": , "x": []}"#, "a value is missing");
        check("{\"a\": 1, \"x\": [0], \"b\": 2}\n", "[0], \"b\": 2}\n");
        for cut in ["{", r#"{"a"#, r#"{"a": [1"#, r#"{"a": 1"#, r#"{"a": 1,"#, r#"{"x":"#] {
            check(cut, "the file ends within its object");
        }
    }

    #[test]
    fn nothing_may_follow_the_object() {
        for (rest, expected) in [
            (r#"}"#, None),
            (r#", "b": {"x": 1}} "#, None),
            (r#", "x": []}"#, Some("there are two fields \"x\"")),
            (
                r#"} {"x": []}"#,
                Some("something follows the object with the records; give each object a file of its own"),
            ),
            (r#"]"#, Some("a comma is missing after the field \"x\"")),
            (r#", "b": "#, Some("the file ends within its object")),
            ("", Some("the file ends within its object")),
        ] {
            let found = read_rest(&mut rest.as_bytes(), "x", 1 << 10).err().map(|error| error.to_string());
            assert_eq!(found.as_deref(), expected, "{rest}");
        }
    }
}
