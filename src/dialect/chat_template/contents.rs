//! What a template does with contents, as its code shows.

use crate::conversation::is_space;
use crate::dialect::chat_template::code::{Code, codes};
use crate::dialect::chat_template::escapes::unescaped;
use crate::dialect::chat_template::lists::{binds_only_lists, follows_list, is_list_name, loops_over_lists};
use crate::dialect::chat_template::source::is_name;

/// The texts that a template looks for in content or compares it with, without the blanks around them: those in quotes that
/// are an argument or an operand. Plain names are left out; they are mostly roles and keys.
pub(super) fn sought(source: &str) -> Vec<String> {
    let mut sought = Vec::new();
    for code in codes(source) {
        for (at, text) in code.texts() {
            let text = unescaped(text).unwrap_or_else(|| text.to_owned());
            let trimmed = text.trim_matches(is_space);
            if is_stripped(&code, at) {
                sought.extend(text.chars().filter(|c| !is_space(*c)).map(String::from));
            } else if is_operand(&code, at) && !is_name(trimmed) {
                sought.push(trimmed.to_owned());
            }
        }
    }
    sought.sort_unstable();
    sought.dedup();
    sought
}

/// The texts in quotes in a template's code.
pub(super) fn literals(source: &str) -> impl Iterator<Item = String> {
    let of_code = |code: Code<'_>| code.texts().filter_map(|(_, text)| unescaped(text)).collect::<Vec<_>>();
    codes(source).flat_map(of_code)
}

/// The names in a template's code: of variables, and of their attributes and methods.
pub(super) fn names(source: &str) -> impl Iterator<Item = &str> {
    codes(source).flat_map(|code| code.words().collect::<Vec<_>>())
}

/// The texts in quotes, without the blanks around them.
pub(super) fn texts(source: &str) -> impl Iterator<Item = String> {
    literals(source).map(|text| text.trim_matches(is_space).to_owned()).filter(|text| !text.is_empty())
}

/// The texts at which a template splits contents, without the blanks around them.
pub(super) fn split_by(source: &str) -> Vec<String> {
    let of_code = |code: Code<'_>| -> Vec<String> {
        let splits = code.texts().filter(|(at, _)| code.is_argument_of(*at, &["split"]));
        splits.filter_map(|(_, text)| Some(unescaped(text)?.trim_matches(is_space).to_owned())).collect()
    };
    codes(source).flat_map(of_code).collect()
}

/// The texts that a template replaces by one for which `is` holds, or by one that its code does not show. A replaced text
/// that the code does not show is empty here.
pub(super) fn replaced_by(source: &str, is: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut replaced = Vec::new();
    for code in codes(source) {
        for open in code.places().filter(|at| code.is(*at, '(') && code.word(at.wrapping_sub(1)) == Some("replace")) {
            let text = |at: usize| code.text(at).and_then(unescaped);
            let new =
                text(open + 3).filter(|_| code.is(open + 2, ',') && matches!(code.sign(open + 4), Some(')' | ',')));
            if new.is_none_or(|new| is(&new)) {
                replaced.push(text(open + 1).filter(|_| code.is(open + 2, ',')).unwrap_or_default());
            }
        }
    }
    replaced
}

/// Whether a template writes contents whole, or without outer blanks, unless they have something that is sought. Only
/// code that is known to do so counts: another template may still write them whole.
pub(super) fn keeps_whole(source: &str) -> bool {
    codes(source).all(|code| {
        code.is_balanced()
            && (!code.is_statement || is_known_statement(&code))
            && code.places().all(|at| is_harmless(&code, at))
    })
}

/// Whether the characters of this text are stripped from the ends.
fn is_stripped(code: &Code<'_>, at: usize) -> bool {
    code.is_argument_of(at, &["strip", "lstrip", "rstrip", "trim"])
}

fn is_operand(code: &Code<'_>, at: usize) -> bool {
    let before = at.wrapping_sub(1);
    let is_argument = matches!(code.sign(before), Some('(' | ',' | '=' | '[')) || code.word(before) == Some("in");
    is_argument || matches!(code.word(at + 1), Some("in" | "not"))
}

fn is_known_statement(code: &Code<'_>) -> bool {
    const KNOWN: &str = "break call continue do elif else endcall endfor endgeneration \
                         endif endmacro endset endwith for generation if macro set with";
    let first = code.keyword_place();
    let Some(statement) = code.word(first).filter(|word| is_in(KNOWN, word)) else { return false };
    let names_no_list = || code.places().all(|at| code.word(at).is_none_or(|word| !is_list_name(word)));
    match statement {
        "for" => loops_over_lists(code, first),
        "macro" => names_no_list(),
        // What the block gives to the caller.
        "call" => !code.is(first + 1, '('),
        "set" => {
            let end = code.places().find(|at| code.is(*at, '='));
            let mut target = first + 1..end.unwrap_or(code.places().end);
            let names_list = target.clone().any(|at| code.word(at).is_some_and(is_list_name));
            target.all(|at| !code.is(at, ',')) && (end.is_some() || !names_list)
        }
        _ => true,
    }
}

/// Whether no token here takes contents apart, or makes other characters of theirs.
fn is_harmless(code: &Code<'_>, at: usize) -> bool {
    if let Some(text) = code.text(at) {
        return !is_list_name(text) || !names_entry(code, at);
    }
    let before = at.wrapping_sub(1);
    match code.sign(at) {
        Some('|') => is_known_filter(code, at),
        Some('.') if code.is(at + 2, '(') => is_known_method(code, at + 1),
        Some('[') if follows_value(code, at) => is_known_subscript(code, at),
        // What is called has a name, and is no recursive loop.
        Some('(') => {
            !matches!(code.sign(before), Some(')' | ']' | '}'))
                && code.text(before).is_none()
                && code.word(before) != Some("loop")
        }
        Some('%') => code.word(at + 1).is_some_and(is_number),
        // Arguments may be the characters of a content.
        Some('*') => false,
        Some('=') => binds_only_lists(code, at),
        _ => code.word(at) != Some("recursive"),
    }
}

/// Whether this text may be the name of an entry that is made here.
fn names_entry(code: &Code<'_>, at: usize) -> bool {
    code.is(at + 1, ':') || (code.is(at + 1, ',') && !code.is_argument_of(at, &["get"]))
}

/// Whether a word is one of these.
fn is_in(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Whether a word is a whole number.
fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a bracket here belongs to the value before it, and makes no list.
fn follows_value(code: &Code<'_>, at: usize) -> bool {
    const OPERATORS: [&str; 8] = ["and", "elif", "else", "if", "in", "is", "not", "or"];
    let before = at.wrapping_sub(1);
    let is_value = code.word(before).is_some_and(|word| !OPERATORS.contains(&word));
    is_value || code.text(before).is_some() || matches!(code.sign(before), Some(')' | ']' | '}'))
}

fn is_known_filter(code: &Code<'_>, pipe: usize) -> bool {
    const KNOWN: &str = "count d default dictsort items length list rejectattr safe selectattr string tojson";
    let (name, before) = (pipe + 1, pipe.wrapping_sub(1));
    let is_of_list = || code.ends_call_of(before, '.', "split") || follows_list(code, pipe);
    match code.word(name) {
        Some("trim") => !code.is(name + 1, '(') || strips_known(code, name + 1),
        // Of a string they would give characters.
        Some("first" | "last") => is_of_list(),
        Some("join") => {
            let is_empty = !code.is(name + 1, '(')
                || code.is(name + 2, ')')
                || code.text(name + 2) == Some("") && code.is(name + 3, ')');
            is_empty || is_of_list() || code.ends_call_of(before, '|', "map")
        }
        Some("map") => {
            // A number would be the place of a character.
            let is_path = |text: &str| text.split('.').all(|part| !part.starts_with(|c: char| c.is_ascii_digit()));
            let attribute =
                code.is(name + 1, '(') && code.word(name + 2) == Some("attribute") && code.is(name + 3, '=');
            attribute && code.text(name + 4).is_some_and(is_path)
        }
        Some(word) => is_in(KNOWN, word),
        None => false,
    }
}

fn is_known_method(code: &Code<'_>, name: usize) -> bool {
    const KNOWN: &str = "append endswith get items keys startswith update values";
    match code.word(name) {
        Some("strip" | "lstrip" | "rstrip") => strips_known(code, name + 1),
        Some("split") => {
            let separator = code.text(name + 2).and_then(unescaped);
            let is_last = code.is(name + 3, ')')
                || (code.is(name + 3, ',') && code.word(name + 4).is_some_and(is_number) && code.is(name + 5, ')'));
            is_last && separator.is_some_and(|text| !is_name(text.trim_matches(is_space)))
        }
        Some(word) => is_in(KNOWN, word),
        None => false,
    }
}

/// Whether blanks are stripped, or characters that are sought.
fn strips_known(code: &Code<'_>, open: usize) -> bool {
    let is_text = || code.text(open + 1).is_some_and(|text| unescaped(text).is_some()) && code.is(open + 2, ')');
    code.is(open + 1, ')') || is_text()
}

fn is_known_subscript(code: &Code<'_>, open: usize) -> bool {
    let Some(close) = code.partner(open) else { return false };
    let is_key = |open: usize| code.text(open + 1).is_some() && code.is(open + 2, ']');
    // A character has no attributes.
    let is_attribute_taken = || {
        (code.is(close + 1, '.') && code.word(close + 2).is_some() && !code.is(close + 3, '('))
            || (code.is(close + 1, '[') && is_key(close + 1))
    };
    is_key(open)
        || follows_list(code, open)
        || code.ends_call_of(open.wrapping_sub(1), '.', "split")
        || is_attribute_taken()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sought_in_content_is_an_operand_and_no_name() {
        let source = r#"'a' {{ m.content.split('\n</think>')[-1] ~ '<|end|>' }}{% if "[T]" in c or c == '\'' or r == 'user' %}{# f('<x>') #}"#;
        assert_eq!(sought(source), ["'", "</think>", "[T]"]);
        assert_eq!(sought(r#"{{ c.rstrip('\n"a') ~ c|trim("]") ~ ('.' not in c) }}"#), ["\"", ".", "]", "a"]);
        assert_eq!(split_by(r"{{ c.split('\n</think>')[0].split('##', 1) }}"), ["</think>", "##"]);
    }

    #[test]
    fn what_becomes_an_edge_is_replaced() {
        let is_edge = |text: &str| text.contains('<');
        let source = "{{ c.replace('a', '<')|replace('b', 'x') ~ c.replace('c', d) }}{% filter replace(e, '<') %}";
        assert_eq!(replaced_by(source, &is_edge), ["a", "c", ""]);
    }

    #[test]
    fn what_keeps_contents_whole() {
        let whole = [
            "a[1:2] | upper {# {{ c | upper }} #}",
            "{{ m.content.split('</s>')[-1].strip('\\n') ~ c.split('</s>', 1)|last }}",
            "{% if loop.first and loop.index0 % 2 == 0 %}{{ messages[1:] }}{{ x['a'] ~ messages[0].content }}{% endif %}",
            "{%- set loop_messages = messages[1:] if x else messages -%}",
            "{% set tools = custom_tools or [] %}{% for t in (xml_tools or tools) if t['x'] in ['a', 'b'] %}{{ t|tojson }}",
            "{% for k, v in p.properties.items() %}{% for k, v in a.b|dictsort %}{% for i in range(3) %}",
            "{% for m in messages[::-1]|rejectattr('role', 'eq', 'system')|list %}{{ m.content|trim }}",
            "{% set ns = namespace(a='', has_tools=false) %}{% set ns.a = ns.a ~ c %}{{ m.get('tools', none) }}",
            "{% macro f(c, x=1) %}{{ c[0]['text'] ~ c[0].text }}{% endmacro %}{{ f(c) ~ c|join ~ c|map(attribute='x')|join(',') }}",
            "{{ {'a': 'b'}.get(c, c) ~ (messages|last).content ~ c.startswith('<') ~ m.tool_calls[0].id }}",
        ];
        for source in whole {
            assert!(keeps_whole(source), "{source}");
        }
    }

    #[test]
    fn what_may_take_contents_apart() {
        let apart = "c|upper; c | first; c|replace(' ', ''); c|list|first; c|join(' '); c|batch(2); c|wordwrap; c|reverse|join;
            c|select('in', 'ab'); c|map('upper'); c|map(attribute='0'); c|map(attribute='a.0'); c|trim(x); c|int;
            messages|map(attribute='content')|first|last; c|e; c|format(1); c|center; c|truncate(9); c.zfill(3); c.rjust(9); c|map('trim', chars='a'); c.lower(); c.replace(' ', '');
            c.split(); c.split(' '); c.split('a'); c.split(x); c.split('\\74'); c.rsplit('##'); c.splitlines(); c.partition('##');
            c.removeprefix('##'); c.strip(x); c.strip('a' ~ x); ''.join(c); '-'.join(c.split()); '%s' % c; c % x; f(*c); c * 2;
            c[0]; c[:9]; c[::-1]; (c)[0]; 'ab'[c]; messages[0].content[0]; messages[0]['content'][1:]; m['content'][1:];
            c[0].upper(); (c.split('##')[0])[0]; c.split('##')[0][0]; messages[0][c][1:]; split('##')[0]; loop(c);
            namespace(tools=c); dict(messages=c); dict([('messages', c)]); {'tools': c}.tools[0]; (f)(c)";
        let statements = [
            "for x in c",
            "for x in m.content",
            "for x in c|list",
            "for x in (messages if y else c)",
            "for x in [c]",
            "for x in messages[0]",
            "for x in messages[0].content",
            "for x in tools ~ c",
            "for tools in x.items()",
            "for x in messages recursive",
            "for x in messages|map(attribute='content')",
            "set messages = c",
            "set ns.tools = c",
            "set tools = messages[0]",
            "set tools = m.get('tools', c)",
            "set a, b = c",
            "set (a, b) = c",
            "set tools",
            "set x | upper",
            "with tools = c",
            "with (a, b) = c",
            "macro f(tools)",
            "call(tools) f()",
            "filter upper",
            "autoescape true",
            "raw",
        ];
        let expressions = apart.split(';').map(|code| format!("{{{{ {} }}}}", code.trim()));
        for source in expressions.chain(statements.iter().map(|code| format!("{{%- {code} -%}}"))) {
            assert!(!keeps_whole(&source), "{source}");
        }
    }
}
