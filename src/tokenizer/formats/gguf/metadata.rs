//! The metadata of a GGUF file: the keys and values before the weights.
//!
//! The format is that of [ggml's specification](https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), versions 2 and 3.

use std::collections::HashMap;
use std::io::{self, Read};

use crate::error::{ErrorKind, Result};

/// The keys of tokenizers, and the model's name. Others are skipped.
const KEPT: [&str; 2] = ["tokenizer.", "general.name"];
/// A longer string or list is treated as damage, since it would exhaust the memory.
const MOST: u64 = 1 << 28;

/// What to do if the file gives no tokenizer.
pub(super) const OTHERWISE: &str = "use the tokenizer.json of the repository that it was made from";

/// The keys of a file's tokenizer, with their values.
#[derive(Debug)]
pub(super) struct Metadata(HashMap<String, Value>);

/// A value. Numbers of all widths are one kind.
#[derive(Debug)]
enum Value {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Texts),
}

/// A list of strings, one after the other: a vocabulary has too many to allocate each.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| &self.all[std::mem::replace(&mut start, *end)..*end])
    }
}

impl Metadata {
    /// Reads the beginning of a file.
    pub(super) fn read(file: impl Read) -> Result<Self> {
        let mut reader = Reader(file);
        let [magic, version] = [reader.u32()?, reader.u32()?];
        if magic.to_le_bytes() != *b"GGUF" {
            return Err(ErrorKind::Invalid("this is not a GGUF file".into()).into());
        }
        match version {
            2 | 3 => {}
            _ if matches!(version.swap_bytes(), 1..=3) => {
                return Err(invalid("its numbers are big-endian, which metatok does not read"));
            }
            _ => return Err(invalid(&format!("its format is version {version}; metatok reads 2 and 3"))),
        }
        let (_tensors, count) = (reader.u64()?, reader.u64()?);
        let mut values = HashMap::new();
        for _ in 0..count {
            let key = reader.text()?;
            match KEPT.iter().any(|kept| key.starts_with(kept)) {
                true => drop(values.insert(key, reader.value()?)),
                false => reader.skip_value()?,
            }
        }
        Ok(Self(values))
    }

    /// Whether there is such a key, whatever its value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.0.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        match self.0.get(key)? {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// A number that is not negative.
    pub(super) fn index(&self, key: &str) -> Option<usize> {
        match self.0.get(key)? {
            Value::Int(number) => usize::try_from(*number).ok(),
            _ => None,
        }
    }

    pub(super) fn texts(&self, key: &str) -> Option<&Texts> {
        match self.0.get(key)? {
            Value::Texts(texts) => Some(texts),
            _ => None,
        }
    }

    pub(super) fn ints(&self, key: &str) -> Option<&[i64]> {
        match self.0.get(key)? {
            Value::Ints(ints) => Some(ints),
            _ => None,
        }
    }

    /// Numbers, of whatever kind.
    pub(super) fn floats(&self, key: &str) -> Option<Vec<f64>> {
        match self.0.get(key)? {
            Value::Floats(floats) => Some(floats.clone()),
            Value::Ints(ints) => Some(ints.iter().map(|int| *int as f64).collect()),
            _ => None,
        }
    }
}

fn invalid(what: &str) -> crate::Error {
    ErrorKind::Invalid(what.into()).into()
}

fn not_utf8() -> crate::Error {
    invalid("a string of its metadata is not UTF-8")
}

struct Reader<R>(R);

/// The format's type numbers.
const STRING: u32 = 8;
const ARRAY: u32 = 9;

impl<R: Read> Reader<R> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).map_err(cut_off)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn length(&mut self) -> Result<u64> {
        match self.u64()? {
            length @ ..=MOST => Ok(length),
            length => Err(invalid(&format!("its metadata is damaged: a length of {length}"))),
        }
    }

    /// Appends the bytes of a string.
    fn append(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let length = self.length()?;
        let read = self.0.by_ref().take(length).read_to_end(bytes)?;
        match read as u64 == length {
            true => Ok(()),
            false => Err(cut_off(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    fn text(&mut self) -> Result<String> {
        let mut bytes = Vec::new();
        self.append(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| not_utf8())
    }

    fn texts(&mut self, count: u64) -> Result<Texts> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..count {
            self.append(&mut bytes)?;
            ends.push(bytes.len());
        }
        let all = String::from_utf8(bytes).map_err(|_| not_utf8())?;
        // A character may not go from one string to the next.
        match ends.iter().all(|end| all.is_char_boundary(*end)) {
            true => Ok(Texts { all, ends }),
            false => Err(not_utf8()),
        }
    }

    /// Reads over a value, without keeping any of it.
    fn skip_value(&mut self) -> Result<()> {
        let (kind, count) = match self.u32()? {
            ARRAY => (self.u32()?, self.length()?),
            kind => (kind, 1),
        };
        if kind != STRING && count > 0 {
            return self.skip(count * width(kind)?);
        }
        for _ in 0..count {
            let length = self.length()?;
            self.skip(length)?;
        }
        Ok(())
    }

    fn skip(&mut self, length: u64) -> Result<()> {
        match io::copy(&mut self.0.by_ref().take(length), &mut io::sink())? == length {
            true => Ok(()),
            false => Err(cut_off(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    fn value(&mut self) -> Result<Value> {
        match self.u32()? {
            STRING => self.text().map(Value::Text),
            ARRAY => self.list(),
            kind => self.number(kind),
        }
    }

    fn list(&mut self) -> Result<Value> {
        let (kind, length) = (self.u32()?, self.length()?);
        if kind == STRING {
            return self.texts(length).map(Value::Texts);
        }
        let (mut ints, mut floats) = (Vec::new(), Vec::new());
        for _ in 0..length {
            match self.number(kind)? {
                Value::Float(float) => floats.push(float),
                Value::Int(int) => ints.push(int),
                Value::Bool(flag) => ints.push(flag.into()),
                _ => {}
            }
        }
        Ok(if floats.is_empty() { Value::Ints(ints) } else { Value::Floats(floats) })
    }

    fn number(&mut self, kind: u32) -> Result<Value> {
        Ok(match kind {
            0 => Value::Int(u8::from_le_bytes(self.bytes()?).into()),
            1 => Value::Int(i8::from_le_bytes(self.bytes()?).into()),
            2 => Value::Int(u16::from_le_bytes(self.bytes()?).into()),
            3 => Value::Int(i16::from_le_bytes(self.bytes()?).into()),
            4 => Value::Int(self.u32()?.into()),
            5 => Value::Int(i32::from_le_bytes(self.bytes()?).into()),
            6 => Value::Float(f32::from_le_bytes(self.bytes()?).into()),
            7 => Value::Bool(self.bytes()? != [0]),
            10 => Value::Int(i64::try_from(self.u64()?).unwrap_or(i64::MAX)),
            11 => Value::Int(i64::from_le_bytes(self.bytes()?)),
            12 => Value::Float(f64::from_le_bytes(self.bytes()?)),
            _ => return Err(no_number(kind)),
        })
    }
}

/// The bytes of a number.
fn width(kind: u32) -> Result<u64> {
    match kind {
        0 | 1 | 7 => Ok(1),
        2 | 3 => Ok(2),
        4..=6 => Ok(4),
        10..=12 => Ok(8),
        _ => Err(no_number(kind)),
    }
}

fn no_number(kind: u32) -> crate::Error {
    match kind {
        ARRAY => invalid("its metadata has a list of lists, which metatok does not read"),
        _ => invalid(&format!("its metadata is damaged: there is no type {kind}")),
    }
}

fn cut_off(error: io::Error) -> crate::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            ErrorKind::Invalid("the file ends in the middle of its metadata".into()).with_way_out("download it again")
        }
        _ => error.into(),
    }
}
