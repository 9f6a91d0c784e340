//! Bytes as visible signs, including white space, invisible characters and stray bytes.

use unicode_normalization::char::is_combining_mark;

/// Something to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Glyph {
    /// Visible text.
    Text(String),
    /// A space.
    Space,
    /// A tab.
    Tab,
    /// The end of a line.
    Newline,
    /// A carriage return.
    Return,
    /// A byte that is part of a character that this token does not contain completely.
    Byte(u8),
    /// A character that would be invisible, or change how others are drawn.
    Code(char),
}

impl Glyph {
    /// The glyph as text, and whether that is the text itself.
    pub(crate) fn text(&self) -> (String, bool) {
        match self {
            Self::Text(text) => (text.clone(), true),
            Self::Space => ("·".into(), false),
            Self::Tab => ("⇥".into(), false),
            Self::Newline => ("↵".into(), false),
            Self::Return => ("␍".into(), false),
            Self::Byte(byte) => (format!("<{byte:02X}>"), false),
            Self::Code(c) => (format!("<U+{:04X}>", u32::from(*c)), false),
        }
    }
}

/// A text on one line, with its spaces as they are: a terminal would obey control characters.
pub(crate) fn drawn(text: &str) -> String {
    let sign = |glyph: Glyph| if glyph == Glyph::Space { " ".into() } else { glyph.text().0 };
    glyphs(text.as_bytes()).into_iter().map(sign).collect()
}

/// The glyphs of a token's bytes.
pub(crate) fn glyphs(bytes: &[u8]) -> Vec<Glyph> {
    let mut glyphs = Vec::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let glyph = match c {
                ' ' => Glyph::Space,
                '\t' => Glyph::Tab,
                '\n' => Glyph::Newline,
                '\r' => Glyph::Return,
                c if is_invisible(c) => Glyph::Code(c),
                // A combining mark with nothing before it would be drawn onto the previous token.
                c if is_combining_mark(c) && !matches!(glyphs.last(), Some(Glyph::Text(_))) => {
                    Glyph::Text(format!("◌{c}"))
                }
                c => match glyphs.last_mut() {
                    Some(Glyph::Text(text)) => {
                        text.push(c);
                        continue;
                    }
                    _ => Glyph::Text(c.to_string()),
                },
            };
            glyphs.push(glyph);
        }
        glyphs.extend(chunk.invalid().iter().map(|&byte| Glyph::Byte(byte)));
    }
    glyphs
}

/// White space of other kinds, control and formatting characters, and private use.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || c.is_whitespace()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(bytes: &[u8]) -> String {
        glyphs(bytes).iter().map(|glyph| glyph.text().0).collect()
    }

    #[test]
    fn everything_can_be_seen() {
        assert_eq!(seen(b" a\tb\r\n"), "·a⇥b␍↵");
        assert_eq!(seen(&"中".as_bytes()[..2]), "<E4><B8>");
        assert_eq!(seen("x\u{202e}y\u{200d}\u{a0}\0".as_bytes()), "x<U+202E>y<U+200D><U+00A0><U+0000>");
        assert_eq!(seen("e\u{301}".as_bytes()), "e\u{301}");
        assert_eq!(seen("\u{301}e".as_bytes()), "◌\u{301}e");
        assert_eq!(seen("مرحبا 🎉".as_bytes()), "مرحبا·🎉");
    }
}
