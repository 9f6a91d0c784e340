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
    while let Some(at) = rest.find(['{']) {
        let (before, after) = rest.split_at(at);
        prepared.push_str(before);
        let closing = match after.as_bytes().get(1) {
            Some(b'%') => "%}",
            Some(b'{') => "}}",
            Some(b'#') => "#}",
            _ => {
                prepared.push('{');
                rest = &after[1..];
                continue;
            }
        };
        let Some(end) = end_of_tag(after, closing) else {
            rest = after;
            break;
        };
        let (tag, after) = after.split_at(end);
        rest = after;
        if closing != "%}" {
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

/// What a template looks for in content or compares it with, without the blanks around it: what stands in quotes as an
/// argument or an operand. Plain names are left out, which are mostly roles and keys.
pub(super) fn sought(source: &str) -> Vec<String> {
    let mut sought: Vec<String> = tags(source).flat_map(strings_sought).collect();
    sought.sort_unstable();
    sought.dedup();
    sought
}

/// The statements and expressions of a template.
fn tags(source: &str) -> impl Iterator<Item = &str> {
    let mut rest = source;
    std::iter::from_fn(move || {
        loop {
            let after = &rest[rest.find('{')?..];
            let closing = match after.as_bytes().get(1) {
                Some(b'%') => "%}",
                Some(b'{') => "}}",
                Some(b'#') => "#}",
                _ => {
                    rest = &after[1..];
                    continue;
                }
            };
            let (tag, next) = after.split_at(end_of_tag(after, closing)?);
            rest = next;
            if closing != "#}" {
                return Some(tag);
            }
        }
    })
}

fn strings_sought(tag: &str) -> Vec<String> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(open) = tag[at..].find(['\'', '"']).map(|open| at + open) {
        let quote = &tag[open..=open];
        let inside = &tag[open + 1..];
        let escaped = |end: usize| inside[..end].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        let Some(end) = inside.match_indices(quote).map(|(end, _)| end).find(|end| !escaped(*end)) else { break };
        at = open + 1 + end + 1;
        let (left, right) = (tag[..open].trim_end(), tag[at..].trim_start());
        let is_operand = left.ends_with(['(', ',', '=', '[']) || left.ends_with(" in");
        let is_looked_for = right.starts_with("in ") || right.starts_with("not in ");
        let text = inside[..end].replace("\\n", "\n").replace("\\t", "\t");
        if left.ends_with("strip(") {
            found.extend(text.chars().filter(|c| !c.is_whitespace()).map(String::from));
        } else if (is_operand || is_looked_for) && !is_name(text.trim()) {
            found.push(text.trim().to_owned());
        }
    }
    found
}

/// Whether a template may write pieces of contents, or other characters than theirs, though they have nothing that is
/// sought: it slices something other than messages, or has a filter that does.
pub(super) fn takes_apart(source: &str) -> bool {
    const FILTERS: [&str; 14] = [
        "batch",
        "capitalize",
        "center",
        "first",
        "last",
        "lower",
        "random",
        "reverse",
        "slice",
        "swapcase",
        "title",
        "truncate",
        "upper",
        "wordwrap",
    ];
    tags(source).any(|tag| {
        let words = tag.match_indices(['|', '.']).map(|(at, _)| {
            let rest = tag[at + 1..].trim_start();
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (&tag[at..=at], &rest[..end], &rest[end..])
        });
        let mut words = words.filter(|(_, word, _)| FILTERS.contains(word));
        // `loop.first` is no call.
        words.any(|(by, _, after)| by == "|" || after.starts_with('(')) || slices(tag)
    })
}

/// Whether a tag slices anything but messages.
fn slices(tag: &str) -> bool {
    tag.match_indices('[').any(|(open, _)| {
        let inside = tag[open + 1..].split([']', '{']).next().unwrap_or_default();
        let before = tag[..open].trim_end();
        let is_of_value = before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ')' | ']' | '\''));
        inside.contains(':') && is_of_value && !before.ends_with("messages")
    })
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
    fn what_is_sought_in_content_is_an_operand_and_no_name() {
        let source = r#"'a' {{ m.content.split('\n</think>')[-1] ~ '<|end|>' }}{% if "[T]" in c or c == '\'' or r == 'user' %}{# f('<x>') #}"#;
        assert_eq!(sought(source), ["</think>", "[T]", "\\'"]);
    }

    #[test]
    fn what_takes_contents_apart() {
        let whole = [
            "{{ m.content.split('</s>')[-1] }}",
            "{% if loop.first %}{{ messages[1:] }}{{ x['a'] }}{% endif %}",
            "a[1:2] | upper",
        ];
        let apart = [
            "{{ content[:9] }}",
            "{{ c|upper }}",
            "{{ c | first }}",
            "{{ c.lower() }}",
            "{% set x = m['content'][1:] %}",
        ];
        assert!(!whole.iter().any(|source| takes_apart(source)));
        assert!(apart.iter().all(|source| takes_apart(source)));
    }

    #[test]
    fn literals_are_what_stands_in_quotes() {
        let literals = literals(r#"{{ 'a' + "b c" }}"#);
        assert!(literals.contains("a") && literals.contains("b c"));
    }
}
