//! The names under which a template has lists, never the characters of a content.

use std::ops::Range;

use crate::dialect::chat_template::code::Code;

/// Whether a variable or key with this name is a list, as long as nothing else is bound to it.
pub(super) fn is_list_name(name: &str) -> bool {
    matches!(name, "items" | "properties")
        || ["messages", "tools", "tool_calls", "documents"].iter().any(|end| name.ends_with(end))
}

/// Whether what stands before this place has the name of a list.
pub(super) fn follows_list(code: &Code<'_>, at: usize) -> bool {
    let before = at.wrapping_sub(1);
    let key = || code.is(before, ']') && code.partner(before) == at.checked_sub(3);
    let name = code.word(before).or_else(|| code.text(at.wrapping_sub(2)).filter(|_| key()));
    name.is_some_and(is_list_name)
}

/// Whether a `for` goes over lists, and its variables are none.
pub(super) fn loops_over_lists(code: &Code<'_>, keyword: usize) -> bool {
    let Some(start) = code.places().find(|at| code.word(*at) == Some("in")) else { return false };
    let mut targets = (keyword + 1..start).filter_map(|at| code.word(at));
    let end = end_of(code, start + 1, |at| code.word(at) == Some("if"));
    targets.all(|target| !is_list_name(target)) && is_list(code, start + 1..end)
}

/// Whether the `=` here compares, or gives a value to another name, or a list to the name of a list.
pub(super) fn binds_only_lists(code: &Code<'_>, equals: usize) -> bool {
    let before = equals.wrapping_sub(1);
    if !code.is(equals + 1, '=') && matches!(code.sign(before), Some(')' | ']')) {
        // Several names, each of which would get a character.
        return false;
    }
    if code.is(equals + 1, '=') || !code.word(before).is_some_and(is_list_name) {
        return true;
    }
    is_list(code, equals + 1..end_of(code, equals + 1, |at| matches!(code.sign(at), Some(',' | ')' | ']' | '}'))))
}

/// The first place from here on, outside brackets that begin there, at which this holds, or the end.
fn end_of(code: &Code<'_>, mut at: usize, is_end: impl Fn(usize) -> bool) -> usize {
    while at < code.places().end && !is_end(at) {
        at = after(code, at);
    }
    at
}

/// Whether every value here is a list, or none, or stands in the template.
fn is_list(code: &Code<'_>, places: Range<usize>) -> bool {
    const NO_VALUES: [&str; 9] = ["False", "None", "True", "and", "else", "false", "none", "or", "true"];
    let mut at = places.start;
    while at < places.end {
        if code.word(at) == Some("if") {
            // What is asked is not given.
            at = end_of(code, at, |at| code.word(at) == Some("else"));
            continue;
        }
        let is_value = code.word(at).is_some_and(|word| !NO_VALUES.contains(&word));
        if !is_value {
            // Nothing is taken from the template's own texts, and no list is made of values.
            if code.is(at, '.') || code.is(at, '|') || (code.is(at, '[') && !code.is(at + 1, ']')) {
                return false;
            }
            at += 1;
            continue;
        }
        let (is_list, end) = chain(code, at);
        if !is_list {
            return false;
        }
        at = end;
    }
    true
}

/// Whether a name with all that is taken from it is a list, and where that ends.
fn chain(code: &Code<'_>, start: usize) -> (bool, usize) {
    let name = code.word(start).unwrap_or_default();
    let (mut is_list, mut at) = (is_list_name(name), start + 1);
    if code.is(at, '(') {
        is_list = name == "range";
        at = after(code, at);
    }
    loop {
        match (code.sign(at), code.word(at + 1)) {
            (Some('.'), Some(method)) if code.is(at + 2, '(') => {
                // Only a mapping has these.
                is_list = matches!(method, "items" | "keys" | "values");
                at = after(code, at + 2);
            }
            (Some('.'), Some(name)) => (is_list, at) = (is_list_name(name), at + 2),
            (Some('|'), Some(filter)) => {
                is_list = match filter {
                    "dictsort" | "items" => true,
                    "list" | "rejectattr" | "selectattr" => is_list,
                    _ => false,
                };
                at = if code.is(at + 2, '(') { after(code, at + 2) } else { at + 2 };
            }
            (Some('['), _) => {
                let close = code.partner(at).unwrap_or(at);
                let is_slice = (at..close).any(|inside| code.is(inside, ':'));
                is_list = match code.text(at + 1).filter(|_| close == at + 2) {
                    Some(key) => is_list_name(key),
                    None => is_list && is_slice,
                };
                at = close + 1;
            }
            _ => return (is_list, at),
        }
    }
}

/// The place after this token, and after all that stands in brackets if it opens them.
fn after(code: &Code<'_>, at: usize) -> usize {
    code.partner(at).map_or(at, |partner| partner.max(at)) + 1
}
