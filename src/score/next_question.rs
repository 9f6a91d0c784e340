//! Where a base model goes on with a question of its own, as after each example.

use std::sync::LazyLock;

use regex::Regex;

/// The name of a question, or a list of options that is to be answered, and the line before it.
static NEXT_QUESTION: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"\n\W*(?:next )?(?:question|q|问题|题目|问)\W*\d*\W*[:：]|\n#+ *question\b";
    let options = r"\n[^\n]+\n\W*A[.):][^\n]*\n\W*B[.):][^\n]*\n(?:\W*[C-J][.):][^\n]*\n)*\W*answer\W*[:：]";
    Regex::new(&format!("(?i){name}|{options}")).expect("it is a regular expression")
});

/// The text before the next question, if there is one.
pub(super) fn before_next_question(text: &str) -> Option<&str> {
    NEXT_QUESTION.find(text).map(|next| &text[..next.start()])
}
