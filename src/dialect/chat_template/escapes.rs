//! The escapes in a template's texts, as Python reads them.

use std::borrow::Cow;

use crate::dialect::chat_template::code::Code;
use crate::dialect::chat_template::edits::Edits;

/// A text as its escapes have it; none if it has rare ones: octal numbers, names and halves of characters, `\b` and `\f`.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let (mut unescaped, mut chars) = (String::with_capacity(text.len()), text.chars());
    while let Some(c) = chars.next() {
        if c != '\\' {
            unescaped.push(c);
            continue;
        }
        match chars.next()? {
            'n' => unescaped.push('\n'),
            't' => unescaped.push('\t'),
            'r' => unescaped.push('\r'),
            'a' => unescaped.push('\u{7}'),
            'v' => unescaped.push('\u{b}'),
            c @ ('\\' | '\'' | '"') => unescaped.push(c),
            kind @ ('x' | 'u' | 'U') => {
                let length = match kind {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let digits: String = chars.by_ref().take(length).collect();
                if digits.len() < length {
                    return None;
                }
                unescaped.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
            }
            '\n' => {}
            '0'..='7' | 'b' | 'f' | 'N' => return None,
            c => unescaped.extend(['\\', c]),
        }
    }
    Some(unescaped)
}

/// Escapes that minijinja reads in another way.
const OTHERS: [&str; 5] = [r"\a", r"\v", r"\U", r"\/", "\\\n"];

/// The tag with other escapes for the same texts.
pub(super) fn with_known_escapes(tag: &str) -> Cow<'_, str> {
    if !OTHERS.iter().any(|escape| tag.contains(escape)) {
        return tag.into();
    }
    let (code, mut edits) = (Code::of(tag), Edits::default());
    for (at, text) in code.texts().filter(|(_, text)| OTHERS.iter().any(|escape| text.contains(escape))) {
        let span = code.span(at);
        edits.replace(span.start + 1..span.start + 1 + text.len(), rewritten(text));
    }
    edits.apply(tag)
}

fn rewritten(text: &str) -> String {
    let (mut written, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        written.push_str(&rest[..at]);
        let escape = &rest[at..];
        let kind = escape[1..].chars().next().unwrap_or_default();
        let digits = (kind == 'U').then(|| escape.get(2..10)).flatten();
        let large = digits.and_then(|digits| char::from_u32(u32::from_str_radix(digits, 16).ok()?));
        let end = at + if large.is_some() { 10 } else { (1 + kind.len_utf8()).min(escape.len()) };
        match (kind, large) {
            // A quote or a backslash must not end the text, or escape what follows.
            (_, Some(c)) if c.is_ascii() => written += &format!(r"\x{:02x}", u32::from(c)),
            (_, Some(c)) => written.push(c),
            ('a', _) => written.push('\u{7}'),
            ('v', _) => written.push('\u{b}'),
            ('/', _) => written.push_str(r"\\/"),
            ('\n', _) => {}
            _ => written.push_str(&rest[at..end]),
        }
        rest = &rest[end..];
    }
    written + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read() {
        assert_eq!(unescaped(r#"a\n\t\r\\\'\""#).as_deref(), Some("a\n\t\r\\'\""));
        assert_eq!(unescaped(r"\x3c\u00e9\d\U0001F600\a\v\/").as_deref(), Some("<é\\d\u{1f600}\u{7}\u{b}\\/"));
        assert_eq!(unescaped("a\\\nb").as_deref(), Some("ab"));
        let rare = [r"\101", r"\f", r"\ud83d", r"\xg", r"\x4", r"\U0001F60", r"\N{BULLET}"];
        assert!(rare.iter().all(|text| unescaped(text).is_none()));
    }

    #[test]
    fn other_escapes_are_replaced() {
        let cases = [
            (r"{{ '\n\x41' }}", r"{{ '\n\x41' }}"),
            (r#"{{ "\/\"" ~ '\/\'"\n' ~ '\a' }}"#, "{{ \"\\\\/\\\"\" ~ '\\\\/\\'\"\\n' ~ '\u{7}' }}"),
            (r"{{ '\U0001F600\101\v\f\\a' }}", "{{ '\u{1f600}\\101\u{b}\\f\\\\a' }}"),
            (r"{{ '\U00000043\U00000027' }}", r"{{ '\x43\x27' }}"),
        ];
        for (tag, expected) in cases {
            assert_eq!(with_known_escapes(tag), expected);
        }
    }
}
