//! How a vocabulary spells bytes.

use std::borrow::Cow;

use serde_json::Value;

/// How a vocabulary spells bytes: the steps of its decoder that look at one token at a time.
pub(crate) struct TokenBytes(Vec<Step>);

enum Step {
    /// Each character stands for a byte.
    ByteLevel,
    /// `<0xE4>` stands for a byte.
    ByteFallback,
    Replace(String, String),
    /// The mark of a token that continues a word.
    Prefix(String),
    /// The mark of a token that ends a word.
    Suffix(String),
}

impl TokenBytes {
    /// Reads the decoder of a `tokenizer.json`.
    pub(crate) fn of(json: &Value) -> Self {
        let mut steps = Vec::new();
        collect(&json["decoder"], &mut steps);
        Self(steps)
    }

    /// Whether the bytes of adjacent tokens are the bytes of their text: nothing is put between them.
    pub(crate) fn is_exact(&self) -> bool {
        !self.0.is_empty() && !self.0.iter().any(|step| matches!(step, Step::Prefix(_) | Step::Suffix(_)))
    }

    pub(crate) fn is_byte_level(&self) -> bool {
        matches!(self.0[..], [Step::ByteLevel, ..])
    }

    pub(crate) fn bytes(&self, token: &str) -> Vec<u8> {
        let mut text = Cow::Borrowed(token);
        for step in &self.0 {
            match step {
                Step::ByteLevel => {
                    // A token with another character was not written by this vocabulary's rule.
                    let bytes: Option<Vec<u8>> = text.chars().map(byte_of).collect();
                    return bytes.unwrap_or_else(|| text.into_owned().into_bytes());
                }
                Step::ByteFallback => {
                    let hex = text.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
                    if let Some(byte) =
                        hex.filter(|hex| hex.len() == 2).and_then(|hex| u8::from_str_radix(hex, 16).ok())
                    {
                        return vec![byte];
                    }
                }
                Step::Replace(from, to) => text = text.replace(from, to).into(),
                Step::Prefix(mark) => text = text.strip_prefix(mark.as_str()).unwrap_or(&text).to_owned().into(),
                Step::Suffix(mark) => {
                    if let Some(word) = text.strip_suffix(mark.as_str()) {
                        text = format!("{word} ").into();
                    }
                }
            }
        }
        text.into_owned().into_bytes()
    }
}

fn collect(decoder: &Value, steps: &mut Vec<Step>) {
    let text = |key: &str| decoder[key].as_str().unwrap_or_default().to_owned();
    match decoder["type"].as_str() {
        Some("Sequence") => {
            decoder["decoders"].as_array().into_iter().flatten().for_each(|inner| collect(inner, steps))
        }
        Some("ByteLevel") => steps.push(Step::ByteLevel),
        Some("ByteFallback") => steps.push(Step::ByteFallback),
        Some("Metaspace") => steps.push(Step::Replace(text("replacement"), " ".into())),
        Some("WordPiece") => steps.push(Step::Prefix(text("prefix"))),
        Some("BPEDecoder") => steps.push(Step::Suffix(text("suffix"))),
        Some("Replace") => {
            if let Some(pattern) = decoder["pattern"]["String"].as_str() {
                steps.push(Step::Replace(pattern.to_owned(), text("content")));
            }
        }
        _ => {}
    }
}

/// The byte of a character in a byte-level vocabulary: printable Latin-1 stands for itself, the others for the
/// remaining bytes in order.
pub(crate) fn byte_of(c: char) -> Option<u8> {
    match u32::from(c) {
        code @ (0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff) => Some(code as u8),
        code @ 0x100..=0x120 => Some((code - 0x100) as u8),
        code @ 0x121..=0x142 => Some((code - 0x121 + 0x7f) as u8),
        0x143 => Some(0xad),
        _ => None,
    }
}

/// The character of a byte: the inverse.
pub(crate) fn char_of(byte: u8) -> char {
    let code = match byte {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u32::from(byte),
        0x00..=0x20 => 0x100 + u32::from(byte),
        0x7f..=0xa0 => 0x121 + u32::from(byte - 0x7f),
        0xad => 0x143,
    };
    char::from_u32(code).expect("it is below the surrogates")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        let bytes =
            |decoder: Value, token: &str| TokenBytes::of(&serde_json::json!({ "decoder": decoder })).bytes(token);
        let sentence_piece = serde_json::json!({"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ]});
        assert_eq!(bytes(sentence_piece.clone(), "▁▁hi"), b"  hi");
        assert_eq!(bytes(sentence_piece.clone(), "<0xE4>"), [0xe4]);
        assert_eq!(bytes(sentence_piece, "<0xE4"), b"<0xE4");
        let byte_level = serde_json::json!({"type": "ByteLevel"});
        assert_eq!(bytes(byte_level.clone(), "Ġä"), [b' ', 0xe4]);
        // A vocabulary's own spelling of something else.
        assert_eq!(bytes(byte_level, "▁中"), "▁中".as_bytes());
        assert_eq!(bytes(serde_json::json!({"type": "Metaspace", "replacement": "▁"}), "a▁"), b"a ");
        assert_eq!(bytes(serde_json::json!({"type": "WordPiece", "prefix": "##"}), "##ing"), b"ing");
        assert_eq!(bytes(serde_json::json!({"type": "BPEDecoder", "suffix": "</w>"}), "end</w>"), b"end ");
        assert_eq!(bytes(Value::Null, "as it is"), b"as it is");
    }

    #[test]
    fn every_byte_has_one_character() {
        let bytes: Vec<u8> = (0..0x200).filter_map(char::from_u32).filter_map(byte_of).collect();
        let mut sorted = bytes.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..=255).collect::<Vec<u8>>());
        assert!((0..=255).all(|byte| byte_of(char_of(byte)) == Some(byte)));
        assert_eq!((byte_of('Ġ'), byte_of('Ċ'), byte_of('ł')), (Some(b' '), Some(b'\n'), Some(0xa0)));
    }
}
