//! Variables that a block of a template reads before the template sets them. In Jinja2 they are the template's own from its
//! beginning, so that the block does not see those of the conversation.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::dialect::chat_template::blocks::{WITH_END, is_block};
use crate::dialect::chat_template::code::Code;

/// Those that the outermost scope sets in any case and reads nowhere before, and that a block within it names before.
pub(super) fn unset<'t>(tags: impl Iterator<Item = &'t str>) -> BTreeSet<&'t str> {
    let (mut outer, mut within, mut unset) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    // The keywords of open blocks, each with the variables that its end sets.
    let mut open: Vec<(&'t str, Vec<&'t str>)> = Vec::new();
    for tag in tags {
        let statement = Statement::of(tag);
        let ended = if statement.keyword.starts_with("end") { open.pop() } else { None };
        let is_outermost = open.iter().all(|(keyword, _)| *keyword == "if");
        match is_outermost && statement.keyword != "macro" {
            true => outer.extend(statement.reads),
            false => within.extend(statement.reads),
        }
        let sets = match (statement.opens, ended) {
            (true, _) => {
                open.push((statement.keyword, statement.sets));
                continue;
            }
            (false, Some((_, sets))) => sets,
            (false, None) => statement.sets,
        };
        for name in sets.into_iter().filter(|_| is_outermost) {
            // One that is set in some cases is the conversation's in others.
            if outer.insert(name) && open.is_empty() && within.contains(name) {
                unset.insert(name);
            }
        }
    }
    unset
}

/// What the tag of a statement or expression does with variables.
struct Statement<'t> {
    /// Empty for an expression.
    keyword: &'t str,
    /// Whether a block begins here.
    opens: bool,
    /// The names that it reads, and more words.
    reads: Vec<&'t str>,
    /// The variables that it sets, or the end of its block.
    sets: Vec<&'t str>,
}

impl<'t> Statement<'t> {
    fn of(tag: &'t str) -> Self {
        let code = Code::of(tag);
        let at = code.keyword_place();
        let keyword = code.word(at).filter(|_| code.is_statement).unwrap_or_default();
        let is_block_of_set = keyword == "set" && is_block(tag);
        let opens = is_block_of_set || keyword == "raw" || WITH_END.contains(&keyword);
        // Up to here a statement names what it sets.
        let end = match keyword {
            "set" if is_block_of_set => at + 2,
            "set" => code.places().find(|at| code.is(*at, '=')).unwrap_or(at),
            "for" => code.places().find(|at| code.word(*at) == Some("in")).unwrap_or(at),
            _ => at,
        };
        let is_name = |at: &usize| !code.is(at.wrapping_sub(1), '.');
        let words = |places: Range<usize>| places.filter(is_name).filter_map(|at| code.word(at)).collect();
        let sets_attribute = (at..=end).any(|at| code.is(at, '.'));
        let sets = if keyword == "set" && !sets_attribute { words(at + 1..end) } else { Vec::new() };
        // Arguments of a filter of a block are read within it.
        let reads = if is_block_of_set { Vec::new() } else { words(end.min(code.places().end)..code.places().end) };
        Self { keyword, opens, reads, sets }
    }
}

/// The tag with a statement before it that takes the values of these variables away.
pub(super) fn with_unset(tag: &str, names: &BTreeSet<&str>) -> String {
    let statements: Vec<String> = names.iter().map(|name| format!("set {name} = {UNDEFINED}")).collect();
    let statements = statements.join(" %}{% ");
    // Blanks before an expression stay, and those before a statement may not.
    let [opening, rest] = [&tag[..2], &tag[2..]];
    let (sign, rest) = match rest.strip_prefix(['-', '+']) {
        Some(behind) if opening == "{%" || rest.starts_with('-') => (&rest[..1], behind),
        _ => (if opening == "{%" { "" } else { "+" }, rest),
    };
    format!("{{%{sign} {statements} %}}{opening}{rest}")
}

/// A variable that there is not.
const UNDEFINED: &str = "metatok_undefined";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::chat_template::source::tags;

    #[test]
    fn variables_that_are_read_within_a_block_before_they_are_set() {
        for (source, expected) in [
            ("{% for a in b %}{{ s }}{% endfor %}{% set s = 1 %}", "s"),
            ("{% macro m(a=s) %}{{ t.u }}{% endmacro %}{% set s, t = 1, 2 %}{% set u = 1 %}{% set a = 1 %}", "a s t"),
            ("{% set s %}{{ s }}{% endset %}", "s"),
            ("{% if x %}{% with y = z %}{{ s }}{% endwith %}{% endif %}{% set s = 1 %}{% set z = 1 %}", "s"),
            ("{% for a in b if s %}{% set t = 1 %}{% endfor %}{% set s = 1 %}", ""),
            // Read before, or set in some cases.
            ("{{ s }}{% for a in b %}{{ s }}{% endfor %}{% set s = 1 %}", ""),
            ("{% for a in b %}{{ s }}{% endfor %}{% set s = s or 1 %}", ""),
            ("{% for a in s %}{{ s }}{% endfor %}{% set s = 1 %}", ""),
            ("{% for a in b %}{{ s }}{% endfor %}{% if x %}{% set s = 1 %}{% endif %}{% set s = 2 %}", ""),
            ("{% set s = 1 %}{% for a in b %}{{ s }}{% endfor %}{% set s = 2 %}", ""),
            ("{% for a in b %}{{ ns.s }}{{ ns }}{% endfor %}{% set ns.s = 1 %}{% set s = 1 %}", ""),
            ("{% for a in b %}{{ s }}{% set s = 1 %}{% endfor %}", ""),
        ] {
            let found = unset(tags(source));
            assert_eq!(found.into_iter().collect::<Vec<_>>().join(" "), expected, "{source}");
        }
    }

    #[test]
    fn values_are_taken_away_before_a_tag() {
        let names = BTreeSet::from(["s", "t"]);
        let sets = "set s = metatok_undefined %}{% set t = metatok_undefined %}";
        for (tag, expected) in [
            ("{%- if x -%}", format!("{{%- {sets}{{% if x -%}}")),
            ("{%+ if x %}", format!("{{%+ {sets}{{% if x %}}")),
            ("{% if x %}", format!("{{% {sets}{{% if x %}}")),
            ("{{- x }}", format!("{{%- {sets}{{{{ x }}}}")),
            ("{{ x }}", format!("{{%+ {sets}{{{{ x }}}}")),
        ] {
            assert_eq!(with_unset(tag, &names), expected);
        }
    }
}
