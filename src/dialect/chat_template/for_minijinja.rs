//! What minijinja reads in the place of a template.

use std::borrow::Cow;

use crate::dialect::chat_template::attributes::through_filter;
use crate::dialect::chat_template::source::{inner, next_tag};

/// A template's text for minijinja, where Jinja2 reads it in another way.
///
/// - Every line end is a line feed.
/// - `{% generation %}`, which transformers adds to Jinja, is a block with a scope of its own.
/// - The line end after `{% raw %}` stays.
/// - Looping over None is an error.
/// - An attribute with the name of a dict's method is that method.
pub(super) fn prepared(source: &str) -> String {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let (mut prepared, mut rest) = (String::with_capacity(source.len() + 64), &*source);
    while let Some((before, tag, after)) = next_tag(rest) {
        prepared.push_str(before);
        rest = after;
        if !tag.starts_with("{%") {
            let is_comment = tag.starts_with("{#");
            prepared.push_str(&if is_comment { tag.into() } else { through_filter(tag) });
            continue;
        }
        prepared.push_str(&tag_for_minijinja(&through_filter(tag)));
        if inner(tag) == "raw" {
            let end = end_of_raw(rest);
            prepared.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    prepared + rest
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
            ("{{ {'a': {}} ~ '{% for x in y %}' }}", "{{ {'a': {}} ~ '{% for x in y %}' }}"),
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
}
