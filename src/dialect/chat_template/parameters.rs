//! Parameters of macros with defaults, which in Jinja2 are for arguments that are missing, not for those that are undefined,
//! and may name the parameters before.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, Value};

use crate::dialect::chat_template::code::{Code, codes};
use crate::dialect::chat_template::edits::Edits;

/// What a call block gives to the macro that it calls.
pub(super) const CALLER: &str = "caller";
/// The filter of an argument: what is undefined is given.
pub(super) const ARGUMENT: &str = "metatok_argument";
/// The filter of a parameter with a default: what was given.
pub(super) const GIVEN: &str = "metatok_given";

/// The names of a template's macros that have a parameter with a default, without those that take their caller by name.
pub(super) fn macros_with_defaults(source: &str) -> BTreeSet<&str> {
    if !source.contains("macro") {
        return BTreeSet::new();
    }
    let declared: Vec<_> = codes(source).filter_map(|code| Declaration::of(&code)).collect();
    let has_any = |is: fn(&Parameter<'_>) -> bool, name: &str| {
        declared.iter().any(|other| other.name == name && other.parameters.iter().any(is))
    };
    let names = declared.iter().map(|declared| declared.name);
    names
        .filter(|name| has_any(|one| one.default.is_some(), name) && !has_any(|one| one.name == CALLER, name))
        .collect()
}

/// The tag that declares a macro.
struct Declaration<'t> {
    name: &'t str,
    parameters: Vec<Parameter<'t>>,
}

struct Parameter<'t> {
    name: &'t str,
    /// Where its default is in the tag, from the sign before it.
    default: Option<Range<usize>>,
}

impl<'t> Declaration<'t> {
    fn of(code: &Code<'t>) -> Option<Self> {
        let at = code.keyword_place();
        let is_macro = code.is_statement && code.word(at) == Some("macro") && code.is(at + 2, '(');
        let (name, end) = (code.word(at + 1).filter(|_| is_macro)?, code.partner(at + 2)?);
        let parameter = |part: Range<usize>| {
            let default = code.is(part.start + 1, '=').then(|| code.start(part.start + 1)..code.span(part.end - 1).end);
            Some(Parameter { name: code.word(part.start)?, default })
        };
        let parameters = code.parts(at + 2, end).into_iter().map(parameter).collect::<Option<_>>()?;
        Some(Self { name, parameters })
    }
}

/// The tag of one of these macros without its defaults, and the statements for its body that set the parameters.
pub(super) fn declaration<'t>(tag: &'t str, macros: &BTreeSet<&str>) -> Option<(Cow<'t, str>, Vec<String>)> {
    let declared = Declaration::of(&Code::of(tag)).filter(|declared| macros.contains(declared.name))?;
    let (mut edits, mut statements) = (Edits::default(), Vec::new());
    for Parameter { name, default } in declared.parameters {
        let otherwise = default.as_ref().map(|default| tag[default.start + 1..default.end].trim());
        let otherwise = otherwise.map_or_else(String::new, |value| format!("({value}) if {name} is undefined else "));
        statements.push(format!("set {name} = {otherwise}{name}|{GIVEN}"));
        default.into_iter().for_each(|default| edits.replace(default, ""));
    }
    Some((edits.apply(tag), statements))
}

/// The tag with a filter for each argument of a call of one of these macros.
pub(super) fn with_given_arguments<'t>(tag: &'t str, macros: &BTreeSet<&str>) -> Cow<'t, str> {
    if !macros.iter().any(|name| tag.contains(name)) {
        return tag.into();
    }
    let (code, mut edits) = (Code::of(tag), Edits::default());
    for at in code.places().filter(|at| code.word(*at).is_some_and(|name| macros.contains(name))) {
        let is_other = at.checked_sub(1).is_some_and(|before| {
            matches!(code.sign(before), Some('.' | '|')) || matches!(code.word(before), Some("macro" | "is"))
        });
        let Some(end) = code.partner(at + 1).filter(|_| code.is(at + 1, '(') && !is_other) else { continue };
        for part in code.parts(at + 1, end) {
            let is_named =
                code.word(part.start).is_some() && code.is(part.start + 1, '=') && !code.is(part.start + 2, '=');
            let start = if is_named { part.start + 2 } else { part.start };
            if start < part.end && !code.is(start, '*') {
                edits.insert(code.start(start), "(");
                edits.insert(code.span(part.end - 1).end, &format!(")|{ARGUMENT}"));
            }
        }
    }
    edits.apply(tag)
}

/// An argument that is undefined, on its way to a macro.
#[derive(Debug)]
struct Undefined;

impl Object for Undefined {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn render(self: &Arc<Self>, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

pub(super) fn argument(value: Value) -> Value {
    if value.is_undefined() { Value::from_object(Undefined) } else { value }
}

pub(super) fn given(value: Value) -> Value {
    if value.downcast_object_ref::<Undefined>().is_some() { Value::UNDEFINED } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_set_in_the_body() {
        let cases = [
            ("{% macro g(a, b) %}", None),
            ("{% macro g(a, caller=none) %}", None),
            // Also of another macro of that name.
            ("{% macro f(a) %}", Some(("{% macro f(a) %}", vec!["set a = a|metatok_given"]))),
            (
                "{%- macro f(a, b=g(1, [2]), c = a ~ ',') -%}",
                Some((
                    "{%- macro f(a, b, c ) -%}",
                    vec![
                        "set a = a|metatok_given",
                        "set b = (g(1, [2])) if b is undefined else b|metatok_given",
                        "set c = (a ~ ',') if c is undefined else c|metatok_given",
                    ],
                )),
            ),
        ];
        let source: String = cases.iter().map(|(tag, _)| *tag).collect();
        let macros = macros_with_defaults(&source);
        for (tag, expected) in cases {
            let found = declaration(tag, &macros);
            let found = found.as_ref().map(|(tag, sets)| (&**tag, sets.iter().map(String::as_str).collect::<Vec<_>>()));
            assert_eq!(found, expected, "{tag}");
        }
    }

    #[test]
    fn arguments_are_given_to_macros_with_defaults() {
        let macros = macros_with_defaults("{% macro f(a, b=1) %}{% endmacro %}{% macro g(a) %}{% endmacro %}");
        let cases = [
            ("{{ f() ~ g(x) ~ x.f(y) ~ f }}", "{{ f() ~ g(x) ~ x.f(y) ~ f }}"),
            ("{{ f(x.y, b = z or 1) }}", "{{ f((x.y)|metatok_argument, b = (z or 1)|metatok_argument) }}"),
            ("{% call f(f(x), *y) %}", "{% call f((f((x)|metatok_argument))|metatok_argument, *y) %}"),
            (
                "{{ f(x == y, {'a': 1, 'b': ')'}) }}",
                "{{ f((x == y)|metatok_argument, ({'a': 1, 'b': ')'})|metatok_argument) }}",
            ),
        ];
        for (tag, expected) in cases {
            assert_eq!(with_given_arguments(tag, &macros), expected);
        }
    }
}
