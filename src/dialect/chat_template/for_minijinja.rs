//! What minijinja reads in the place of a template.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::dialect::chat_template::attributes::through_filter;
use crate::dialect::chat_template::blocks::blocks;
use crate::dialect::chat_template::code::Code;
use crate::dialect::chat_template::escapes::with_known_escapes;
use crate::dialect::chat_template::parameters::{declaration, macros_with_defaults, with_given_arguments};
use crate::dialect::chat_template::source::{inner, next_tag};
use crate::dialect::chat_template::unset::{unset, with_unset};
use crate::dialect::chat_template::with_values::with_values_first;

/// A template's text for minijinja, where Jinja2 reads it in another way.
///
/// - Every line end is a line feed.
/// - `{% generation %}`, which transformers adds to Jinja, is a block with a scope of its own.
/// - The line end after `{% raw %}` stays, and so do blanks before `{% endraw %}` unless their line begins after it.
/// - Looping over None is an error.
/// - The condition of a loop is asked before each round, unless something in the loop may ask for its length.
/// - An attribute with the name of a dict's method is that method.
/// - An undefined argument of a macro is given, and a default may name the parameters before.
/// - A variable that the template sets later is none of the conversation's in the blocks before.
/// - The values of a `{% with %}` do not see its variables.
/// - `{% set %}` and `{% filter %}` blocks and the `{% else %}` of a loop have a scope of their own.
pub(super) fn prepared(source: &str) -> String {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let macros = macros_with_defaults(&source);
    let (mut pieces, mut statements, mut rest) = (Vec::new(), Vec::new(), &*source);
    // Whether the tag that is read next ends a raw block of one line.
    let mut ends_line = false;
    let (mut tags, mut first_tag) = (Vec::new(), None);
    while let Some((before, tag, after)) = next_tag(rest) {
        pieces.push(Cow::from(before));
        rest = after;
        if tag.starts_with("{#") {
            pieces.push(tag.into());
            continue;
        }
        first_tag.get_or_insert(pieces.len());
        tags.push(tag);
        let code = code_for_minijinja(tag, &macros);
        if tag.starts_with("{{") {
            pieces.push(code.into());
            continue;
        }
        statements.push((tag, pieces.len()));
        let keeps_blanks = std::mem::take(&mut ends_line) && !code[2..].starts_with(['-', '+']);
        pieces.push(match keeps_blanks {
            true => format!("{{%+{}", &code[2..]).into(),
            false => tag_for_minijinja(&code, &macros).into_owned().into(),
        });
        if inner(tag) == "raw" {
            let (raw, after) = rest.split_at(end_of_raw(rest));
            pieces.push(raw.into());
            ends_line = !raw.contains('\n');
            rest = after;
        }
    }
    pieces.push(rest.into());
    for block in blocks(statements.iter().map(|(tag, _)| *tag)) {
        let [start, end] = [block.start, block.end].map(|at| statements[at].1);
        if block.lacks_scope() {
            // The arguments of a filter see what its block sets.
            let is_around = block.name == "filter";
            pieces[start] = beside(&pieces[start], "with", is_around).into();
            pieces[end] = beside(&pieces[end], "endwith", !is_around).into();
        } else if block.name == "for" && inner(statements[block.end].0) == "endfor" {
            // `loop` counts the rounds that there are, so it has to know them before.
            let counts = pieces[start..end].iter().any(|piece| piece.contains("loop"));
            let Some(with_condition) = with_inner_condition(&pieces[start]).filter(|_| !counts) else { continue };
            pieces[start] = with_condition.into();
            pieces[end] = beside(&pieces[end], "endif", true).into();
        }
    }
    let unset = unset(tags.into_iter());
    if let Some(first) = first_tag.filter(|_| !unset.is_empty()) {
        pieces[first] = with_unset(&pieces[first], &unset).into();
    }
    pieces.concat()
}

/// A tag with its expressions as minijinja reads them.
fn code_for_minijinja(tag: &str, macros: &BTreeSet<&str>) -> String {
    let tag = with_known_escapes(tag);
    let tag = with_values_first(&tag);
    let tag = with_given_arguments(&tag, macros);
    through_filter(&tag).into_owned()
}

/// The tag of a loop with its condition in a statement of its own; none if it has no condition, or calls itself.
fn with_inner_condition(tag: &str) -> Option<String> {
    let code = Code::of(tag);
    let mut at = code.keyword_place();
    while code.word(at) != Some("if") {
        at = code.partner(at).unwrap_or(at) + 1;
        if at >= code.places().end {
            return None;
        }
    }
    let is_last = !code.words().any(|word| word == "recursive");
    is_last.then(|| format!("{} %}}{{% {}", tag[..code.start(at)].trim_end(), &tag[code.start(at)..]))
}

/// A tag with another statement before or after it, and no text between.
fn beside(tag: &str, statement: &str, is_before: bool) -> String {
    let code = tag[2..tag.len() - 2].trim_start_matches(['-', '+']).trim_end_matches(['-', '+']);
    let start = code.as_ptr() as usize - tag.as_ptr() as usize;
    let [opening, closing] = [&tag[..start], &tag[start + code.len()..]];
    if is_before {
        format!("{opening} {statement} %}}{{%{code}{closing}")
    } else {
        format!("{opening}{code}%}}{{% {statement} {closing}")
    }
}

/// Where the `{% endraw %}` begins that ends a raw block.
fn end_of_raw(text: &str) -> usize {
    let mut from = 0;
    for (at, closing) in text.match_indices("%}") {
        let end = at + closing.len();
        // The last tag that begins before this end.
        if let Some(start) = text[from..at].rfind("{%").map(|start| from + start)
            && inner(&text[start..end]) == "endraw"
        {
            return start;
        }
        from = end;
    }
    text.len()
}

fn tag_for_minijinja<'t>(tag: &'t str, macros: &BTreeSet<&str>) -> Cow<'t, str> {
    let statement = inner(tag);
    if let Some((declared, sets)) = declaration(tag, macros) {
        return sets.iter().fold(declared, |tag, set| beside(&tag, set, false).into());
    }
    match statement {
        "generation" => tag.replace("generation", "with generation = none").into(),
        "endgeneration" => tag.replace("endgeneration", "endwith").into(),
        "raw" if tag.ends_with("raw%}") || tag.ends_with(" %}") => tag.replace("%}", "+%}").replace("{+%", "{%").into(),
        _ => match loop_over(tag) {
            Some(over) => {
                let [before, after] = [&tag[..over.start], &tag[over.end..]];
                format!("{before}({})|{ITERATED}{after}", tag[over].trim()).into()
            }
            None => tag.into(),
        },
    }
}

/// The filter that what is looped over goes through.
pub(super) const ITERATED: &str = "metatok_iterated ";

/// Where in the tag of a loop stands what it loops over.
fn loop_over(tag: &str) -> Option<Range<usize>> {
    let code = Code::of(tag);
    let mut at = code.keyword_place();
    if code.word(at) != Some("for") {
        return None;
    }
    let mut start = None;
    while at < code.places().end {
        match (code.word(at), start) {
            (Some("in"), None) => start = Some(code.start(at) + "in".len()),
            (Some("if" | "recursive"), Some(start)) => return Some(start..code.start(at)),
            // What is in brackets is passed over.
            _ => at = code.partner(at).unwrap_or(at),
        }
        at += 1;
    }
    let statement = inner(tag);
    let end = statement.as_ptr() as usize - tag.as_ptr() as usize + statement.len();
    Some(start?..end)
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
            ("a{% raw %} {% endraw %}b", "a{% raw +%} {%+ endraw %}b"),
            ("a{% raw %} {%- endraw -%}b", "a{% raw +%} {%- endraw -%}b"),
            ("{% raw %}{%{%endraw%}", "{% raw +%}{%{%+endraw%}"),
            ("{{ {'a': {}} ~ '{% for x in y %}' }}", "{{ {'a': {}} ~ '{% for x in y %}' }}"),
            ("{%- for m in messages -%}", "{%- for m in(messages)|metatok_iterated  -%}"),
            ("{% for(a, b) in c %}", "{% for(a, b) in(c)|metatok_iterated  %}"),
            (
                "{% for k, v in (d if d else e).items() if k != ' in ' -%} {{ loop.last }}{% endfor %}",
                "{% for k, v in((d if d else e).items())|metatok_iterated if k != ' in ' -%} {{ loop.last }}{% endfor %}",
            ),
            (
                "{%- for k, v in (d if d else e).items() if k != ' in ' -%} {%- endfor -%}",
                "{%- for k, v in((d if d else e).items())|metatok_iterated %}{% if k != ' in ' -%} {%- endif %}{% endfor -%}",
            ),
            (
                "{% for x in y if x %}{% else %}{% endfor %}",
                "{% for x in(y)|metatok_iterated if x %}{% else %}{% endfor %}",
            ),
            (
                "{% macro f(a, b=1, c='\\v') -%}{{ f(a.items) }}{% endmacro %}",
                "{% macro f(a, b, c) %}{% set a = a|metatok_given %}{% set b = (1) if b is undefined else b|metatok_given %}{% set c = ('\u{b}') if c is undefined else c|metatok_given -%}\
                 {{ f(((a|metatok_attribute(\"items\")))|metatok_argument) }}{% endmacro %}",
            ),
            ("{%- set x -%}a{%+ endset +%}", "{%- set x %}{% with -%}a{%+ endwith %}{% endset +%}"),
            ("{% set x %}{% set y %}a{% endset %}", "{% set x %}{% set y %}{% with %}a{% endwith %}{% endset %}"),
            ("{%- filter f(x)-%}a{%endfilter%}", "{%- with %}{% filter f(x)-%}a{%endfilter%}{% endwith %}"),
            (
                "{% for x in y %}a{%- else -%}{% if b %}{% set c = 1 %}{% else %}{% endif %}{%- endfor -%}",
                "{% for x in(y)|metatok_iterated  %}a{%- else %}{% with -%}{% if b %}{% set c = 1 %}{% else %}{% endif %}{%- endwith %}{% endfor -%}",
            ),
            (
                "{% for x in y %}{% set c = 1 %}{% else %}a{% endfor %}",
                "{% for x in(y)|metatok_iterated  %}{% set c = 1 %}{% else %}a{% endfor %}",
            ),
            (
                "{% filter f %}{% raw %}{% endfilter %}{% endraw %}{% endfilter %}",
                "{% with %}{% filter f %}{% raw +%}{% endfilter %}{%+ endraw %}{% endfilter %}{% endwith %}",
            ),
        ];
        for (source, expected) in cases {
            assert_eq!(prepared(source), expected);
        }
    }

    #[test]
    fn raw_text_is_searched_once() {
        for end in ["", "%}", "%}{% endraw %}"] {
            let source = format!("{{% raw %}}{}{end}", "{%".repeat(1 << 20));
            assert!(prepared(&source).starts_with("{% raw +%}{%"), "{end}");
        }
    }
}
