//! The values of `{% with %}`, which in Jinja2 do not see the variables that it sets.

use std::borrow::Cow;

use crate::dialect::chat_template::code::Code;
use crate::dialect::chat_template::edits::Edits;

/// The tag of a `{% with %}` with all values before the variables, if one of them names a variable before it.
pub(super) fn with_values_first(tag: &str) -> Cow<'_, str> {
    let code = Code::of(tag);
    let start = code.keyword_place();
    if code.word(start) != Some("with") {
        return tag.into();
    }
    let end = code.places().end - usize::from(matches!(code.sign(code.places().end - 1), Some('-' | '+')));
    let parts = code.parts(start, end);
    let (mut names, mut sees_one) = (Vec::new(), false);
    for part in &parts {
        let Some(name) = code.word(part.start).filter(|_| code.is(part.start + 1, '=')) else { return tag.into() };
        sees_one |= part.clone().skip(2).any(|at| code.word(at).is_some_and(|word| names.contains(&word)));
        names.push(name);
    }
    let mut edits = Edits::default();
    if let Some(last) = parts.last().filter(|_| sees_one) {
        for (part, name) in parts.iter().zip(&names) {
            edits.replace(code.span(part.start), format!("{VALUE}{name}"));
        }
        let variables: String = names.iter().map(|name| format!(", {name} = {VALUE}{name}")).collect();
        edits.insert(code.span(last.end - 1).end, &variables);
    }
    edits.apply(tag)
}

/// What the name of a variable begins with that has a value before the variable of its own name has it.
const VALUE: &str = "metatok_value_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_first_where_one_names_a_variable_of_the_same_tag() {
        let cases = [
            ("{% with a = 1, b = c %}", "{% with a = 1, b = c %}"),
            ("{% set with = 1, b = with %}", "{% set with = 1, b = with %}"),
            ("{% with %}", "{% with %}"),
            (
                "{%- with a = f(1, 2), b = [a, 'x'] -%}",
                "{%- with metatok_value_a = f(1, 2), metatok_value_b = [a, 'x'], a = metatok_value_a, b = metatok_value_b -%}",
            ),
        ];
        for (tag, expected) in cases {
            assert_eq!(with_values_first(tag), expected);
        }
    }
}
