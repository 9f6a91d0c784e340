//! Where a base model goes on with a question of its own, as after each example.

use std::sync::LazyLock;

use regex::Regex;

/// The name of a question, or a list of options that is to be answered, and the line before it.
static NEXT_QUESTION: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"\n\W*(?:next )?(?:question|q|问题|题目|问)\W*\d*\W*[:：]|\n#+ *question\b";
    let option = |label: &str| format!(r"\W*{label}[.):、．：][^\n]*\n");
    let answer =
        r"\W*(?:(?:the |correct |right |best )*answer(?:\W*[:：]| is\b)|(?:正确|参考)?答案(?:\W*[:：]|[是为]))";
    let options = format!(r"\n[^\n]+\n{}{}(?:{})*{answer}", option("A"), option("B"), option("[C-J]"));
    Regex::new(&format!("(?i){name}|{options}")).expect("it is a regular expression")
});

/// The text before the next question, if there is one.
pub(super) fn before_next_question(text: &str) -> Option<&str> {
    NEXT_QUESTION.find(text).map(|next| &text[..next.start()])
}
