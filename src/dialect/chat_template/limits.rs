//! How much code a template may have in one place: Jinja reads what is nested by calling itself, on a stack that ends.

use crate::dialect::chat_template::code::Code;
use crate::dialect::chat_template::source::{inner, tags};

/// The most operators and names of a tag, and the most `elif`s. A thread of two megabytes has a stack for twice as many.
const MOST: usize = 4_000;

/// What a template has too much of.
pub(super) fn too_much(source: &str) -> Option<&'static str> {
    let nests = |code: &Code<'_>, at: usize| !matches!(code.sign(at), Some(',' | ':')) && code.text(at).is_none();
    // Shorter tags have no room for so many.
    let mut long = tags(source).filter(|tag| tag.len() > MOST).map(Code::of);
    if long.any(|code| code.places().filter(|at| nests(&code, *at)).count() > MOST) {
        return Some("a tag with more than 4,000 operators and names");
    }
    (tags(source).filter(|tag| inner(tag).starts_with("elif")).count() > MOST).then_some("more than 4,000 elifs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_nest_too_deeply() {
        for (source, is_too_much) in [
            (format!("{{{{ {}1 }}}}", "not ".repeat(3_000)), false),
            (format!("{{{{ {}1 }}}}", "not ".repeat(5_000)), true),
            (format!("{{{{ [{}] }}}}", "'a', ".repeat(5_000)), false),
            (format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(5_000)), true),
        ] {
            assert_eq!(too_much(&source).is_some(), is_too_much);
        }
    }
}
