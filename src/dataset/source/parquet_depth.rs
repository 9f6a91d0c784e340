//! How deeply the schema of a Parquet file is nested, from its footer: the library goes down a schema by recursion, and a small
//! file can make it overflow the stack.
//!
//! Source: `FileMetaData` and `SchemaElement` of Parquet's format, in Thrift's compact protocol.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use crate::error::{ErrorKind, Result};

/// The most groups within each other. A list is two. Without optimization, the library's stack has room for a few more.
const MOST: usize = 200;
/// What a file ends with, after the footer and its length.
const MAGIC: &[u8; 4] = b"PAR1";

/// Refuses a file whose schema is nested too deeply. What is wrong with a footer otherwise, the library says.
///
/// # Errors
/// [`ErrorKind::Parse`] for such a file.
pub(super) fn check(file: &mut File) -> Result<()> {
    let Ok(Some(footer)) = footer(file) else { return Ok(()) };
    match (Thrift { bytes: &footer }).is_too_deep() {
        Some(true) => Err(ErrorKind::Parse(format!("its columns are nested more than {MOST} groups deep")).into()),
        Some(false) | None => Ok(()),
    }
}

/// The footer of a file; none if it has none.
fn footer(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    const END: u64 = 8;
    let length = file.seek(SeekFrom::End(0))?;
    if length < END {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-END.cast_signed()))?;
    let mut end = [0; END as usize];
    file.read_exact(&mut end)?;
    let [a, b, c, d, magic @ ..] = end;
    let size = u64::from(u32::from_le_bytes([a, b, c, d]));
    if magic != *MAGIC || size > length - END {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(length - END - size))?;
    let mut footer = Vec::new();
    file.take(size).read_to_end(&mut footer)?;
    Ok(Some(footer))
}

/// Bytes in Thrift's compact protocol. Reading gives none at their end, and where they are something else.
struct Thrift<'a> {
    bytes: &'a [u8],
}

const STOP: u8 = 0;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Thrift<'_> {
    /// Whether the schema of this footer is nested too deeply, or the footer itself; none if it is no footer.
    fn is_too_deep(&mut self) -> Option<bool> {
        let mut field = 0;
        loop {
            match self.field(&mut field)? {
                STOP => return Some(false),
                LIST if field == 2 => return self.schema(),
                kind => {
                    if self.skip(kind, 0)? {
                        return Some(true);
                    }
                }
            }
        }
    }

    /// Whether the elements of a schema are nested too deeply. Each is followed by its children.
    fn schema(&mut self) -> Option<bool> {
        let (elements, kind) = self.list()?;
        if kind != STRUCT {
            return None;
        }
        // How many children are still to come, of each group that has some left.
        let mut left: Vec<u64> = Vec::new();
        for _ in 0..elements {
            while left.pop_if(|siblings| *siblings == 0).is_some() {}
            if let Some(siblings) = left.last_mut() {
                *siblings -= 1;
            }
            let (mut field, mut children) = (0, 0);
            loop {
                match self.field(&mut field)? {
                    STOP => break,
                    5 if field == 5 => children = self.number()? >> 1,
                    kind => {
                        if self.skip(kind, 0)? {
                            return Some(true);
                        }
                    }
                }
            }
            if children > 0 {
                left.push(children);
            }
            if left.len() > MOST {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Passes over a value. Returns whether it is nested too deeply.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<bool> {
        if depth > MOST {
            return Some(true);
        }
        match kind {
            1 | 2 => {}
            3 => drop(self.take(1)?),
            4..=6 => drop(self.number()?),
            7 => drop(self.take(8)?),
            BINARY => {
                let length = self.number()?;
                self.take(usize::try_from(length).ok()?)?;
            }
            LIST | 10 => {
                let (items, kind) = self.list()?;
                for _ in 0..items {
                    // In a list, a truth value is a byte.
                    if self.skip(if kind <= 2 { 3 } else { kind }, depth + 1)? {
                        return Some(true);
                    }
                }
            }
            STRUCT => {
                let mut field = 0;
                loop {
                    match self.field(&mut field)? {
                        STOP => break,
                        kind if self.skip(kind, depth + 1)? => return Some(true),
                        _ => {}
                    }
                }
            }
            // No footer has maps.
            _ => return None,
        }
        Some(false)
    }

    /// The type of the next field, [`STOP`] after the last one.
    fn field(&mut self, number: &mut u64) -> Option<u8> {
        let head = self.take(1)?[0];
        let (step, kind) = (head >> 4, head & 0xF);
        match (kind, step) {
            (STOP, _) => {}
            (_, 0) => *number = self.number()? >> 1,
            (_, step) => *number += u64::from(step),
        }
        Some(kind)
    }

    /// The length and the type of a list's items.
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.take(1)?[0];
        let length = match head >> 4 {
            15 => self.number()?,
            length => length.into(),
        };
        Some((length, head & 0xF))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, left) = self.bytes.split_at_checked(count)?;
        self.bytes = left;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer with a version and these elements: how many children each has.
    fn footer(children: &[u8]) -> Vec<u8> {
        let elements = u8::try_from(children.len().min(127)).expect("it is at most 127");
        assert_eq!(usize::from(elements), children.len(), "more would be a longer number");
        let mut bytes = vec![0x15, 2, 0x19, 0xFC, elements];
        for children in children {
            // The name, the children, and a logical type that is an empty struct.
            bytes.extend([0x48, 1, b'a', 0x15, children * 2, 0x5C, 0, 0]);
        }
        bytes.push(STOP);
        bytes
    }

    fn is_too_deep(bytes: &[u8]) -> Option<bool> {
        Thrift { bytes }.is_too_deep()
    }

    #[test]
    fn columns_beside_each_other_are_not_nested() {
        assert_eq!(is_too_deep(&footer(&[2, 1, 0, 2, 0, 0])), Some(false));
        let wide = [&[63][..], &[0; 63]].concat();
        assert_eq!(is_too_deep(&footer(&wide)), Some(false));
        assert_eq!(is_too_deep(&footer(&[])), Some(false));
        let cut = footer(&[1, 1, 1]);
        for end in 0..cut.len() - 1 {
            assert_ne!(is_too_deep(&cut[..end]), Some(true), "{end}");
        }
    }

    #[test]
    fn deep_columns_and_deep_values_are_found() {
        let nested = |groups: usize| {
            let mut bytes = vec![0x15, 2, 0x19, 0xFC, 0x80 | (groups & 0x7F) as u8, (groups >> 7) as u8];
            bytes.extend([0x48, 1, b'a', 0x15, 2, 0].repeat(groups));
            bytes
        };
        assert_eq!(is_too_deep(&nested(MOST)), Some(false));
        assert_eq!(is_too_deep(&nested(MOST + 1)), Some(true));
        let values = [&[0x15, 2][..], &[0x1C].repeat(MOST + 2)].concat();
        assert_eq!(is_too_deep(&values), Some(true));
    }
}
