//! Attributes with the name of a dict's method: in Jinja2 `d.items` is the method, even where the dict has such a key, and
//! `d['items']` is the key's value.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{DynObject, Enumerator, Object, ObjectRepr, Value, ValueKind};
use minijinja::{Error, State};

use crate::dialect::chat_template::code::Code;
use crate::dialect::chat_template::edits::Edits;
use crate::dialect::chat_template::marks::without_marks;
use crate::dialect::chat_template::methods::of_dict;
use crate::dialect::chat_template::python_repr::is_namespace;

/// The methods of a dict in Python.
const METHODS: [&str; 11] =
    ["clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"];

/// Those that change a dict, which transformers hides from templates.
const HIDDEN: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];

/// The filter that such an attribute goes through.
pub(super) const ATTRIBUTE: &str = "metatok_attribute";

/// The tag with a filter in place of each attribute that has the name of a method and is neither called nor set.
pub(super) fn through_filter(tag: &str) -> Cow<'_, str> {
    let has = |name: &str| tag.match_indices(name).any(|(at, _)| tag[..at].trim_end().ends_with('.'));
    if !METHODS.iter().any(|name| has(name)) {
        return tag.into();
    }
    let (code, mut edits) = (Code::of(tag), Edits::default());
    for dot in code.places().filter(|at| code.is(*at, '.')) {
        let Some(name) = code.word(dot + 1).filter(|name| METHODS.contains(name)) else { continue };
        let is_set = code.is(dot + 2, '=') && !code.is(dot + 3, '=');
        let Some(operand) = operand_before(&code, dot).filter(|_| !code.is(dot + 2, '(') && !is_set) else { continue };
        edits.insert(code.start(operand), "(");
        edits.replace(code.start(dot)..code.span(dot + 1).end, format!("|{ATTRIBUTE}(\"{name}\"))"));
    }
    edits.apply(tag)
}

/// Words before a bracket that do not call what is in it.
const KEYWORDS: [&str; 9] = ["and", "elif", "else", "if", "in", "is", "not", "or", "set"];

/// Where the operand begins whose attribute follows this dot.
fn operand_before(code: &Code<'_>, dot: usize) -> Option<usize> {
    let mut at = dot.checked_sub(1)?;
    loop {
        if matches!(code.sign(at), Some(')' | ']' | '}')) {
            let open = code.partner(at)?;
            let Some(before) = open.checked_sub(1) else { return Some(open) };
            let is_operand = code.word(before).is_some_and(|word| !KEYWORDS.contains(&word))
                || code.text(before).is_some()
                || matches!(code.sign(before), Some(')' | ']'));
            if code.is(open, '{') || !is_operand {
                return Some(open);
            }
            at = before;
        } else if at > 1 && code.is(at - 1, '.') {
            at -= 2;
        } else {
            return Some(at);
        }
    }
}

/// The attribute with the name of a dict's method.
pub(super) fn attribute(value: &Value, name: &str) -> Result<Value, Error> {
    match is_dict(value) {
        true if HIDDEN.contains(&name) => Ok(Value::UNDEFINED),
        true => Ok(Value::from_object(Method { of: value.clone(), name: name.to_owned() })),
        false => value.get_attr(name),
    }
}

/// The filter `attr`, which does not look for items: a dict has nothing but its methods.
pub(super) fn attr(value: &Value, name: &str) -> Result<Value, Error> {
    let name = &*without_marks(name);
    if is_dict(value) && !METHODS.contains(&name) { Ok(Value::UNDEFINED) } else { attribute(value, name) }
}

/// Whether a value has items, not attributes, as namespaces and `loop` have.
fn is_dict(value: &Value) -> bool {
    let is_loop = |object: &DynObject| object.type_name().ends_with("::Loop");
    value.kind() == ValueKind::Map && !is_namespace(value) && !value.as_object().is_some_and(is_loop)
}

/// A method of a dict that is not called.
#[derive(Debug)]
struct Method {
    of: Value,
    name: String,
}

impl Object for Method {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        of_dict(state, &self.of, &self.name, args)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<built-in method {} of dict object>", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_go_through_a_filter_unless_they_are_called_or_set() {
        let cases = [
            ("{{ d.items }}", r#"{{ (d|metatok_attribute("items")) }}"#),
            ("{{ f(a.b[0].values, 1) }}", r#"{{ f((a.b[0]|metatok_attribute("values")), 1) }}"#),
            ("{% if not (a or b).get is defined %}", r#"{% if not ((a or b)|metatok_attribute("get")) is defined %}"#),
            (
                "{% for x in d.items.keys %}",
                r#"{% for x in ((d|metatok_attribute("items"))|metatok_attribute("keys")) %}"#,
            ),
            ("{{ {'items': 1}.items == 1 }}", r#"{{ ({'items': 1}|metatok_attribute("items")) == 1 }}"#),
            ("{{ d.items() }}{{ d['items'] }}", "{{ d.items() }}{{ d['items'] }}"),
            ("{% set ns.items = 1 %}", "{% set ns.items = 1 %}"),
            ("{{ 'd.items' }}", "{{ 'd.items' }}"),
        ];
        for (tag, expected) in cases {
            assert_eq!(through_filter(tag), expected);
        }
    }
}
