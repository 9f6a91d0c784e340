//! Which of several labels an answer settles on. Nothing is guessed: if two are left, there is none.

/// Words before the intended label, in lower case.
const ANNOUNCED: [&str; 8] = ["answer", "option", "choice", "答案", "选项", "選項", "选", "故选"];

/// What may come between such a word and the label.
const BETWEEN: [&str; 12] =
    ["is", "are", "be", "should", "would", "will", "the", "option", "choice", "correct", "是", "为"];

/// Words that leave it open whether the label before them or the one after them is meant.
const ALTERNATIVES: [&str; 6] = ["or", "and", "nor", "或", "和", "或者"];

/// Signs that do the same.
const SEPARATORS: [char; 5] = ['/', ',', '&', '、', '，'];

/// Words after a label which is not the intended one, after `is` or `are`.
const REJECTED: [&str; 6] = ["not", "wrong", "incorrect", "false", "no", "never"];

/// Words that follow a label and not the English article `A`.
const AFTER_LABEL: &str = "and are as at because but by can could does due for from has have he if in is it must nor not of on or \
    since than that therefore though to was we when where which while with would";

/// The label, by the first of these rules that finds one: one after `answer` and the like, the last of them, unless an
/// alternative follows; one alone at the beginning; one in brackets or bold; the only one in the text. Labels that are
/// called wrong do not count.
pub(super) fn settled<'l>(text: &str, labels: &'l [String]) -> Option<&'l str> {
    let text = text.trim();
    let mut found = standing_alone(text, labels);
    found.retain(|found| !is_rejected(text, found));
    let announced = found.iter().rposition(|found| is_announced(&text[..found.at]) && !is_article(text, found));
    if let Some(place) = announced
        && let Some(next) = found.get(place + 1)
        && next.label != found[place].label
        && is_alternative(&text[found[place].end()..next.at])
    {
        return None;
    }
    let announced = announced.map(|place| &found[place]);
    let leading = || found.first().filter(|found| leads(text, found));
    let marked = || only(found.iter().filter(|found| is_marked(text, found)));
    let sole = || only(found.iter().filter(|found| !is_article(text, found)));
    let label = announced.or_else(leading).or_else(marked).or_else(sole)?;
    Some(label.label)
}

/// A label in a text.
struct Found<'l> {
    at: usize,
    label: &'l str,
}

impl Found<'_> {
    fn end(&self) -> usize {
        self.at + self.label.len()
    }
}

/// All labels that are not part of a word. Chinese is written without spaces, so its characters end words.
fn standing_alone<'l>(text: &str, labels: &'l [String]) -> Vec<Found<'l>> {
    let is_part = |c: char| c.is_alphanumeric() && (c.is_ascii() || !is_cjk(c)) || c == '_' || c == '\'' || c == '’';
    let mut found: Vec<Found<'l>> = Vec::new();
    for label in labels.iter().filter(|label| !label.is_empty()) {
        for (at, _) in text.match_indices(label.as_str()) {
            let (before, after) = (&text[..at], &text[at + label.len()..]);
            if !before.ends_with(is_part) && !after.starts_with(is_part) {
                found.push(Found { at, label });
            }
        }
    }
    found.sort_by_key(|found| (found.at, std::cmp::Reverse(found.label.len())));
    // If labels contain each other, the longest one.
    found.dedup_by(|next, kept| next.at < kept.end());
    found
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

/// Whether a word such as `answer` introduces the text after it.
fn is_announced(before: &str) -> bool {
    let mut before = before;
    loop {
        before = before.trim_end_matches(|c: char| !c.is_alphanumeric());
        if ANNOUNCED.iter().any(|word| without_last(before, word).is_some()) {
            return true;
        }
        let Some(shorter) = BETWEEN.iter().find_map(|word| without_last(before, word)) else { return false };
        before = shorter;
    }
}

/// A text without its last word, if that is this one in either case.
fn without_last<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (before, last) = text.split_at_checked(text.len().checked_sub(word.len())?)?;
    let is_in_a_word = word.is_ascii() && before.ends_with(|c: char| c.is_alphanumeric() && !is_cjk(c));
    (last.eq_ignore_ascii_case(word) && !is_in_a_word).then_some(before)
}

/// Whether what is between two labels leaves open which of them is meant.
fn is_alternative(between: &str) -> bool {
    let between = between.trim_matches(|c: char| !c.is_alphanumeric() && !SEPARATORS.contains(&c));
    let separates = !between.is_empty() && between.chars().all(|c| SEPARATORS.contains(&c));
    separates || ALTERNATIVES.iter().any(|word| between.eq_ignore_ascii_case(word))
}

/// Whether the words beside it say that it is not meant: `not A`, `A is wrong`.
fn is_rejected(text: &str, found: &Found<'_>) -> bool {
    let before = text[..found.at].trim_end_matches(|c: char| !c.is_alphanumeric());
    if without_last(before, "not").is_some() || before.ends_with("不是") {
        return true;
    }
    let mut words = text[found.end()..].trim_start_matches([')', '*', '"']).split_whitespace();
    let is_word = |word: Option<&str>, of: &[&str]| {
        let word = word.unwrap_or_default().trim_matches(|c: char| !c.is_alphanumeric());
        of.iter().any(|one| word.eq_ignore_ascii_case(one))
    };
    is_word(words.next(), &["is", "are", "was"]) && is_word(words.next(), &REJECTED)
}

/// Whether the answer begins with it, and is not continued as a sentence.
fn leads(text: &str, found: &Found<'_>) -> bool {
    let is_begin = !text[..found.at].contains(char::is_alphanumeric);
    let rest = text[found.end()..].trim_start_matches(' ');
    let ends = |c: char| !c.is_alphanumeric();
    is_begin && (rest.is_empty() || rest.starts_with(ends))
}

/// Whether it is in brackets, bold, or a box.
fn is_marked(text: &str, found: &Found<'_>) -> bool {
    let (before, after) = (&text[..found.at], &text[found.end()..]);
    [("(", ")"), ("[", "]"), ("{", "}"), ("（", "）"), ("【", "】"), ("**", "*"), ("**", "."), ("**", ":")]
        .iter()
        .any(|(open, close)| before.ends_with(open) && after.starts_with(close))
}

/// Whether it is the English word: `A whale`, and not `A is right`.
fn is_article(text: &str, found: &Found<'_>) -> bool {
    let next = text[found.end()..].strip_prefix(' ').unwrap_or_default();
    let word: &str = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    found.label == "A" && word.starts_with(char::is_lowercase) && !AFTER_LABEL.split(' ').any(|after| after == word)
}

/// The label, if all of them are the same.
fn only<'f, 'l: 'f>(mut found: impl Iterator<Item = &'f Found<'l>>) -> Option<&'f Found<'l>> {
    let first = found.next()?;
    found.all(|other| other.label == first.label).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::settled;

    #[test]
    fn answers_settle_on_one_label_or_none() {
        for (text, label) in [
            ("B", Some("B")),
            (" (B) ", Some("B")),
            ("B. Saturn", Some("B")),
            ("**B**", Some("B")),
            ("B) Saturn, not A) Mars", Some("B")),
            ("The answer is B.", Some("B")),
            ("The correct answer is: **(C)**", Some("C")),
            ("A whale is no fish. Answer: D", Some("D")),
            ("A whale is no fish.", None),
            ("A whale is a fish, so B", Some("B")),
            ("A is right", Some("A")),
            ("Answer: A whale is a mammal, so B.", Some("B")),
            ("Answer: A whale is a mammal.", None),
            ("The answer is A, a mammal.", Some("A")),
            ("The answer is A because it is one.", Some("A")),
            ("The answer is A which is not B", Some("A")),
            ("The answer: A\nwhale", Some("A")),
            ("Both A and B look right, but I take (C)", Some("C")),
            ("A or B", None),
            ("The answer is A or B", None),
            ("Answer: A/B", None),
            ("The answer is either (A) or (B).", None),
            ("答案是A或B", None),
            ("Answer: A\nB is for later.", Some("A")),
            ("The answer is A, and B is wrong.", Some("A")),
            ("Option A is wrong. The correct one is B.", Some("B")),
            ("The answer is not A", None),
            ("Not A", None),
            ("A is not right, B is", Some("B")),
            ("不是A", None),
            ("answer is A. No, wait, the answer is B", Some("B")),
            ("Option C is right because A is not", Some("C")),
            ("答案是C", Some("C")),
            ("THE ANSWER IS A, not (C)", Some("A")),
            ("For **adoption**, A is used. The result: (C)", Some("C")),
            ("所以选B。", Some("B")),
            ("因此正确答案为：D，不是A", Some("D")),
            (r"\boxed{A}", Some("A")),
            ("I can't say", None),
            ("CABBAGE", None),
            ("b", None),
            ("", None),
        ] {
            let labels = ["A", "B", "C", "D"].map(String::from);
            assert_eq!(settled(text, &labels), label, "{text}");
        }
        let words = ["no", "not sure", "yes"].map(String::from);
        assert_eq!(settled("not sure", &words), Some("not sure"));
        assert_eq!(settled("I know: yes", &words), Some("yes"));
    }
}
