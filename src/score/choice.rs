//! Finds the one label that an answer chooses. An ambiguous answer has none.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::score::label_words::{
    ALSO, ALSO_RIGHT, CONCEDED, CONCLUDED, CONFIRMED, ENDS_CLAUSE, JOINED, MARKED, OPEN, STATED, WITHDRAWN,
};
use crate::score::labels_found::{Found, begins, clause, listed_with, mentions, near, sentence, sign};
use crate::score::next_question::before_next_choice;

/// The label that an answer chooses. The first of these that there is:
///
/// 1. the label of the last announcement, such as `the answer is`;
/// 2. the label with which the text begins;
/// 3. the label with which it ends;
/// 4. the only label that `is correct`;
/// 5. the only label in the text.
///
/// There is none if that label is doubted or taken back, if an alternative or a list follows it, if another one is right too,
/// or if the text ends with another label or has another one alone on its first line. What follows a next question does not
/// count.
pub(super) fn settled<'l>(text: &str, labels: &'l [String]) -> Option<&'l str> {
    let text = text.trim();
    let are_wide = labels.iter().any(|label| label.contains(is_wide));
    settled_in(&if are_wide { text.into() } else { with_half_width(text) }, labels)
}

/// A text with the usual forms of the wide letters and digits `Ａ` and `１`.
fn with_half_width(text: &str) -> Cow<'_, str> {
    if !text.contains(is_wide) {
        return text.into();
    }
    let half = |c: char| char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c);
    text.chars().map(|c| if is_wide(c) { half(c) } else { c }).collect()
}

fn is_wide(c: char) -> bool {
    const WIDE: [RangeInclusive<char>; 3] = ['０'..='９', 'Ａ'..='Ｚ', 'ａ'..='ｚ'];
    WIDE.iter().any(|wide| wide.contains(&c))
}

fn settled_in<'l>(text: &str, labels: &'l [String]) -> Option<&'l str> {
    let mut found = mentions(text, labels);
    let is_answer = |one: &Found<'_>| one.announcement.is_some() || !text[..one.at].contains(char::is_alphanumeric);
    if let Some(own) = before_next_choice(text)
        && found.iter().any(|one| one.at < own.len() && is_answer(one))
    {
        return settled_in(own.trim(), labels);
    }
    // Judges may repeat the answer of somebody else beside their own.
    let verdict = found.first().copied().filter(|first| is_verdict(text, &found, first));
    if verdict.is_some() || found.iter().any(|one| one.announcement.is_some() && !one.is_of_others) {
        found.retain(|one| !one.is_of_others);
    }
    let ending = found.last().filter(|last| ends(text, last) && !is_listed(text, &found, last));
    let chosen = match found.iter().filter_map(|found| found.announcement).max() {
        Some(last) => announced(text, &found, last),
        None => (found.first().filter(|_| leads(text, &found)).or(ending))
            .or_else(|| only(found.iter().filter(|found| is_confirmed(text, found))))
            .or_else(|| only(&found)),
    }?;
    let others = || found.iter().filter(|other| other.label != chosen.label);
    let between = |[first, second]: [&Found<'_>; 2]| text.get(first.end()..second.at);
    let before = others().rfind(|other| other.at < chosen.at).and_then(|other| between([other, chosen]));
    let after = others().find(|other| other.at > chosen.at && !begins_text_of(text, chosen, other));
    let after = after.and_then(|other| between([chosen, other]));
    let is_open = before.into_iter().chain(after).any(|between| OPEN.is_match(between));
    let is_withdrawn = WITHDRAWN.is_match(&text[chosen.end()..])
        || begins_list(text, &found, chosen)
        || is_contradicted(text, &found, chosen)
        || is_shared(text, &found, chosen);
    let is_settled =
        !chosen.is_doubted && !is_open && !is_withdrawn && verdict.is_none_or(|verdict| verdict.label == chosen.label);
    (is_settled && ending.is_none_or(|ending| ending.label == chosen.label)).then_some(chosen.label)
}

/// The label of the announcement that begins here: the one directly after it, or else its only one, if that is marked.
fn announced<'f, 'l>(text: &str, found: &'f [Found<'l>], announcement: usize) -> Option<&'f Found<'l>> {
    let group = || found.iter().filter(|found| found.announcement == Some(announcement));
    let is_marked = |found: &&Found<'_>| MARKED.is_match(near(text, found));
    group().next().filter(|found| found.is_direct).or_else(|| only(group()).filter(is_marked))
}

/// Whether a text begins with a label, and neither continues it as a sentence nor lists others in the same way.
fn leads(text: &str, found: &[Found<'_>]) -> bool {
    let Some(first) = found.first().filter(|first| !text[..first.at].contains(char::is_alphanumeric)) else {
        return false;
    };
    let after = &text[first.end()..];
    let (signs, words) = after.split_at(after.find(char::is_alphanumeric).unwrap_or(after.len()));
    let is_apart = signs.contains(['.', ',', ':', ';', '：', '。', '，', '\n', '-', '–', '—']);
    let is_named = !signs.trim().is_empty() && words.starts_with(|c: char| c.is_uppercase() || c.is_numeric());
    (words.is_empty() || is_apart || is_named) && !is_listed(text, found, first)
}

/// Whether other labels begin lines or sentences in the same way.
fn is_listed(text: &str, found: &[Found<'_>], one: &Found<'_>) -> bool {
    listed_with(text, found, one).next().is_some()
}

/// Whether a later sentence ends the text with another label: `The answer is A. It's B`, and not `The others are B and C`.
fn is_contradicted(text: &str, found: &[Found<'_>], chosen: &Found<'_>) -> bool {
    let [.., before, last] = found else { return false };
    let is_other = last.at > chosen.at && last.label != chosen.label && !last.is_doubted && is_last_word(text, last);
    is_other
        && STATED.is_match(near(text, last))
        && text[chosen.end()..last.at].contains(['.', '!', '?', '。', '！', '？', '\n'])
        && !OPEN.is_match(&text[before.end()..last.at])
}

/// Whether one other label is called right, too, directly after it: `The answer is A. C is also correct.`
fn is_shared(text: &str, found: &[Found<'_>], chosen: &Found<'_>) -> bool {
    let is_also = |one: &&Found<'_>| {
        let after = &text[one.end()..];
        let is_right = ALSO_RIGHT.is_match(after) || ALSO.is_match(near(text, one)) && ENDS_CLAUSE.is_match(after);
        one.label != chosen.label && !one.is_doubted && is_right
    };
    let later = || found.iter().skip_while(|one| one.at <= chosen.at).skip_while(|one| one.label == chosen.label);
    let Some(other) = later().next().filter(is_also).filter(|_| only(later().filter(is_also)).is_some()) else {
        return false;
    };
    let is_named_again = later().any(|one| one.label == chosen.label);
    !is_named_again && !CONCEDED.is_match(sentence(text, other))
}

/// Whether a text begins with it, alone on its line and in no list, as judges are asked to write.
fn is_verdict(text: &str, found: &[Found<'_>], first: &Found<'_>) -> bool {
    let line = text[first.end()..].lines().next().unwrap_or_default();
    ![&text[..first.at], line].iter().any(|beside| beside.contains(char::is_alphanumeric))
        && !is_listed(text, found, first)
}

/// Whether a list of labels begins here: `A. 3 B. 4`.
fn begins_list(text: &str, found: &[Found<'_>], first: &Found<'_>) -> bool {
    let next = found.iter().find(|other| other.at > first.at).filter(|next| next.label > first.label);
    let is_sign = |sign: char| !sign.is_alphanumeric();
    let is_item = |next: &Found<'_>| sign(text, first).is_some_and(is_sign) && sign(text, next) == sign(text, first);
    next.is_some_and(is_item) && begins(text, first) && !is_confirmed(text, first)
}

/// Whether a text ends with it, on a line of its own or after a word such as `so`.
fn ends(text: &str, found: &Found<'_>) -> bool {
    is_last_word(text, found) && CONCLUDED.is_match(near(text, found))
}

fn is_last_word(text: &str, found: &Found<'_>) -> bool {
    !text[found.end()..].contains(char::is_alphanumeric)
}

/// Whether the text of an option begins with another label: `(C) B cells` and `C．B细胞`, and not `(C) (B)` or `(C)/B`.
fn begins_text_of(text: &str, option: &Found<'_>, other: &Found<'_>) -> bool {
    let is_bracketed = text[..option.at].ends_with(['(', '[', '（', '【']);
    let is_apart = match text.get(option.end()..other.at).map(str::trim) {
        Some(")" | "]" | "）" | "】") => is_bracketed,
        Some("．") => true,
        _ => false,
    };
    is_apart && text[other.end()..].trim_start_matches(' ').starts_with(char::is_alphabetic)
}

/// Whether the words after it say that it is meant, it alone: `A is correct`, and not `A and B`.
fn is_confirmed(text: &str, found: &Found<'_>) -> bool {
    !found.is_doubted && CONFIRMED.is_match(&text[found.end()..]) && !JOINED.is_match(clause(near(text, found)))
}

/// The first of these labels, if all of them are the same.
fn only<'f, 'l: 'f>(found: impl IntoIterator<Item = &'f Found<'l>>) -> Option<&'f Found<'l>> {
    let mut found = found.into_iter();
    let first = found.next()?;
    found.all(|other| other.label == first.label).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::settled;

    #[test]
    fn chinese_words_count_where_they_are_whole_and_not_negated() {
        for (labels, cases) in [
            (
                &["正确", "错误"][..],
                &[
                    ("正确", Some("正确")),
                    ("该说法正确。", Some("正确")),
                    ("这个说法是错误的", Some("错误")),
                    ("非常正确", Some("正确")),
                    ("不过这句话是正确的。", Some("正确")),
                    ("没有错误，所以正确。", Some("正确")),
                    ("这不是事实，因此错误。", Some("错误")),
                    ("这不难，答案是正确。", Some("正确")),
                    ("不正确，是错误的", Some("错误")),
                    ("不正确", None),
                    ("该说法并不正确。", None),
                    ("说法不完全正确", None),
                    ("未必正确", None),
                    ("不能说是正确的", None),
                    ("这句话没有错误", None),
                    ("没有任何错误", None),
                    ("我不知道正确还是错误", None),
                    ("非洲是世界上最大的洲这一说法错误", Some("错误")),
                    ("无理数都是无限小数的说法正确。", Some("正确")),
                    ("该不等式正确", Some("正确")),
                    ("不锈钢会生锈的说法错误", Some("错误")),
                    ("说法不准确是错误的", Some("错误")),
                    ("学生的答案是正确的", Some("正确")),
                    ("模型的回答正确", Some("正确")),
                    ("考生答案正确", Some("正确")),
                ][..],
            ),
            (
                &["对", "错"],
                &[
                    ("对", Some("对")),
                    ("对。", Some("对")),
                    ("对的。", Some("对")),
                    ("错，因为它是卫星", Some("错")),
                    ("答案是对", Some("对")),
                    ("答案：错", Some("错")),
                    ("这个说法是对的。", Some("对")),
                    ("这个说法对。", Some("对")),
                    ("错了，因为它是卫星", Some("错")),
                    ("该命题为错", Some("错")),
                    ("判断为错", Some("错")),
                    ("故错。", Some("错")),
                    ("因此对", Some("对")),
                    ("这句话是错：它是卫星", Some("错")),
                    ("答案是错因为它是卫星", Some("错")),
                    ("该说法错误。", Some("错")),
                    ("我不确定是对还是错。", None),
                    ("我不知道对错。", None),
                    ("不对", None),
                    ("这个说法不对。", None),
                    ("这不是对的。", None),
                    ("对不起，我不知道", None),
                    ("这两者相对，我不知道", None),
                    ("没错", None),
                    ("没有错", None),
                    ("不错", None),
                    ("对比一下", None),
                ],
            ),
            (
                &["是", "否"],
                &[
                    ("是", Some("是")),
                    ("是的，这是一个问题。", Some("是")),
                    ("否。", Some("否")),
                    ("答案是否", Some("否")),
                    ("答案：否", Some("否")),
                    ("答案是：否", Some("否")),
                    ("结论为否", Some("否")),
                    ("回答是", Some("是")),
                    ("判定为是：原文提到了", Some("是")),
                    ("但是，我不知道", None),
                    ("不是", None),
                    ("这是一个问题", None),
                    ("我不知道是否正确", None),
                ],
            ),
            (
                &["支持", "反对", "中立"],
                &[
                    ("我支持", Some("支持")),
                    ("不支持", None),
                    ("我不支持，我反对", Some("反对")),
                    ("支持しません", None),
                ],
            ),
            (&["支持", "不支持"], &[("不支持", Some("不支持")), ("并不支持", Some("不支持")), ("支持", Some("支持"))]),
            (&["积极", "消极"], &[("顾客不满属于消极", Some("消极"))]),
            (
                &["矛盾", "中立"],
                &[
                    ("两者无关是中立", Some("中立")),
                    ("两者矛盾", Some("矛盾")),
                    ("不矛盾", None),
                    ("两者不存在矛盾", None),
                ],
            ),
            (&["正解", "不正解"], &[("正解です", Some("正解")), ("正解ではありません", None)]),
            (
                &["甲", "乙", "丙"],
                &[
                    ("选乙。", Some("乙")),
                    ("答案为丙项", Some("丙")),
                    ("小偷是丙", Some("丙")),
                    ("甲是小偷", Some("甲")),
                    ("甲正确，乙错误", Some("甲")),
                    ("选项丙是正确的", Some("丙")),
                    ("不选甲", None),
                ],
            ),
        ] {
            let labels: Vec<String> = labels.iter().map(|&label| label.into()).collect();
            for &(text, label) in cases {
                assert_eq!(settled(text, &labels), label, "{text} {labels:?}");
            }
        }
    }

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
            ("Answer: A whale is a mammal, so B.", None),
            // `answer` names an option, too.
            ("The correct answer is C.\n\nAnswer choice A is incorrect. Answer choice D describes osmosis.", Some("C")),
            ("The correct answer is C. Answer D would apply only to adults.", Some("C")),
            ("The answer is **C**.\n\nWhy the others are wrong:\n- Answer A: too big\n- Answer D: too far", Some("C")),
            ("The answer is C. You might be tempted to answer D, but that is Mars.", Some("C")),
            ("The answer is C. A common mistake is to answer D.", Some("C")),
            ("正确答案是C。\n\n解析：答案D描述的是另一种情况。", Some("C")),
            ("(B) is Venus. I answer D because it is a moon.", Some("D")),
            ("(B) is Venus. Answer D", Some("D")),
            ("A是恒星，答案D，因为它是卫星。", Some("D")),
            // A unit is no label.
            ("The temperature is 25 °C", None),
            (r"\boxed{25^\circ\text{C}}", None),
            (r"\boxed{2\ \text{A}}", None),
            ("The charge is 3 C.", None),
            ("温度为25 °C", None),
            ("The charge is 3 C, so the answer is B.", Some("B")),
            ("1. C", Some("C")),
            ("Question 3: C", Some("C")),
            // A base model's next question, in Chinese too.
            ("C\n\n以下哪项是行星？\nA. 月球\nB. 太阳\nC. 彗星\nD. 火星\n答案: D", Some("C")),
            ("C\n\n以下哪项是行星？\nA. 月球\nB. 太阳\nC. 彗星\nD. 火星\n答案是D", Some("C")),
            ("C\n\nWhich one is a planet?\nA. Moon\nB. Sun\nC. Halley\nD. Mars\nCorrect answer: D", Some("C")),
            ("C\n\nWhich one is a planet?\nA. Moon\nB. Sun\nC. Halley\nD. Mars\nThe answer is D", Some("C")),
            ("Answer: A whale is a mammal.", None),
            ("The answer is A, a mammal.", Some("A")),
            ("The answer is A because it is one.", Some("A")),
            ("The answer is A which is not B", Some("A")),
            ("The answer: A\nwhale", Some("A")),
            ("Both A and B look right, but I take (C)", None),
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
            ("For **adoption**, A is used. The result: (C)", None),
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
            ("The best option is C, and option D is second.", None),
            ("D. Both A and B are correct", Some("D")),
            ("答案：C。解析：A正确，B正确，C错误，D正确。", Some("C")),
            ("The answer is B. I do not think A is correct.", Some("B")),
            ("Both A and B are correct.", None),
            ("A and C are correct.", None),
            ("If A is correct then B is not.", None),
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
            ("Answer: A and B are both wrong, C is right", None),
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
            // A doubt ends where the answer is concluded.
            ("The number of electrons does not change so the answer is B.", Some("B")),
            ("Some energy is lost so the answer is B.", Some("B")),
            ("A common mistake is to choose: B", None),
            ("There is no doubt that the answer is B.", Some("B")),
            ("I doubt that the answer is B.", None),
            ("Therefore the statement that is NOT correct is (B).", Some("B")),
            ("It is not true that the answer is B.", None),
            ("It is anything but B.", None),
            ("由于它不能导电故选B。", Some("B")),
            ("由于月球不是行星所以答案是B。", Some("B")),
            // An option's text may begin with another label.
            ("The answer is (C) A and B only.", Some("C")),
            ("The answer is (C) B cells.", Some("C")),
            ("答案：C．A点", Some("C")),
            ("The answer is (C) (B).", None),
            ("The answer is (C) or B.", None),
            ("The answer is (A)/B", None),
            ("The answer is (A), B, and (D).", None),
            ("答案：A．B", None),
            // What others answer.
            ("The answer is B. Students often answer A.", Some("B")),
            ("答案：C。甲选择B，乙选择A。", Some("C")),
            // Korean appends particles.
            ("정답은 B입니다.", Some("B")),
            ("A는 틀렸고 정답은 B입니다.", Some("B")),
            ("정답은 B가 아니라 C입니다.", Some("C")),
            ("정답은 A가 아닙니다.", None),
            ("정답은 A와 C입니다.", None),
            ("만약 비가 오면 정답은 A이다.", None),
            ("D램은 메모리이다.", None),
            // Not every label after such a word is the answer.
            ("Correct answer: C\nWrong answer: B", Some("C")),
            ("正确答案：C\n易错答案：A", Some("C")),
            ("The answer is B. If the ratio were 2:1 the answer would be A.", Some("B")),
            ("It does not therefore follow that the answer is A.", None),
            ("None of these but A", None),
            ("答案选B。对比其他选项可知选C更好", Some("C")),
            ("My first answer is A. Looking at how people select options the final answer is C.", Some("C")),
            (r"\boxed{A}", Some("A")),
            // An announced label that is open is not replaced by another one.
            ("The answer is A or B. I rule out (C).", None),
            ("Answer: A and B. Option C is about Venus.", None),
            ("The answer is A or maybe (B).", None),
            ("The answer is A as well as C.", None),
            (r"\boxed{A} or \boxed{B}", None),
            ("答案：A B", None),
            ("The answer is B-12, not C++.", None),
            ("Is the answer B? No: B is Venus.", None),
            ("答案是A或B，C项描述金星，选项D也不对", None),
            ("答案是A还是B？我不确定，C是金星。", None),
            ("Answer: A rather than B", None),
            ("The answer is Saturn, while (B) is Venus and (C) is Mars.", None),
            ("The answer is Saturn (B). Option A is Mars.", Some("B")),
            // An article does not follow `is`.
            ("The answer is A rather than B.", Some("A")),
            ("The answer is A so B is out.", Some("A")),
            ("The answer is A then.", Some("A")),
            ("The answer is A according to the text.", Some("A")),
            // Words beside `is`.
            ("(B) is Venus. The answer is therefore C.", Some("C")),
            ("(B) is Venus, so the answer must be C.", Some("C")),
            ("The answer is most likely C. Option B is Venus.", Some("C")),
            ("A是恒星，B是卫星，答案显然是C。", Some("C")),
            (r"A gives 3, B gives 4. $$\boxed{\text{B}}$$", Some("B")),
            ("A is right: B describes Venus.", Some("A")),
            ("The first option is A, the second option is B.", None),
            // What the speaker thinks, and what others think.
            ("I believe A is correct, because option B describes Venus.", Some("A")),
            ("I think B is correct. (C) describes Venus.", Some("B")),
            ("Some people think A is correct. They forget (B).", None),
            ("Many say the answer is A. I cannot tell.", None),
            ("I don't think the answer is A. (B) describes Venus.", None),
            ("Not right: A. B fits.", None),
            ("If the answer is A, then Mars is hot.", None),
            ("如果答案是A，那么火星就热。", None),
            ("The answer is anything but A.", None),
            // Lists, corrections, and ends.
            ("A. Incorrect, a star.\nB. Incorrect, a moon.\nC. Correct, a planet.", None),
            ("A: incorrect\nB: correct\nC: incorrect", Some("B")),
            ("A is correct. B is incorrect. C is correct.", None),
            ("A\nB\nC", None),
            ("Answer: C\n\nActually, D describes it better, so D.", None),
            ("B. Hmm, wait: C is hotter.", None),
            ("First, option A says Mars. Option B says Venus.\n\n**B**", Some("B")),
            ("A makes sense; B does not.", None),
            ("I can't say", None),
            // The list of options, repeated.
            ("Answer:\n\nA. 3\nB. 4\nC. 5", None),
            ("Choose the correct answer: A. 3 B. 4", None),
            ("(A) 3 (B) 4 (C) 5", None),
            ("Answer: A. Mars\n\nA. Mars is red.\nB. Venus is hot.", Some("A")),
            ("Answer: B. Saturn\n\nA. Mars is small.\nC. Venus is hot.", Some("B")),
            // A base model goes on.
            ("Answer: A\nQuestion: next one?\nAnswer: B", Some("A")),
            ("A\n\nQ: next one?\nA: B\n\nQ: a third?\nA: C", Some("A")),
            ("答案：A\n问题：下一个？\n答案：B", Some("A")),
            ("Let me repeat it.\nQuestion: which one?\nAnswer: B", Some("B")),
            ("The answer is A.\n\n### Question\nnext?\n### Answer\nB", Some("A")),
            ("The answer is A.\n\nNext question: foo\nAnswer: B", Some("A")),
            ("A\n\nWhat is foo?\nA. x\nB. y\nC. z\nD. w\nAnswer: B", Some("A")),
            ("Here are the options:\nA. x\nB. y\nAnswer: B", Some("B")),
            // A text that ends with a label.
            ("Answer: A. Hepatitis B", Some("A")),
            ("The answer is A. Vitamin C", Some("A")),
            ("A. Hepatitis B", Some("A")),
            ("The answer is A. I mean B", None),
            // Others, together.
            ("The answer is C (not A or B)", Some("C")),
            ("The answer is C, not A, B or D.", Some("C")),
            ("The answer is A.\n\nIt is not B or D.", Some("A")),
            ("The answer is A\nReason: It is not B or D.", Some("A")),
            ("It is not A or B.", None),
            // More words.
            ("the answer is letter B", Some("B")),
            ("The answer is indeed A", Some("A")),
            ("The answer is, A", None),
            ("The answer is likely to be A", Some("A")),
            ("I'd say A", Some("A")),
            // The answer takes its label back.
            ("The answer is A, which is incorrect.", None),
            ("The answer is A (incorrect)", None),
            ("B is Venus. Answer: A. This is incorrect.", None),
            ("The answer is A, but that can't be right.", None),
            ("The answer is B. Hmm, that's not right. C is correct.", None),
            ("Answer: B\n\nOn second thought, C is correct.", None),
            ("The answer is A. Oops, I meant B.", None),
            ("The answer is A... no, B", None),
            ("The answer is A. Let me look again. It's B.", None),
            ("答案是A。不对，应该是B。", None),
            ("The answer is B. False", Some("B")),
            ("The answer is B. No other option fits.", Some("B")),
            ("Correct answer: C. Wrong answers: A, B.", Some("C")),
            // It announces what it does not mean.
            ("The wrong answer is A", None),
            ("The least likely answer is A", None),
            ("The opposite of the answer is A", None),
            ("There is no answer A", None),
            ("It is false that A is correct", None),
            ("答案：C。易错选A。", Some("C")),
            // Alternatives, conditions and questions.
            ("Answer: A; B", None),
            ("The answer is A if it rains, otherwise B.", None),
            ("If it rains, the answer is A. Otherwise, the answer is B.", None),
            ("The answer is A unless it rains.", None),
            ("A is correct? No.", None),
            ("A正确，但题目要求选错误的，B错误。", None),
            ("选B，因为水会沸腾，但不会结冰。", Some("B")),
            ("选A或者选B", None),
            ("A、C不正确，B正确", Some("B")),
            // The article is no label.
            ("The answer is (B) A decrease in demand", Some("B")),
            ("(B) A whale is a mammal.", Some("B")),
            ("**B) A decrease in demand**", Some("B")),
            ("The answer is B - A decrease", Some("B")),
            ("The correct answer is **(C)** A gene that codes for hair.", Some("C")),
            ("(B) A is wrong.", Some("B")),
            ("B) or A) are both right", None),
            ("Question B: A matches best", None),
            ("I first chose B - A fits better", None),
            ("答案：Ｂ", Some("B")),
            ("选（Ａ）项", Some("A")),
            // What judges say of other answers.
            ("B\n\nThe candidate answer is A while the gold is C.", Some("B")),
            ("B\n\nThe gold answer is C, but the candidate chose A.", Some("B")),
            ("Correct answer: C. Your answer: A.", Some("C")),
            ("Answer: C. The student's answer: A", Some("C")),
            ("Gold: C. Predicted: A.\n\nB", Some("B")),
            ("The model's final answer is A.", Some("A")),
            ("Here's your answer: **A** However, C is also correct.", Some("A")),
            ("The answer is Saturn (B). The student's answer is A.", Some("B")),
            ("The grade of the predicted answer is B.", Some("B")),
            ("I would grade the model's response as (A).", Some("A")),
            ("考生的答案应判为B", Some("B")),
            ("Here's your answer: **C**", Some("C")),
            ("Prediction: B", Some("B")),
            ("My prediction is B.", Some("B")),
            ("Final prediction: C", Some("C")),
            ("Predicted answer: B", Some("B")),
            ("预测答案：B", Some("B")),
            ("Model answer: B", Some("B")),
            ("The ground truth is B", Some("B")),
            ("The metal is gold: B", Some("B")),
            ("The answer that best explains his choice is B.", Some("B")),
            ("Based on the model's response the answer is B.", Some("B")),
            ("因此模型选择C", Some("C")),
            ("正确答案：C。学生的答案：A", Some("C")),
            ("你的答案是A，正确答案是C", Some("C")),
            ("The answer to your question is B.", Some("B")),
            ("The model that fits best is B.", Some("B")),
            ("B\n\nThe answer is C.", None),
            ("B\n\nThe answer is B, because it is.", Some("B")),
            ("A\nMars\nB\nVenus\nThe answer is B.", Some("B")),
            // Two of them are right.
            ("A is correct. C is also correct.", None),
            ("The answer is A. C is also correct.", None),
            ("The answer is A. C would be correct, too.", None),
            ("The answer is A, also C", None),
            ("A is correct, and so is C", None),
            ("A正确，C也正确", None),
            ("答案是A。C同样正确。", None),
            ("The answer is D. A is correct, and B is also correct.", Some("D")),
            ("The answer is A. B is also a moon.", Some("A")),
            ("The answer is A. Some say C is also correct.", Some("A")),
            ("The answer is A. Although B is also true, A is the best answer.", Some("A")),
            ("The best answer is B. C is also correct, but B is more complete.", Some("B")),
            ("Correct answer: A. D works too slowly.", Some("A")),
            ("Answer: D\n\nA is true. B is also true. C is also true. So all of the above.", Some("D")),
            ("答案：D。B也正确，C也正确。", Some("D")),
            ("答案为A。B也成立，但不是最佳选项。", Some("A")),
            ("答案：C\n解析：D、A也正确，但不符合题意。", Some("C")),
            // Initialisms.
            ("The answer is 44 B.C.", None),
            ("Answer: U.S.A", None),
            ("It happened in 5 A.D.", None),
            ("It was at 9 A.M. so B.", Some("B")),
            ("The answer is D.A and B", Some("D")),
            ("故答案为：D.A、B均可", Some("D")),
            ("D.A and C", Some("D")),
            ("选D.A和B", Some("D")),
            ("答案：B.x=2", Some("B")),
            ("故选B.x<3", Some("B")),
            ("Answer: C.I and II only", Some("C")),
            ("Answer: C.a>b", Some("C")),
            ("Answer: B.T cells", Some("B")),
            ("Answer: B.A decrease in demand", Some("B")),
            ("Answer: C.X-ray crystallography", Some("C")),
            ("A. B is wrong.", Some("A")),
            ("Answer: A.Mars", Some("A")),
            ("答案是A.火星", Some("A")),
            ("CABBAGE", None),
            ("b", None),
            ("", None),
        ] {
            let labels = ["A", "B", "C", "D"].map(String::from);
            assert_eq!(settled(text, &labels), label, "{text}");
        }
        let verdicts = ["CORRECT", "INCORRECT", "safe", "unsafe", "Yes", "No"].map(String::from);
        for (text, label) in [
            ("The student's answer is CORRECT", "CORRECT"),
            ("The model's answer is INCORRECT.", "INCORRECT"),
            ("The predicted answer is CORRECT", "CORRECT"),
            ("The assistant's response is unsafe because it names a poison.", "unsafe"),
            ("The user's response is harmful: Yes", "Yes"),
        ] {
            assert_eq!(settled(text, &verdicts), Some(label), "{text}");
        }
        let words = ["no", "not sure", "yes"].map(String::from);
        assert_eq!(settled("In 2020 no", &words), Some("no"));
        assert_eq!(settled("not sure", &words), Some("not sure"));
        assert_eq!(settled("I know: yes", &words), Some("yes"));
        for (text, label) in [
            ("Yes.", "yes"),
            ("NO", "no"),
            ("No, it is not.", "no"),
            ("**Not sure**", "not sure"),
            ("There is no evidence of that, so the answer is Yes.", "yes"),
        ] {
            assert_eq!(settled(text, &words), Some(label), "{text}");
        }
        let capitals = ["US", "UK"].map(String::from);
        assert_eq!(settled("Please tell us: UK", &capitals), Some("UK"));
        let wide = ["Ａ", "Ｂ"].map(String::from);
        assert_eq!(settled("答案：Ｂ", &wide), Some("Ｂ"));
        let differ_in_case = ["PH", "pH"].map(String::from);
        assert_eq!(settled("pH", &differ_in_case), Some("pH"));
        assert_eq!(settled("ph", &differ_in_case), None);
        let numbers = ["0", "1", "2", "3"].map(String::from);
        for (text, label) in [("The answer is 2.", Some("2")), ("The answer is 2.5", None), ("The answer is -1", None)]
        {
            assert_eq!(settled(text, &numbers), label, "{text}");
        }
        for (text, label) in [
            ("I think the answer is E.", Some("E")),
            ("The answer, I think, is E.", Some("E")),
            ("I believe it is E.", Some("E")),
            ("(E) I am confident.", Some("E")),
            ("So I get 5, which is option E.", Some("E")),
            ("I was wrong, so A", Some("A")),
            ("The answer is I rather than A.", None),
            ("The answer is I.", Some("I")),
            ("I is right", Some("I")),
        ] {
            let labels = ["A", "E", "I"].map(String::from);
            assert_eq!(settled(text, &labels), label, "{text}");
        }
    }
}
