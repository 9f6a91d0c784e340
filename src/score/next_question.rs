//! Where a base model goes on with a question of its own, as after each example.

use std::sync::LazyLock;

use regex::Regex;

/// What announces an answer with a colon.
const ANSWER: &str = r"(?:(?:the |correct |right |best )*answer|(?:正确|参考)?答案)\W*[:：]";

static NEXT_QUESTION: LazyLock<Regex> = LazyLock::new(|| next_question(ANSWER));

static NEXT_CHOICE: LazyLock<Regex> = LazyLock::new(|| {
    let stated = r"(?:the |correct |right |best )*answer is(?-u:\b)|(?:正确|参考)?答案[是为]";
    next_question(&format!("(?:{ANSWER}|{stated})"))
});

/// The name of a question, or a list of options that is to be answered, and the line before it.
fn next_question(answer: &str) -> Regex {
    let name = r"\n\W*(?:next )?(?:question|q|问题|题目|问)\W*\d*\W*[:：]|\n#+ *(?:next )?question\W*\d*\W*(?:\n|$)";
    let option = |label: &str| format!(r"\W*{label}[.):、．：][^\n]*\n");
    let options = format!(r"\n[^\n]+\n{}{}(?:{})*\W*{answer}", option("A"), option("B"), option("[C-J]"));
    Regex::new(&format!("(?i){name}|{options}")).expect("it is a regular expression")
}

/// The text before the next question, if there is one.
pub(super) fn before_next_question(text: &str) -> Option<&str> {
    NEXT_QUESTION.find(text).map(|next| &text[..next.start()])
}

/// The text before the next question, where that text is known to have an answer, so that `The answer is` is another one.
pub(super) fn before_next_choice(text: &str) -> Option<&str> {
    NEXT_CHOICE.find(text).map(|next| &text[..next.start()])
}
