//! What a template looks for in contents that its other texts do not tell: names, and what its code puts together.

use std::collections::BTreeSet;

use crate::conversation::is_space;
use crate::dialect::chat_template::code::{Code, codes, unescaped};
use crate::dialect::chat_template::contents::is_number;
use crate::dialect::chat_template::lists::is_list_name;

/// Methods and filters that look for their arguments in a text.
const SEEKING: [&str; 18] = [
    "count",
    "endswith",
    "find",
    "index",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "startswith",
    "strip",
    "trim",
];

/// Methods and filters that make other letters of a text.
pub(super) const CHANGES_CASE: [&str; 6] = ["capitalize", "casefold", "lower", "swapcase", "title", "upper"];

/// The names that a template may look for in contents, without the blanks around them: not those of roles and keys.
pub(super) fn names(source: &str) -> Vec<String> {
    let elements = elements(source);
    let mut names = Vec::new();
    for code in codes(source) {
        let is_sought = |at: usize| {
            let looks = keyword_in(&code, at + 1).is_some_and(|keyword| !is_of_keys(&code, keyword + 1, &elements));
            looks || code.places().any(|open| is_seeking(&code, open) && (open..end(&code, open)).contains(&at))
        };
        names.extend(code.texts().filter(|(at, _)| is_sought(*at)).map(|(_, text)| {
            let text = unescaped(text).unwrap_or_else(|| text.to_owned());
            text.trim_matches(is_space).to_owned()
        }));
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Whether all that a template looks for in contents, and all numbers that it compares with, stand in its code.
pub(super) fn are_told(source: &str) -> bool {
    let elements = elements(source);
    codes(source).all(|code| code.places().all(|at| is_told(&code, at, &elements)))
}

fn is_told(code: &Code<'_>, at: usize, elements: &BTreeSet<&str>) -> bool {
    let is_odd_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && !is_number(word);
    let is_worked_out = matches!(code.sign(at), Some('*' | '/')) || code.word(at).is_some_and(is_odd_number);
    !(is_worked_out || seeks_other(code, at) || compares_joined(code, at) || is_other_in_text(code, at, elements))
}

/// Whether a call here looks in a text for what is no text of the code.
fn seeks_other(code: &Code<'_>, open: usize) -> bool {
    let is_of_code = |at: usize| code.text(at).is_some() && !is_joined(code, at + 1);
    let is_told = || code.is(open + 1, ')') || is_of_code(open + 1) || code.is(open + 1, '(') && is_of_code(open + 2);
    is_seeking(code, open) && !is_told()
}

/// Whether a text here is joined with something, and the whole is compared with a text or looked for in it.
fn compares_joined(code: &Code<'_>, at: usize) -> bool {
    let is_comparison = |at: usize| code.is(at.wrapping_add(1), '=') && matches!(code.sign(at), Some('=' | '!'));
    let is_compared = keyword_in(code, at + 1).is_some() || is_comparison(at + 1);
    code.text(at).is_some()
        && (is_joined(code, at.wrapping_sub(1)) && is_compared
            || is_joined(code, at + 1) && is_comparison(at.wrapping_sub(2)))
}

fn is_joined(code: &Code<'_>, at: usize) -> bool {
    matches!(code.sign(at), Some('~' | '+'))
}

/// Whether an `in` here looks for what may be anything, in what may be a text.
fn is_other_in_text(code: &Code<'_>, at: usize, elements: &BTreeSet<&str>) -> bool {
    let first = code.keyword_place();
    let is_of_loop = || code.word(first) == Some("for") && (0..at).all(|before| code.word(before) != Some("in"));
    if code.word(at) != Some("in") || is_of_loop() {
        return false;
    }
    let is_list = matches!(code.sign(at + 1), Some('[' | '(' | '{')) || chain(code, at + 1).1.is_some_and(is_list_name);
    let end = if code.word(at.wrapping_sub(1)) == Some("not") { at.wrapping_sub(1) } else { at };
    let is_told = || {
        let start = start_of_chain(code, end);
        code.text(end.wrapping_sub(1)).is_some() || is_element(chain(code, start), elements)
    };
    !is_list && !is_told()
}

/// Where the name begins that stands before this place, with all that is taken from it.
fn start_of_chain(code: &Code<'_>, end: usize) -> usize {
    let mut at = end.wrapping_sub(1);
    loop {
        at = match code.sign(at) {
            Some(']') => code.partner(at).unwrap_or(at).wrapping_sub(1),
            _ if code.is(at.wrapping_sub(1), '.') => at.wrapping_sub(2),
            _ => return at,
        }
    }
}

/// Where the `in` is, if here an operand ends that is looked for.
fn keyword_in(code: &Code<'_>, at: usize) -> Option<usize> {
    match (code.word(at), code.word(at + 1)) {
        (Some("in"), _) => Some(at),
        (Some("not"), Some("in")) => Some(at + 1),
        _ => None,
    }
}

/// Whether a bracket here opens the arguments of what looks for them in a text.
fn is_seeking(code: &Code<'_>, open: usize) -> bool {
    code.is(open, '(') && code.word(open.wrapping_sub(1)).is_some_and(|name| SEEKING.contains(&name))
}

fn end(code: &Code<'_>, open: usize) -> usize {
    code.partner(open).unwrap_or(code.places().end)
}

/// Whether what stands here has keys, or is of no plain chat.
fn is_of_keys(code: &Code<'_>, at: usize, elements: &BTreeSet<&str>) -> bool {
    code.is(at, '[') || code.is(at, '(') || is_element(chain(code, at), elements)
}

/// Whether this is an element of a list, or taken from one, but no content.
fn is_element((first, last): (Option<&str>, Option<&str>), elements: &BTreeSet<&str>) -> bool {
    first.is_some_and(|name| elements.contains(name) || is_list_name(name)) && last != Some("content")
}

/// The first name of what stands here, and the last one that is taken from it.
fn chain<'t>(code: &Code<'t>, at: usize) -> (Option<&'t str>, Option<&'t str>) {
    let first = code.word(at);
    let (mut last, mut at) = (first, at + 1);
    loop {
        match code.sign(at) {
            Some('.') if !code.is(at + 2, '(') => (last, at) = (code.word(at + 1), at + 2),
            Some('[') => {
                last = code.text(at + 1).or(last);
                at = end(code, at) + 1;
            }
            _ => return (first, last),
        }
    }
}

/// The names under which loops have elements of lists, and nothing else gives a value to.
fn elements(source: &str) -> BTreeSet<&str> {
    let (mut elements, mut others) = (BTreeSet::new(), BTreeSet::new());
    for code in codes(source) {
        let first = code.keyword_place();
        let keyword = |word: &str| code.places().find(|at| code.word(*at) == Some(word));
        match (code.is_statement, code.word(first)) {
            (true, Some("for")) => {
                let start = keyword("in").unwrap_or(code.places().end);
                let targets = (first + 1..start).filter_map(|at| code.word(at));
                // What is called may give the lines of a content.
                let is_called = (start..code.places().end).any(|at| code.is(at, '('));
                if is_called { others.extend(targets) } else { elements.extend(targets) }
            }
            (true, Some("set" | "with" | "macro" | "call")) => {
                let is_bound = |at: &usize| code.is(at + 1, '=') || code.is(at + 1, ',') || code.is(at + 1, ')');
                others.extend(code.places().skip(first + 1).filter(is_bound).filter_map(|at| code.word(at)));
            }
            _ => {}
        }
    }
    elements.difference(&others).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_looked_for_are_no_keys_and_no_roles() {
        for (source, expected) in [
            ("{% for m in messages %}{{ 'a' in m ~ 'b' in m.function ~ 'c' in m['tool_calls'] }}{% endfor %}", vec![]),
            ("{% for m in messages %}{{ 'a' in m.content ~ 'b' not in m['content'] }}{% endfor %}", vec!["a", "b"]),
            ("{% for m in messages %}{% set c = m.content %}{{ 'a' in c ~ 'user' == m.role }}{% endfor %}", vec!["a"]),
            ("{% for l in c.split('a') %}{{ 'b' in l ~ 'c' in ['c'] }}{% endfor %}", vec!["a", "b"]),
            ("{% for m in messages %}{% set m = m.content %}{{ 'a' in m }}{% endfor %}", vec!["a"]),
            ("{% macro f(m) %}{{ 'a' in m ~ 'b' in tools[0] }}{% endmacro %}", vec!["a"]),
            (
                "{{ c.startswith(('a', ' b ')) ~ c|replace('c', '') ~ m.get('d') ~ c.count('e') }}",
                vec!["a", "b", "c", "e"],
            ),
        ] {
            assert_eq!(names(source), expected, "{source}");
        }
    }

    #[test]
    fn what_is_not_told_is_worked_out() {
        let told = "c.split('a')[0]; c.strip(); c.startswith(('a', 'b')); 'a' in c; 'a' ~ c; c|length > 20; m.id in tool_calls; x in [c];
            'a' ~ ('b' if 'c' in c); c|trim; c == 'a'";
        let worked_out = "a * 2; a / 2; 2e4; 20_000; 0x10; c.split(x); c.startswith('a' ~ x); x in c; x not in m.content; 'a' ~ 'b' in c;
            c == 'a' ~ 'b'; c != 'a' + x; x ~ 'b' == c; (a.b)|string in c";
        for (codes, expected) in [(told, true), (worked_out, false)] {
            for code in codes.split(';').map(str::trim) {
                assert_eq!(are_told(&format!("{{{{ {code} }}}}")), expected, "{code}");
            }
        }
        assert!(are_told("{% for x in c if x.name in y %}{{ x.content ~ loop.index0 }}{% endfor %}"));
        assert!(!are_told("{% for m in messages if m.content in y %}{% endfor %}"));
    }
}
