//! Blocks of a template that have a scope of their own in Jinja2, and those that a loop cannot be left from within.

use crate::dialect::chat_template::code::Code;
use crate::dialect::chat_template::source::{inner, tags};

/// The keywords of blocks that always have an end. A `set` has one only as a block.
pub(super) const WITH_END: [&str; 8] = ["autoescape", "call", "filter", "for", "generation", "if", "macro", "with"];

/// A block from one statement to another, which are told by their places among all statements. The `else` of a loop is one.
pub(super) struct Block<'t> {
    pub(super) name: &'t str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it sets a variable.
    sets: bool,
    /// The statement that leaves a loop around it from within.
    left_by: Option<&'t str>,
}

impl Block<'_> {
    /// Whether what it sets is forgotten at its end by Jinja2 alone.
    pub(super) fn lacks_scope(&self) -> bool {
        match self.name {
            "filter" | "set" => true,
            "else" => self.sets,
            _ => false,
        }
    }
}

/// The blocks that have an end, in the order of their ends.
pub(super) fn blocks<'t>(statements: impl Iterator<Item = &'t str>) -> Vec<Block<'t>> {
    let (mut ended, mut open): (Vec<Block<'t>>, Vec<Block<'t>>) = (Vec::new(), Vec::new());
    for (at, tag) in statements.enumerate() {
        let statement = inner(tag);
        let name = statement.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let block = |name| Block { name, start: at, end: at, sets: false, left_by: None };
        if matches!(name, "macro" | "set") {
            open.iter_mut().for_each(|block| block.sets = true);
        }
        match name {
            name if WITH_END.contains(&name) => open.push(block(name)),
            "set" if is_block(tag) => open.push(block(name)),
            "else" if open.last().is_some_and(|open| open.name == "for") => {
                ended.extend(open.pop().map(|of| Block { end: at, ..of }));
                open.push(block(name));
            }
            "continue" | "break" => leave(&mut open, name),
            _ => {
                let Some(of) = name.strip_prefix("end") else { continue };
                let is_of = |open: &Block<'_>| open.name == of || of == "for" && open.name == "else";
                let Some(start) = open.iter().rposition(is_of) else { continue };
                ended.extend(open.drain(start..).take(1).map(|block| Block { end: at, ..block }));
            }
        }
    }
    ended
}

/// Notes the blocks between a statement and the loop that it leaves.
fn leave<'t>(open: &mut [Block<'t>], statement: &'t str) {
    let Some(of) = open.iter().rposition(|block| block.name == "for") else { return };
    open[of + 1..].iter_mut().for_each(|block| block.left_by = Some(statement));
}

/// A `{% continue %}` or `{% break %}` within a block that is within the loop, where minijinja loses what follows, or fails:
/// the statement and the block. In Jinja2 some of these are errors, too.
pub(super) fn left_from_within(source: &str) -> Option<(&str, &str)> {
    let blocks = blocks(tags(source).filter(|tag| tag.starts_with("{%")));
    let keeps_scope = |block: &&Block<'_>| block.lacks_scope() || !matches!(block.name, "else" | "if");
    blocks.iter().filter(keeps_scope).find_map(|block| Some((block.left_by?, block.name)))
}

/// Whether a `set` takes what follows it up to its `endset`.
pub(super) fn is_block(tag: &str) -> bool {
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
            (
                "{% for x in y %}{% for z in x %}{% else %}{% if z %}{% break %}{% endif %}{% endfor %}{% endfor %}",
                None,
            ),
            (
                "{% for x in y %}{% for z in x %}{% else %}{% break %}{% set a = 1 %}{% endfor %}{% endfor %}",
                Some(("break", "else")),
            ),
            (
                "{% for x in y %}{% with a = 1 %}{% for z in x %}{% else %}{% break %}{% endfor %}{% endwith %}{% endfor %}",
                Some(("break", "with")),
            ),
        ];
        for (source, expected) in cases {
            assert_eq!(left_from_within(source), expected, "{source}");
        }
    }
}
