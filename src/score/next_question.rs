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
    let name = r"\n\W*(?:next )?(?:question|q|问题|题目|问)\W*\d*\W*[:：]|\n#+ *question(?-u:\b)";
    let option = |label: &str| format!(r"\W*{label}[.):、．：][^\n]*\n");
    let options = format!(r"\n[^\n]+\n{}{}(?:{})*\W*{answer}", option("A"), option("B"), option("[C-J]"));
    Regex::new(&format!("(?i){name}|{options}")).expect("it is a regular expression")
}

/// The text before the next question, if there is one.
pub(super) fn before_next_question(text: &str) -> Option<&str> {
    before(&NEXT_QUESTION, text)
}

/// The text before the next question, where that text is known to have an answer, so that `The answer is` is another one.
pub(super) fn before_next_choice(text: &str) -> Option<&str> {
    before(&NEXT_CHOICE, text)
}

/// The text before the first match that is no heading of an answer's own, as `### Question analysis` is.
fn before<'t>(next: &Regex, text: &'t str) -> Option<&'t str> {
    static OWN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?i) *(?:analysis|breakdown|interpretation|overview|review|summary|understanding)\b")
            .expect("it is a regular expression")
    });
    let next = next.find_iter(text).find(|next| !OWN.is_match(&text[next.end()..]))?;
    Some(&text[..next.start()])
}
