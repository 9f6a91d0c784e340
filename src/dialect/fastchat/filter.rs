//! Changes that some styles make to contents, without copying them.

use crate::conversation::is_space;
use crate::dialect::fastchat::layout::Filter;

/// The parts of a content that are written, one after the other.
pub(super) fn pieces(text: &str, filter: Filter) -> impl Iterator<Item = &str> {
    let mut rest = match filter {
        Filter::Strip => text.trim_matches(is_space),
        Filter::None | Filter::HalveLineEnds => text,
    };
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, behind) = if filter == Filter::HalveLineEnds { up_to_line_end(rest) } else { (rest, "") };
        rest = behind;
        Some(piece)
    })
}

/// The text up to the end of its first line that is not followed by another line end, and the rest. CRLF counts as a
/// line end, and is written as LF.
fn up_to_line_end(text: &str) -> (&str, &str) {
    let Some(end) = text.find('\n') else { return (text, "") };
    // A carriage return belongs to its line feed: the line is written first, then the line feed.
    if let Some(line) = text[..end].strip_suffix('\r')
        && !line.is_empty()
    {
        return (line, &text[line.len()..]);
    }
    let line = if text[..end] == *"\r" { &text[end..=end] } else { &text[..=end] };
    let behind = &text[end + 1..];
    let behind = behind.strip_prefix('\n').or_else(|| behind.strip_prefix("\r\n")).unwrap_or(behind);
    (line, behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_halved() {
        for text in [
            "",
            "\n",
            "\n\n",
            "\n\n\n",
            "\n\n\n\n",
            "a",
            "a\nb",
            "a\n\nb",
            "a\r\n\r\nb",
            "\r\n",
            "\r\r\n\n",
            "a\r",
            "\r\n\n\n\r\nb\r\n",
            "\n\r\n",
            "\r\n\r\n\r\n",
            "x\r\r\n\r\ny",
        ] {
            let found: String = pieces(text, Filter::HalveLineEnds).collect();
            assert_eq!(found, text.replace("\r\n", "\n").replace("\n\n", "\n"), "{text:?}");
        }
    }

    #[test]
    fn white_space_is_pythons() {
        assert_eq!(pieces("\u{1c}\u{3000} a b\u{1f}\n", Filter::Strip).collect::<String>(), "a b");
        assert_eq!(pieces("\u{200b}", Filter::Strip).collect::<String>(), "\u{200b}");
    }
}
