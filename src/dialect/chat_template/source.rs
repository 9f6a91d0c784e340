//! The text of a template, in its tags and pieces.

/// The statements and expressions of a template.
pub(super) fn tags(source: &str) -> impl Iterator<Item = &str> {
    let mut rest = source;
    let every = std::iter::from_fn(move || {
        let (_, tag, after) = next_tag(rest)?;
        rest = after;
        Some(tag)
    });
    every.filter(|tag| !tag.starts_with("{#"))
}

/// The first tag or comment of a text, with what is before and after it; none if it has none that ends.
pub(super) fn next_tag(text: &str) -> Option<(&str, &str, &str)> {
    let closing = |at: usize| match text.as_bytes().get(at + 1) {
        Some(b'%') => Some("%}"),
        Some(b'{') => Some("}}"),
        Some(b'#') => Some("#}"),
        _ => None,
    };
    let (at, closing) = text.match_indices('{').find_map(|(at, _)| Some((at, closing(at)?)))?;
    let (before, after) = text.split_at(at);
    let (tag, after) = after.split_at(end_of_tag(after, closing)?);
    Some((before, tag, after))
}

/// The statement of a tag, without its delimiters.
pub(super) fn inner(tag: &str) -> &str {
    tag.trim_start_matches("{%").trim_end_matches("%}").trim_matches(['-', '+']).trim()
}

/// Where a tag ends, whose closing delimiter may stand in a string before.
fn end_of_tag(text: &str, closing: &str) -> Option<usize> {
    if closing == "#}" {
        return text.find(closing).map(|at| at + closing.len());
    }
    let bytes = text.as_bytes();
    // The end of a dict within a dict looks like that of an expression.
    let (mut at, mut dicts) = (2, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"') => at += 1 + end_of_text(&text[at + 1..], quote.into()),
            b'{' => dicts += 1,
            b'}' if dicts > 0 => dicts -= 1,
            _ if bytes[at..].starts_with(closing.as_bytes()) => return Some(at + closing.len()),
            _ => {}
        }
        at += 1;
    }
    None
}

/// How long a text is up to the quote that ends it.
pub(super) fn end_of_text(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = text.find(|c| {
        let is_end = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.unwrap_or(text.len())
}

/// The pieces of a template's text: what it writes, and what stands in quotes.
pub(super) fn pieces(source: &str) -> impl Iterator<Item = &str> {
    source.split(['{', '}', '%', '\'', '"']).map(str::trim).filter(|piece| !piece.is_empty())
}

/// Whether a text is only a name, or nothing.
pub(super) fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' '))
}
