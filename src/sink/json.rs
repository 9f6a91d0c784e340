//! The JSON that forms have in common, written by hand: writing it through a generic JSON value takes longer than
//! building the prompt.

use crate::sink::PromptKey;

/// Opens an object with the keys that identify a prompt.
pub(super) fn write_key(key: &PromptKey<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"id\":");
    out.extend_from_slice(key.id.get().as_bytes());
    if let Some(label) = key.label {
        out.extend_from_slice(b",\"label\":");
        write_json(label, out);
    }
    if key.is_normalizing {
        out.extend_from_slice(b",\"normalizing\":true");
    }
    for (name, number) in [(&b",\"repeat\":"[..], key.repeat), (b",\"turn\":", key.turn)] {
        if let Some(number) = number {
            out.extend_from_slice(name);
            write_number(number, out);
        }
    }
    if let Some(max_out_len) = key.max_out_len {
        out.extend_from_slice(b",\"max_out_len\":");
        write_number(max_out_len, out);
    }
}

/// Writes `,"columns":{…},"fingerprint":{…}`, if there are any.
pub(crate) fn write_origin(key: &PromptKey<'_>, out: &mut Vec<u8>) {
    for (name, json) in [(&b",\"columns\":"[..], key.columns), (b",\"fingerprint\":", key.fingerprint)] {
        if let Some(json) = json {
            out.extend_from_slice(name);
            out.extend_from_slice(json.get().as_bytes());
        }
    }
}

/// Appends a JSON list of numbers.
pub(crate) fn write_numbers<N: itoa::Integer>(numbers: impl Iterator<Item = N>, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    out.push(b'[');
    let mut separator: &[u8] = b"";
    for number in numbers {
        out.extend_from_slice(separator);
        out.extend_from_slice(digits.format(number).as_bytes());
        separator = b",";
    }
    out.push(b']');
}

pub(super) fn write_number(number: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

pub(crate) fn write_json(value: &(impl serde::Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("strings and names are JSON, and writing to memory cannot fail");
}
