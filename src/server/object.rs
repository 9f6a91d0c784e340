//! A JSON object that is written key by key; the user's own keys override the others.

use std::fmt::Display;
use std::io::Write;

use serde_json::{Map, Value};

use crate::sink::{PromptKey, write_json, write_origin};

/// An object that is being written.
pub(super) struct Object<'o> {
    out: &'o mut Vec<u8>,
    /// The user's own keys.
    params: &'o Map<String, Value>,
    separator: &'static [u8],
}

impl<'o> Object<'o> {
    pub(super) fn open(out: &'o mut Vec<u8>, params: &'o Map<String, Value>) -> Self {
        out.push(b'{');
        Self { out, params, separator: b"" }
    }

    /// Writes a key, whose value must follow. Returns none, and writes nothing, if the user has a value for it.
    pub(super) fn key(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        if self.params.contains_key(name) {
            return None;
        }
        self.write_key(name);
        Some(self.out)
    }

    fn write_key(&mut self, name: &str) {
        self.out.extend_from_slice(self.separator);
        self.separator = b",";
        write_json(name, self.out);
        self.out.push(b':');
    }

    pub(super) fn string(&mut self, name: &str, value: &str) {
        if let Some(out) = self.key(name) {
            write_json(value, out);
        }
    }

    /// A value whose `Display` is JSON: a number, or JSON itself.
    pub(super) fn json(&mut self, name: &str, value: impl Display) {
        if let Some(out) = self.key(name) {
            write!(out, "{value}").expect("writing to memory cannot fail");
        }
    }

    /// A nested object.
    pub(super) fn object(&mut self, name: &str, params: &Map<String, Value>, write: impl FnOnce(&mut Object<'_>)) {
        if let Some(out) = self.key(name) {
            let mut object = Object::open(out, params);
            write(&mut object);
            object.close();
        }
    }

    /// Writes the user's own keys and closes the object.
    pub(super) fn close(mut self) {
        self.write_params();
        self.out.push(b'}');
    }

    /// Writes the user's own keys, the columns and the fingerprint of the prompt, and closes the object and its line. Beside
    /// the columns are the repeat and the turn, whose place in a list of references cannot be told from the id.
    pub(super) fn close_line(mut self, key: &PromptKey<'_>) {
        self.write_params();
        if key.columns.is_some() {
            for (name, number) in [("repeat", key.repeat), ("turn", key.turn)] {
                if let Some(number) = number {
                    self.json(name, number);
                }
            }
        }
        write_origin(key, self.out);
        self.out.extend_from_slice(b"}\n");
    }

    fn write_params(&mut self) {
        let params: &'o Map<String, Value> = self.params;
        for (name, value) in params {
            self.write_key(name);
            write_json(value, self.out);
        }
    }
}
