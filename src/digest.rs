//! Short hashes of values and files.

use std::io::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The first 16 digits of a value's hash, regardless of the order of its keys.
pub(crate) fn digest(value: &Value) -> String {
    format!("{:016x}", number(value))
}

/// The same as a number.
pub(crate) fn number(value: &Value) -> u64 {
    let mut hash = Sha256::new();
    write_sorted(value, &mut hash);
    hash.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The same for the list of these values.
pub(crate) fn digest_of_list(values: &[&Value]) -> String {
    let mut hash = Sha256::new();
    write_list(values.iter().copied(), &mut hash);
    hex(hash)
}

/// The first 16 digits.
pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Not `to_string`: whether serde_json keeps the order of keys depends on features of other crates.
fn write_sorted(value: &Value, hash: &mut Sha256) {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_unstable_by_key(|(name, _)| *name);
            hash.update(b"{");
            for (name, value) in entries {
                write_leaf(&Value::String(name.clone()), hash);
                write_sorted(value, hash);
            }
            hash.update(b"}");
        }
        Value::Array(values) => write_list(values.iter(), hash),
        leaf => write_leaf(leaf, hash),
    }
}

fn write_list<'v>(values: impl Iterator<Item = &'v Value>, hash: &mut Sha256) {
    hash.update(b"[");
    values.for_each(|value| write_sorted(value, hash));
    hash.update(b"]");
}

fn write_leaf(value: &Value, hash: &mut Sha256) {
    write!(hash, "{value},").expect("a hash takes every byte");
}
