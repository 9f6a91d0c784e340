//! Blocks of a template that a loop cannot be left from within.

use crate::dialect::chat_template::code::Code;
use crate::dialect::chat_template::source::{inner, tags};

/// A `{% continue %}` or `{% break %}` within a block that is within the loop, where minijinja loses what follows, or fails:
/// the statement and the block. In Jinja2 some of these are errors, too.
pub(super) fn left_from_within(source: &str) -> Option<(&str, &str)> {
    let mut open: Vec<&str> = Vec::new();
    for tag in tags(source).filter(|tag| tag.starts_with("{%")) {
        let statement = inner(tag);
        let word = statement.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        match word {
            "for" | "with" | "filter" | "call" | "macro" | "generation" | "autoescape" => open.push(word),
            "set" if is_block(tag) => open.push(word),
            "continue" | "break" => match open.last() {
                Some(block) if *block != "for" && open.contains(&"for") => return Some((word, block)),
                _ => {}
            },
            _ => {
                let ended = word.strip_prefix("end").and_then(|block| open.iter().rposition(|open| *open == block));
                open.truncate(ended.unwrap_or(open.len()));
            }
        }
    }
    None
}

/// Whether a `set` takes what follows it up to its `endset`.
fn is_block(tag: &str) -> bool {
    let code = Code::of(tag);
    let is_within = |at: usize| code.places().any(|open| open < at && code.partner(open).is_some_and(|end| end > at));
    !code.places().any(|at| code.is(at, '=') && !is_within(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_that_are_left_from_within_a_block() {
        let cases = [
            ("{% for x in y %}{% if x %}{% continue %}{% endif %}{% with a = 1 %}{% endwith %}{% endfor %}", None),
            ("{% for x in y %}{% with a = 1 %}{%- break -%}{% endwith %}{% endfor %}", Some(("break", "with"))),
            (
                "{% for x in y %}{% filter upper %}{% continue %}{% endfilter %}{% endfor %}",
                Some(("continue", "filter")),
            ),
            ("{% for x in y %}{% set a %}{% continue %}{% endset %}{% endfor %}", Some(("continue", "set"))),
            ("{% for x in y %}{% set a = f(b=1) %}{% continue %}{% endfor %}", None),
            ("{% with a = 1 %}{% for x in y %}{% continue %}{% endfor %}{% endwith %}", None),
            ("{% for x in y %}{% set a | upper(b=1) %}x{% endset %}{% continue %}{% endfor %}", None),
        ];
        for (source, expected) in cases {
            assert_eq!(left_from_within(source), expected, "{source}");
        }
    }
}
