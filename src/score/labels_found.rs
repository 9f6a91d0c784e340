//! The labels that a text names, and what the words beside each say of it.

use regex::Match;

use crate::score::label_words::{
    ANNOUNCED, ANNOUNCED_EARLIER, CONCLUDES, CONFIRMED, DENIED, DOUBTED, MEASURED, NAMED, NEGATED, NEGATED_AFTER,
    OF_OTHERS, OPTION_NAMED, REJECTED,
};

/// How many characters before a label say something about it.
const NEAR: usize = 200;

/// Words that follow a label at the beginning of a sentence, and not the English words `A` and `I`.
const AFTER_LABEL: &str = "and are as at because but by does due for from has if in is it nor not of on only or \
    since than that therefore though to we when where whereas which while with";

/// Words after an announced label that are not said of it: `I answer D because …`, and not `Answer D describes …`.
const AFTER_ANSWER: &str = "and as because but due for given if instead not or rather since so then unless";

/// Chinese words after an announced label that are not said of it.
const CHINESE_AFTER_ANSWER: &str = "因由所故理和或与而但是选選项項";

/// Chinese words that end with what may be a label of one character.
const WORDS: &str = "但是 可是 于是 还是 只是 总是 就是 要是 或是 是否 能否 与否 对错 真假 反对 相对 绝对 面对";

/// Chinese labels that are names, as letters are.
const NAMES: &str = "甲乙丙丁戊";

/// Signs after which a sentence begins.
const BEFORE_SENTENCE: [char; 13] = ['.', '!', '?', ':', ';', '-', '–', '—', '。', '！', '？', '：', '\n'];

/// Signs that end a sentence, or its line.
const SENTENCE_END: [char; 9] = ['.', ';', '!', '?', '。', '；', '！', '？', '\n'];

/// What Korean appends to a label that is meant, perhaps with the next one: `정답은 B입니다`, `A와 C`.
const PARTICLES: [&str; 8] = ["입니다", "이다", "이에요", "예요", "번", "와 ", "과 ", "나 "];

/// A label in a text.
#[derive(Clone, Copy)]
pub(super) struct Found<'l> {
    pub(super) at: usize,
    pub(super) label: &'l str,
    /// Where the announcement before it begins.
    pub(super) announcement: Option<usize>,
    /// Whether that is directly before it.
    pub(super) is_direct: bool,
    pub(super) is_doubted: bool,
    /// Whether its clause speaks of the answer of somebody else.
    pub(super) is_of_others: bool,
}

impl Found<'_> {
    pub(super) fn end(&self) -> usize {
        self.at + self.label.len()
    }
}

/// All labels in a text, without those that are called wrong, units such as `3 A`, parts of Chinese words, and the pronoun and
/// the article.
pub(super) fn mentions<'l>(text: &str, labels: &'l [String]) -> Vec<Found<'l>> {
    let mut found = standing_alone(text, labels);
    // What begins lines or sentences so far.
    let mut items: Vec<(char, &str)> = Vec::new();
    found.retain(|one| {
        let (before, after) = (near(text, one), near_after(text, one));
        let is_pronoun = one.label == "I" && is_word(text, one);
        let is_article = one.label == "A" && is_before_word(text, one) && begins_option(text, one);
        let is_letter = one.label.len() == 1 && one.label.starts_with(char::is_alphabetic);
        let item = sign(text, one).map(|sign| (sign, one.label));
        let is_like = |(sign, label): &(char, &str)| item.is_some_and(|own| own.0 == *sign && own.1 != *label);
        let is_unit = is_letter && MEASURED.is_match(before) && !items.iter().any(is_like);
        items.extend(item.filter(|item| begins(text, one) && !items.contains(item)));
        let is_negated = is_chinese_word(one.label)
            && (NEGATED.is_match(before) || NEGATED_AFTER.is_match(after) || is_within_word(text, one));
        let is_wrong = is_negated || DENIED.is_match(before) || REJECTED.is_match(after);
        !is_pronoun && !is_article && !is_unit && !is_wrong
    });
    for found in &mut found {
        let before = near(text, found);
        let is_doubted = is_doubted(clause(before));
        let is_explained = NAMED.is_match(before) && is_explained(near_after(text, found));
        if !is_doubted && !is_explained {
            let direct = ANNOUNCED.find(before);
            found.is_direct = direct.is_some();
            let begin = direct.or_else(|| announced_earlier(before)).map(|announcement| announcement.start());
            found.announcement = begin.map(|begin| found.at - before.len() + begin);
        }
        found.is_doubted = is_doubted || is_word(text, found);
        let said = found.announcement.unwrap_or(found.at);
        let clause = clause(&text[found.at - before.len()..said]);
        found.is_of_others = OF_OTHERS.is_match(&text[said - clause.len()..found.at]);
    }
    found
}

/// Whether a clause doubts the label that follows it.
fn is_doubted(clause: &str) -> bool {
    let concluded = CONCLUDES.find_iter(clause).last();
    let said = &clause[concluded.map_or(0, |found| found.start())..];
    DOUBTED.captures_iter(said).any(|doubt| doubt.get(1).is_some())
}

/// The last announcement in the sentence with which a text ends.
fn announced_earlier(before: &str) -> Option<Match<'_>> {
    let last = ANNOUNCED_EARLIER.find_iter(before).last()?;
    (!before[last.end()..].contains(SENTENCE_END)).then_some(last)
}

/// Whether a label of one Chinese character may be part of a longer word: `对` in `对不起`, and not in `对，`, `答案是对` or
/// `这个说法对。`.
fn is_within_word(text: &str, one: &Found<'_>) -> bool {
    let (before, after) = (near(text, one), &text[one.end()..]);
    // As in `答案是：`.
    let is_verb = one.label == "是" && after.starts_with([':', '：']) && !before.ends_with(['是', '为', '為']);
    let begins = !before.ends_with(is_chinese)
        || !is_verb && (["选项", "選項"].iter().any(|option| before.ends_with(option)) || ANNOUNCED.is_match(before));
    let rest = after.trim_start_matches(['误', '誤', '了', '的', '项', '項']);
    let goes_on = ["还是", "或", "因为"].iter().any(|next| rest.starts_with(next));
    let ends_clause = (goes_on || !rest.starts_with(char::is_alphanumeric))
        && !is_verb
        && !WORDS.split(' ').any(|word| text[..one.end()].ends_with(word));
    let is_whole = ends_clause || begins && (!after.starts_with(is_chinese) || CONFIRMED.is_match(after));
    one.label.chars().nth(1).is_none() && !NAMES.contains(one.label) && !is_whole
}

/// Whether a label begins as a Chinese or Japanese word, before which a negation may stand without a space.
fn is_chinese_word(label: &str) -> bool {
    label.starts_with(is_chinese)
}

fn is_chinese(c: char) -> bool {
    is_cjk(c) && c.is_alphabetic()
}

/// Whether the text of an option begins here, whose label opens the text or is announced.
fn begins_option(text: &str, one: &Found<'_>) -> bool {
    let before = near(text, one);
    let Some(label) = OPTION_NAMED.captures(before).and_then(|found| found.get(1)) else { return false };
    let opens = !text[..one.at - before.len() + label.start()].contains(char::is_alphanumeric);
    opens || ANNOUNCED.is_match(&before[..label.start()])
}

/// Whether a label is followed by what is said of it.
fn is_explained(after: &str) -> bool {
    let line =
        after.lines().next().unwrap_or_default().trim_start_matches([')', ']', '）', '*', '_', '"', '”', '\'', '’']);
    let said = line.trim_start();
    let word = said.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let is_word_of = |words: &str| words.split(' ').any(|other| other == word);
    match said.chars().next() {
        Some(':' | '：') => said.chars().skip(1).any(char::is_alphanumeric),
        Some(first) if is_cjk(first) => first.is_alphabetic() && !CHINESE_AFTER_ANSWER.contains(first),
        Some(first) => first.is_lowercase() && line.starts_with(' ') && !is_word_of(AFTER_ANSWER),
        None => false,
    }
}

/// All labels that are not part of a word. Chinese is written without spaces, so its characters end words. Words are found in
/// any case, and letters as they are, since `a` is a word.
fn standing_alone<'l>(text: &str, labels: &'l [String]) -> Vec<Found<'l>> {
    let mut found: Vec<Found<'l>> = Vec::new();
    let lowercase = text.to_ascii_lowercase();
    for label in labels.iter().filter(|label| !label.is_empty()) {
        let is_like = |other: &&String| other.eq_ignore_ascii_case(label);
        let is_word = label.len() > 1 && label.contains(char::is_lowercase);
        let has_any_case = is_word && labels.iter().filter(is_like).count() == 1;
        let (searched, sought) =
            if has_any_case { (&*lowercase, label.to_ascii_lowercase()) } else { (text, label.clone()) };
        for (at, _) in searched.match_indices(&*sought) {
            let (before, after) = (&text[..at], &text[at + label.len()..]);
            let has_particle = PARTICLES.iter().any(|particle| after.starts_with(particle));
            let is_compound = after.starts_with(['+', '#'])
                || after.strip_prefix('-').is_some_and(|after| after.starts_with(char::is_alphanumeric))
                || is_part_of_number(before, label, after)
                || is_initial(before, label, after);
            if !is_compound && !continues(before.chars().rev()) && (has_particle || !continues(after.chars())) {
                found.push(Found {
                    at,
                    label,
                    announcement: None,
                    is_direct: false,
                    is_doubted: false,
                    is_of_others: false,
                });
            }
        }
    }
    found.sort_by_key(|found| (found.at, std::cmp::Reverse(found.label.len())));
    // If labels contain each other, the longest one.
    found.dedup_by(|next, kept| next.at < kept.end());
    found
}

/// Whether a label that is a number is only a part of one: `2` in `2.5`, and `1` in `-1`.
fn is_part_of_number(before: &str, label: &str, after: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let has_fraction = after.strip_prefix(['.', ',']).is_some_and(|rest| rest.starts_with(is_digit));
    let is_fraction = before.strip_suffix(['.', ',']).is_some_and(|rest| rest.ends_with(is_digit));
    let is_negative =
        before.strip_suffix(['-', '−']).is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric()));
    label.chars().all(is_digit) && (has_fraction || is_fraction || is_negative)
}

/// Whether a label is a letter of an initialism: `44 B.C.`, `U.S.A`. The text of an option may follow its label without a space:
/// in `D.A and B`, the `A` is none, and the `D` is one.
fn is_initial(before: &str, label: &str, after: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let follows_letter = before
        .strip_suffix('.')
        .and_then(|before| before.strip_suffix(is_letter))
        .is_some_and(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric()));
    let precedes_letter = after.strip_prefix('.').and_then(|after| after.strip_prefix(is_letter));
    label.len() == 1
        && label.starts_with(is_letter)
        && (follows_letter || precedes_letter.is_some_and(|after| after.starts_with('.')))
}

/// Whether a word goes on here: `can't` and `a_b` are words, but quotes and emphasis around a label are not in one.
fn continues(mut beside: impl Iterator<Item = char>) -> bool {
    let next = beside.find(|c| !matches!(c, '_' | '\'' | '’'));
    next.is_some_and(|c| c.is_alphanumeric() && !is_cjk(c))
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

/// The characters shortly before a label.
pub(super) fn near<'t>(text: &'t str, found: &Found<'_>) -> &'t str {
    let before = &text[..found.at];
    before.char_indices().nth_back(NEAR).map_or(before, |(from, _)| &before[from..])
}

/// The characters shortly after a label.
fn near_after<'t>(text: &'t str, found: &Found<'_>) -> &'t str {
    let after = &text[found.end()..];
    after.char_indices().nth(NEAR).map_or(after, |(end, _)| &after[..end])
}

/// Signs that end a clause.
const CLAUSE_END: [char; 9] = ['.', ',', ';', '!', '?', '。', '，', '；', '\n'];

/// The last clause of a text.
pub(super) fn clause(text: &str) -> &str {
    text.rsplit(CLAUSE_END).next().unwrap_or_default()
}

/// The sentence around a label.
pub(super) fn sentence<'t>(text: &'t str, found: &Found<'_>) -> &'t str {
    let begin = text[..found.at].rfind(SENTENCE_END).unwrap_or_default();
    let end = text[found.end()..].find(SENTENCE_END).map_or(text.len(), |end| found.end() + end);
    &text[begin..end]
}

/// Whether it is, or may be, the English word: `A whale` and `I think`, and not `A is right` or `the answer is A then`.
fn is_word(text: &str, found: &Found<'_>) -> bool {
    is_before_word(text, found) && (found.label == "I" || found.label == "A" && begins(text, found))
}

/// Whether a word follows it that is not said of a label.
fn is_before_word(text: &str, found: &Found<'_>) -> bool {
    let next = text[found.end()..].strip_prefix(' ').unwrap_or_default();
    let word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    word.starts_with(char::is_lowercase) && AFTER_LABEL.split(' ').all(|other| other != word)
}

/// Whether a line, a sentence, or what a colon introduces begins with it.
pub(super) fn begins(text: &str, found: &Found<'_>) -> bool {
    let before = text[..found.at].trim_end_matches(|c: char| !c.is_alphanumeric() && !BEFORE_SENTENCE.contains(&c));
    before.is_empty() || before.ends_with(BEFORE_SENTENCE)
}

/// Other labels that begin lines or sentences in the same way.
pub(super) fn listed_with<'f, 'l>(
    text: &'f str,
    found: &'f [Found<'l>],
    one: &'f Found<'l>,
) -> impl Iterator<Item = &'f Found<'l>> {
    let is_like = |other: &&Found<'_>| begins(text, other) && sign(text, other) == sign(text, one);
    found.iter().filter(|other| other.label != one.label).filter(is_like)
}

/// What follows a label on its line.
pub(super) fn sign(text: &str, found: &Found<'_>) -> Option<char> {
    // A text may be one line.
    text[found.end()..].chars().find(|c| !c.is_whitespace() || *c == '\n').filter(|c| *c != '\n')
}
