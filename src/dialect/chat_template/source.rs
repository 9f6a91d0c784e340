//! The text of a template before Jinja reads it.

use std::borrow::Cow;
use std::collections::HashSet;

/// A template's text for minijinja, where Jinja2 reads it in another way.
///
/// - Every line end is a line feed.
/// - `{% generation %}`, which transformers adds to Jinja, is a block with a scope of its own.
/// - The line end after `{% raw %}` stays.
/// - Looping over None is an error.
pub(super) fn prepared(source: &str) -> String {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let (mut prepared, mut rest) = (String::with_capacity(source.len() + 64), &*source);
    while let Some((before, tag, after)) = next_tag(rest) {
        prepared.push_str(before);
        rest = after;
        if !tag.starts_with("{%") {
            prepared.push_str(tag);
            continue;
        }
        prepared.push_str(&tag_for_minijinja(tag));
        if inner(tag) == "raw" {
            let end = end_of_raw(rest);
            prepared.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    prepared + rest
}

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
fn next_tag(text: &str) -> Option<(&str, &str, &str)> {
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
fn inner(tag: &str) -> &str {
    tag.trim_start_matches("{%").trim_end_matches("%}").trim_matches(['-', '+']).trim()
}

/// Where a tag ends, whose closing delimiter may stand in a string before.
fn end_of_tag(text: &str, closing: &str) -> Option<usize> {
    if closing == "#}" {
        return text.find(closing).map(|at| at + closing.len());
    }
    let bytes = text.as_bytes();
    let (mut at, mut quote) = (2, None);
    while at < bytes.len() {
        match (bytes[at], quote) {
            (b'\\', Some(_)) => at += 1,
            (byte, Some(open)) if byte == open => quote = None,
            (byte @ (b'\'' | b'"'), None) => quote = Some(byte),
            (_, None) if bytes[at..].starts_with(closing.as_bytes()) => return Some(at + closing.len()),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the `{% endraw %}` begins that ends a raw block.
fn end_of_raw(text: &str) -> usize {
    let tags = text.match_indices("{%").map(|(at, _)| at);
    let is_end = |at: &usize| text[*at..].find("%}").is_some_and(|end| inner(&text[*at..*at + end + 2]) == "endraw");
    tags.into_iter().find(is_end).unwrap_or(text.len())
}

fn tag_for_minijinja(tag: &str) -> Cow<'_, str> {
    let statement = inner(tag);
    match statement {
        "generation" => tag.replace("generation", "with generation = none").into(),
        "endgeneration" => tag.replace("endgeneration", "endwith").into(),
        "raw" if tag.ends_with("raw%}") || tag.ends_with(" %}") => tag.replace("%}", "+%}").replace("{+%", "{%").into(),
        _ => match loop_over(statement) {
            Some((start, end)) => {
                let at = statement.as_ptr() as usize - tag.as_ptr() as usize;
                let [before, over, after] = [&tag[..at + start], &statement[start..end], &tag[at + end..]];
                format!("{before}({})|{ITERATED}{after}", over.trim()).into()
            }
            None => tag.into(),
        },
    }
}

/// The filter that what is looped over goes through.
pub(super) const ITERATED: &str = "metatok_iterated ";

/// Where in a `for` statement stands what it loops over.
fn loop_over(statement: &str) -> Option<(usize, usize)> {
    statement.strip_prefix("for")?.starts_with(char::is_whitespace).then_some(())?;
    let (mut depth, mut quote, mut start) = (0_i32, None, None);
    let bytes = statement.as_bytes();
    let word = |at: usize, word: &str| {
        let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        bytes[at..].starts_with(word.as_bytes())
            && is_edge(bytes.get(at.wrapping_sub(1)))
            && is_edge(bytes.get(at + word.len()))
    };
    let mut at = 3;
    while at < bytes.len() {
        match (bytes[at], quote) {
            (b'\\', Some(_)) => at += 1,
            (byte, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => {}
            (byte @ (b'\'' | b'"'), None) => quote = Some(byte),
            (b'(' | b'[' | b'{', None) => depth += 1,
            (b')' | b']' | b'}', None) => depth -= 1,
            _ if depth > 0 => {}
            _ if start.is_none() && word(at, "in") => start = Some(at + 2),
            _ if start.is_some() && (word(at, "if") || word(at, "recursive")) => return Some((start?, at)),
            _ => {}
        }
        at += 1;
    }
    Some((start?, bytes.len()))
}

/// All that stands in quotes in a template.
pub(super) fn literals(source: &str) -> HashSet<String> {
    let mut literals = HashSet::new();
    for quote in ['\'', '"'] {
        let pieces: Vec<&str> = source.split(quote).collect();
        // It does not matter which are within quotes, and which between them.
        literals.extend(pieces.into_iter().map(str::to_owned));
    }
    literals
}

/// The pieces of a template's text: what it writes, and what stands in quotes.
pub(super) fn pieces(source: &str) -> impl Iterator<Item = &str> {
    source.split(['{', '}', '%', '\'', '"']).map(str::trim).filter(|piece| !piece.is_empty())
}

/// Whether a text is only a name, or nothing.
pub(super) fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_rewritten_where_jinja2_differs() {
        let cases = [
            ("a\r\nb\rc", "a\nb\nc"),
            ("{%- generation -%}x{% endgeneration %}", "{%- with generation = none -%}x{% endwith %}"),
            ("{% if add_generation_prompt %}{% endif", "{% if add_generation_prompt %}{% endif"),
            ("{# for x in y #}{{ '{% raw %}' }}{ {", "{# for x in y #}{{ '{% raw %}' }}{ {"),
            ("{% raw %}\n{% for x in y %}{%- endraw %}", "{% raw +%}\n{% for x in y %}{%- endraw %}"),
            ("{%- raw -%}\n{% endraw %}", "{%- raw -%}\n{% endraw %}"),
            ("{%- for m in messages -%}", "{%- for m in(messages)|metatok_iterated  -%}"),
            (
                "{% for k, v in (d if d else e).items() if k != ' in ' %}",
                "{% for k, v in((d if d else e).items())|metatok_iterated if k != ' in ' %}",
            ),
        ];
        for (source, expected) in cases {
            assert_eq!(prepared(source), expected);
        }
    }

    #[test]
    fn literals_are_what_stands_in_quotes() {
        let literals = literals(r#"{{ 'a' + "b c" }}"#);
        assert!(literals.contains("a") && literals.contains("b c"));
    }
}
