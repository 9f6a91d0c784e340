//! Conversations that a template may treat in another way than short ones of ordinary content: around each number in its
//! code, as long chats or contents, and of contents that tests on characters tell apart.

use serde_json::Value;

use crate::builder::alternating_chat;
use crate::conversation::Conversation;
use crate::dialect::ChatTemplate;

/// The longest chats, in messages. A template with a higher number may count what no conversation here has.
const MOST_MESSAGES: usize = 1 << 12;
/// The numbers that are tried with every template: of a chat's messages, and of a content's characters.
const USUAL: [usize; 2] = [64, 5_000];
/// Contents that tests on characters, and filters that make numbers, tell from others.
const TOLD_APART: [&str; 19] = [
    "YES", "yes", "Yes", "yes no", "42", "-7", "3.5", "1e5", "²", "a1", "_x", "True", "None", "ÄÖ",
    // What is another text in other cases and back.
    "Straße", "ﬁne", "İ", "ǅ", "ΟΔΟΣ",
];

/// Conversations for this template; none if it has numbers that are too high to try.
pub(crate) fn unusual(template: &ChatTemplate) -> Option<Vec<Conversation>> {
    let mut numbers: Vec<usize> = template.numbers().into_iter().collect();
    let mut contents: Vec<String> = TOLD_APART.map(str::to_owned).into();
    template.kwargs.values().for_each(|value| leaves(value, &mut numbers, &mut contents));
    if numbers.iter().any(|number| *number > MOST_MESSAGES) {
        return None;
    }
    numbers.extend(USUAL);
    numbers.sort_unstable();
    numbers.dedup();
    let mut all: Vec<Conversation> = Vec::new();
    for number in numbers.into_iter().filter(|number| *number > 1) {
        if number <= MOST_MESSAGES {
            let counts = number - 1..=number + 3;
            for (count, has_system) in counts.flat_map(|count| [(count, false), (count, true)]) {
                all.push(alternating_chat(has_system, count, |at| at.to_string()));
                all.push(alternating_chat(has_system, count, blank_or_empty));
            }
        }
        contents.extend((number - 1..=number + 2).flat_map(|number| [text(' ', number), number.to_string()]));
        // With more words or lines than the number, too.
        contents.extend([' ', '\n'].map(|between| text(between, 2 * number + 3)));
    }
    // Neighbours and those further apart are the same.
    for content in contents {
        for has_system in [false, true] {
            all.extend([1, 2, 5, 6].map(|count| alternating_chat(has_system, count, |_| content.clone())));
            all.push(alternating_chat(has_system, 3, |at| if at == 1 { content.clone() } else { at.to_string() }));
        }
    }
    Some(all)
}

/// The numbers and texts of a variable.
fn leaves(value: &Value, numbers: &mut Vec<usize>, texts: &mut Vec<String>) {
    match value {
        // One that is too high for any type is the highest.
        Value::Number(number) => numbers.push(number.as_f64().unwrap_or(f64::INFINITY).abs().ceil() as usize),
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, numbers, texts)),
        Value::Object(entries) => entries.values().for_each(|entry| leaves(entry, numbers, texts)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The content of the message at this place: empty, with blanks at its ends, or neither, in turn.
fn blank_or_empty(at: usize) -> String {
    match at % 3 {
        0 => String::new(),
        1 => format!(" {at}\n"),
        _ => at.to_string(),
    }
}

/// A text of this number of characters, of which every second one is between words or lines.
fn text(between: char, length: usize) -> String {
    let letters = ('a'..='z').cycle().flat_map(|letter| [letter, between]);
    let mut text: String = letters.take(length).collect();
    if text.ends_with(between) {
        text.pop();
        text.push('z');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_variables_are_tried_whatever_their_type() {
        let mut numbers = Vec::new();
        leaves(&serde_json::json!([-3, 2.5, 20000.0, i64::MIN, u64::MAX, 1e300]), &mut numbers, &mut Vec::new());
        assert_eq!(numbers, [3, 3, 20_000, 1 << 63, usize::MAX, usize::MAX]);
    }
}
