//! Which of several labels an answer settles on. Nothing is guessed: if two are left, there is none.

/// Words before the intended label, in lower case.
const ANNOUNCED: [&str; 6] = ["answer", "答案", "选", "選", "选择", "選擇"];

/// Words that announce it only with `is` or a colon: `option is B`, and not `option B`.
const NAMED: [&str; 5] = ["option", "choice", "correct", "right", "正确"];

/// Words before a label that do not tell whether it is intended.
const LISTED: [&str; 4] = ["option", "choice", "选项", "選項"];

/// What may come between a word that announces a label and the label.
const BETWEEN: [&str; 13] =
    ["should", "would", "will", "the", "one", "option", "choice", "correct", "选项", "選項", "应该", "应", "的"];

/// The words among them that tell what is intended.
const IS: [&str; 5] = ["is", "are", "be", "是", "为"];

/// Words that leave it open whether the label before them or the one after them is meant.
const ALTERNATIVES: [&str; 6] = ["or", "and", "nor", "或", "和", "或者"];

/// Signs that do the same.
const SEPARATORS: [char; 5] = ['/', ',', '&', '、', '，'];

/// Signs at which what comes before a label ends.
const ENDS: [char; 9] = ['.', ',', ';', '!', '?', '。', '，', '；', '、'];

/// The ends of words that deny the label after them, also with `be`: `not A`, `isn't A`, `can't be A`.
const DENIED: [&str; 10] = ["not", "n't", "n’t", "不是", "不选", "不選", "不能选", "不要选", "不应选", "而非选"];

/// Words after a label which is not the intended one, after `is` or `are`.
const REJECTED: [&str; 6] = ["not", "wrong", "incorrect", "false", "no", "never"];

/// The same words in one.
const IS_NOT: [&str; 5] = ["isn't", "aren't", "wasn't", "can't", "cannot"];

/// Words after the intended label, after `is` or `are`.
const CONFIRMED: [&str; 3] = ["correct", "right", "answer"];

/// Words before a label that is called correct in a condition, with another one, or by somebody else.
const UNSURE: [&str; 12] =
    ["and", "or", "nor", "both", "neither", "if", "whether", "think", "believe", "say", "said", "because"];
const UNSURE_IN_CHINESE: [&str; 6] = ["和", "、", "或", "如果", "其中", "因为"];

/// What rejects and confirms a label in Chinese, directly after it.
const REJECTED_IN_CHINESE: [&str; 4] = ["错", "不正确", "不对", "不是"];
const CONFIRMED_IN_CHINESE: [&str; 2] = ["正确", "对的"];

/// Signs that end what a label is in.
const CLOSING: [char; 9] = [')', ']', '}', '*', '"', '\'', '_', '）', '】'];

/// Words that follow a label and not the English words `A` and `I`.
const AFTER_LABEL: &str = "and are as at because but by does due for from has he if in is it nor not of on only or \
    since than that therefore though to we when where whereas which while with";

/// Words that follow a label and not the article, but the pronoun too.
const AFTER_PRONOUN: &str = "can could have must was would";

/// The label, by the first of these rules that finds one: the last one that is announced by `answer` and the like; one
/// alone at the beginning; the last one that `is correct`; one in brackets or bold; the one after `option`; the only one
/// in the text. Labels that are called wrong do not count. If an alternative follows the label, there is none.
pub(super) fn settled<'l>(text: &str, labels: &'l [String]) -> Option<&'l str> {
    let text = text.trim();
    let mut found = standing_alone(text, labels);
    found.retain(|found| !is_word(text, found) && !is_rejected(text, found));
    let is_open = |place: usize| {
        let next = found.get(place + 1).filter(|next| next.label != found[place].label);
        next.is_some_and(|next| is_alternative(&text[found[place].end()..next.at]))
    };
    let announced = found.iter().rposition(|found| is_announced(&text[..found.at]));
    let place = (announced.filter(|place| !is_open(*place)))
        .or_else(|| found.first().is_some_and(|found| leads(text, found)).then_some(0))
        .or_else(|| found.iter().rposition(|found| is_confirmed(&text[..found.at], &text[found.end()..])))
        .or_else(|| only(&found, |found| is_marked(text, found)))
        .or_else(|| only(&found, |found| is_listed(&text[..found.at])))
        .or_else(|| only(&found, |_| true))?;
    (!is_open(place)).then_some(found[place].label)
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
    let mut found: Vec<Found<'l>> = Vec::new();
    for label in labels.iter().filter(|label| !label.is_empty()) {
        for (at, _) in text.match_indices(label.as_str()) {
            let (before, after) = (&text[..at], &text[at + label.len()..]);
            if !continues(before.chars().rev()) && !continues(after.chars()) {
                found.push(Found { at, label });
            }
        }
    }
    found.sort_by_key(|found| (found.at, std::cmp::Reverse(found.label.len())));
    // If labels contain each other, the longest one.
    found.dedup_by(|next, kept| next.at < kept.end());
    found
}

/// Whether a word goes on here: `can't` and `a_b` are words, but quotes and emphasis around a label are not in one.
fn continues(mut beside: impl Iterator<Item = char>) -> bool {
    let next = beside.find(|c| !matches!(c, '_' | '\'' | '’'));
    next.is_some_and(|c| c.is_alphanumeric() && !is_cjk(c))
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

/// Whether a word such as `answer` introduces the text after it.
fn is_announced(before: &str) -> bool {
    let (mut before, mut is_named) = (before, false);
    loop {
        let rest = trimmed(before);
        is_named |= before[rest.len()..].contains([':', '：']);
        if ends_with_one(rest, &ANNOUNCED) || is_named && ends_with_one(rest, &NAMED) {
            return true;
        }
        let is = without_one(rest, &IS);
        is_named |= is.is_some();
        let Some(shorter) = is.or_else(|| without_one(rest, &BETWEEN)) else { return false };
        before = shorter;
    }
}

/// Whether only a word such as `option` is before it.
fn is_listed(before: &str) -> bool {
    ends_with_one(trimmed(before), &LISTED)
}

/// A text without the signs at its end that belong to what comes after it.
fn trimmed(before: &str) -> &str {
    before.trim_end_matches(|c: char| !c.is_alphanumeric() && !ENDS.contains(&c))
}

fn ends_with_one(text: &str, words: &[&str]) -> bool {
    without_one(text, words).is_some()
}

fn without_one<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    words.iter().find_map(|word| without_last(text, word))
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
    let before = trimmed(&text[..found.at]);
    let before = without_last(before, "be").map_or(before, str::trim_end);
    let last = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
    let after = &text[found.end()..];
    DENIED.iter().any(|end| last.ends_with(end))
        || words(after).next().is_some_and(|word| IS_NOT.contains(&&*word.replace('’', "'")))
        || is_called(after, &["is", "are", "was"], &REJECTED)
        || is_called_in_chinese(after, &REJECTED_IN_CHINESE)
}

/// Whether the words after it say that it is meant, it alone: `A is correct`, but not `if A is correct`.
fn is_confirmed(before: &str, after: &str) -> bool {
    let clause = before.rsplit(|c| c == '\n' || (c != '、' && ENDS.contains(&c))).next().unwrap_or_default();
    let is_unsure = UNSURE_IN_CHINESE.iter().any(|word| clause.contains(word))
        || words(clause).any(|word| UNSURE.contains(&&*word));
    !is_unsure && (is_called(after, &["is", "was"], &CONFIRMED) || is_called_in_chinese(after, &CONFIRMED_IN_CHINESE))
}

/// Whether `is` and one of these words follow, with or without `the`.
fn is_called(after: &str, is: &[&str], names: &[&str]) -> bool {
    let mut words = words(after);
    let is = words.next().is_some_and(|word| is.contains(&&*word));
    is && words.find(|word| word != "the").is_some_and(|word| names.contains(&&*word))
}

fn is_called_in_chinese(after: &str, names: &[&str]) -> bool {
    let mut after = after.trim_start_matches(|c: char| c == ' ' || CLOSING.contains(&c));
    for word in ["选项", "選項", "项", "項", "是"] {
        after = after.strip_prefix(word).unwrap_or(after);
    }
    names.iter().any(|name| after.starts_with(name))
}

/// The words after a label in lower case, without the signs beside them.
fn words(after: &str) -> impl Iterator<Item = String> {
    let words = after.trim_start_matches(CLOSING).split_whitespace();
    words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
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
    [("(", ")"), ("[", "]"), ("{", "}"), ("（", "）"), ("【", "】"), ("_", "_"), ("**", "*"), ("**", "."), ("**", ":")]
        .iter()
        .any(|(open, close)| before.ends_with(open) && after.starts_with(close))
}

/// Whether it is the English word: `A whale` and `I think`, and not `A is right`.
fn is_word(text: &str, found: &Found<'_>) -> bool {
    let next = text[found.end()..].strip_prefix(' ').unwrap_or_default();
    let word: &str = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_one_of = |words: &str| words.split(' ').any(|other| other == word);
    let is_after_label = match found.label {
        "A" => is_one_of(AFTER_LABEL) || is_one_of(AFTER_PRONOUN),
        "I" => is_one_of(AFTER_LABEL),
        _ => true,
    };
    word.starts_with(char::is_lowercase) && !is_after_label
}

/// The first of these labels, if all of them are the same.
fn only(found: &[Found<'_>], is_one: impl Fn(&Found<'_>) -> bool) -> Option<usize> {
    let first = found.iter().position(&is_one)?;
    found.iter().all(|other| !is_one(other) || other.label == found[first].label).then_some(first)
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
            ("The answer is A — the mitochondria", Some("A")),
            ("The answer is A only", Some("A")),
            ("The answer is A whereas B is not", Some("A")),
            // Options are explained after the answer, or before it.
            ("Answer: B\n\nExplanation: Option A needs heat, option C needs cold.", Some("B")),
            ("The answer is A.\n\nOption B is about Venus.", Some("A")),
            ("**B.** Saturn\n\n- Option A: Mars is red.", Some("B")),
            ("B.\n\nOption A fails because the sun is a star. Option C fails too.", Some("B")),
            ("Option A: Mars.\nOption B: Venus.\nSo the correct one is A.", Some("A")),
            ("Option A: Mars.\nOption B: Venus.\nCorrect option: B", Some("B")),
            ("Option A: Mars.\nOption B: Venus.", None),
            ("I choose option B, because vitamin A is no mineral.", Some("B")),
            ("The best option is C, and option D is second.", Some("C")),
            ("D. Both A and B are correct", Some("D")),
            ("答案：C。解析：A正确，B正确，C错误，D正确。", Some("C")),
            ("The answer is B. I do not think A is correct.", Some("B")),
            ("Both A and B are correct.", None),
            ("A and C are correct.", None),
            ("If A is correct then B is not.", Some("A")),
            ("**D. All of the above**\n\n- **A** is correct because x\n- **B** is correct because y", Some("D")),
            ("The answer is C. Neither A nor B is correct.", Some("C")),
            ("C\n\nA选项是正确的，因为", Some("C")),
            ("故选C，其中A正确", Some("C")),
            ("The answer is C, but D is right behind it.", Some("C")),
            ("本题选C，不能选A", Some("C")),
            ("I don't think A is correct. Perhaps B.", None),
            ("A is correct. Option B is about Venus.", Some("A")),
            ("A is correct, B and C describe Venus.", Some("A")),
            ("(A) is incorrect, (B) is correct", Some("B")),
            ("Answer: A and B are both wrong, C is right", Some("C")),
            ("B is the right choice, A is the wrong one", Some("B")),
            ("答案：B。选项C说的是金星。", Some("B")),
            ("选项A错误，选项B正确，选项D错误。", Some("B")),
            ("选项A正确。选项B说的是金星。", Some("A")),
            ("选项A不正确。选项B正确。", Some("B")),
            ("A项错误；B选项是正确的；C项不对。", Some("B")),
            ("正确的选项是C，选项D说的是金星。", Some("C")),
            ("A、B、C均错误，故选D", Some("D")),
            ("不选A，选择B", Some("B")),
            ("选项A说的是火星，选项B说的是金星。", None),
            ("the answer isn't A, it is B", Some("B")),
            ("The correct option can't be A. It's D.", Some("D")),
            ("It cannot be A, so D", Some("D")),
            ("A isn’t right, but C", Some("C")),
            ("A can't be right, but C", Some("C")),
            ("A, B and C", None),
            ("(A) or B", None),
            ("The answer is 'B'.", Some("B")),
            ("The answer is _B_, not __A__", Some("B")),
            ("I take __B__ and leave A_1, D's", Some("B")),
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
        for (text, label) in [
            ("The answer, I think, is E.", Some("E")),
            ("I believe it is E.", Some("E")),
            ("I was wrong, so I would say A", Some("A")),
            ("The answer is I.", Some("I")),
            ("I is right", Some("I")),
        ] {
            let labels = ["A", "E", "I"].map(String::from);
            assert_eq!(settled(text, &labels), label, "{text}");
        }
    }
}
