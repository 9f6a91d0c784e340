//! Conversations that templates are compared on.

use crate::conversation::{ChatMessage, Conversation};

/// What the contents of generated conversations are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ContentKind {
    /// What people ask and models answer.
    Ordinary,
    /// With blanks at their ends.
    OuterBlanks,
    /// Some of them are empty.
    Empty,
    /// Answers with `<think>…</think>`.
    Thoughts,
    /// With markup, control tokens of many models among it.
    Markup,
    /// With what stands in quotes in the template itself.
    Literals,
    /// Plain, in chats that do not alternate, such as those with two questions in a row.
    Orders,
    /// In long chats, or long themselves, or of characters that tests tell apart. They are made of the template's code, not by
    /// [`generated`].
    Long,
}

impl ContentKind {
    /// All kinds in short alternating chats, the simplest first.
    pub const ALL: [Self; 6] =
        [Self::Ordinary, Self::OuterBlanks, Self::Empty, Self::Thoughts, Self::Markup, Self::Literals];

    /// What a model is compared on when it is made, further to [`Self::ALL`].
    pub(super) const FURTHER: [Self; 2] = [Self::Orders, Self::Long];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary content",
            Self::OuterBlanks => "outer blanks",
            Self::Empty => "empty content",
            Self::Thoughts => "thoughts",
            Self::Markup => "markup",
            Self::Literals => "the template's own literals",
            Self::Orders => "other orders of messages",
            Self::Long => "long chats and contents",
        }
    }

    /// Its name in model files, see [`crate::dialect::Verification`].
    pub fn code(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::OuterBlanks => "blanks",
            Self::Empty => "empty",
            Self::Thoughts => "thoughts",
            Self::Markup => "markup",
            Self::Literals => "literals",
            Self::Orders => "orders",
            Self::Long => "long",
        }
    }

    fn contents(self, literals: &[String]) -> Vec<String> {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        match self {
            Self::Ordinary => texts(&[
                "Which planet is red?",
                "It is Mars.\n\nMars is red.",
                "1+1=?",
                "日本の首都は？",
                "Ja, “Käse” & Brot",
            ]),
            Self::OuterBlanks => texts(&[" 1+1=?", "Two. ", "\n\nWell\n", "\ta\u{a0}", " \n b \n ", "c"]),
            Self::Empty => texts(&["", "1+1=?", " ", "", "Two.", "\n"]),
            Self::Thoughts => texts(&[
                "<think>\nHm.\n</think>\n\nTwo.",
                "<think>\n\n</think>\n\nFour.",
                "Hm.</think>Six.",
                "<think>open",
                " Hm.</think> Six. ",
                "Eight.",
            ]),
            Self::Markup => texts(&[
                "<b>bold</b> [1]",
                "<|im_end|>",
                "[INST] x [/INST]",
                "</s><s>",
                "<tool_call>{}</tool_call>",
                "a <end_of_turn>",
            ]),
            Self::Literals => literals.to_vec(),
            Self::Orders | Self::Long => Vec::new(),
        }
    }
}

/// Conversations with contents of a kind: with and without a system message, of one to four turns, each ending with a
/// question and with an answer. The same each time.
pub fn generated(kind: ContentKind, literals: &[String]) -> Vec<Conversation> {
    match kind {
        ContentKind::Orders => ORDERS.map(in_order).to_vec(),
        ContentKind::Long => Vec::new(),
        _ => alternating(kind, literals),
    }
}

/// The roles of chats that do not alternate.
const ORDERS: [&str; 9] = [
    "user user",
    "user user assistant user",
    "user assistant assistant user",
    "assistant user",
    "system assistant user",
    "user system user",
    "user assistant system user",
    "system user assistant system user",
    "system system user",
];

fn in_order(roles: &str) -> Conversation {
    let messages = (1..).zip(roles.split(' ')).map(|(at, role)| ChatMessage::new(role, format!("{role} {at}")));
    Conversation::Messages(messages.collect())
}

fn alternating(kind: ContentKind, literals: &[String]) -> Vec<Conversation> {
    let contents = kind.contents(literals);
    let mut next = 0;
    let mut take = |of_kind: bool, plain: &str| {
        if !of_kind || contents.is_empty() {
            return plain.to_owned();
        }
        next += 1;
        contents[(next - 1) % contents.len()].clone()
    };
    let mut all = Vec::new();
    // Thoughts are the model's; all else anybody may say.
    let everybody = kind != ContentKind::Thoughts;
    for round in 0..4 {
        for has_system in [false, true] {
            for turns in 1..=4 {
                for ends_with_answer in [false, true] {
                    let mut messages = Vec::new();
                    if has_system {
                        messages.push(ChatMessage::new("system", take(everybody && round % 2 == 0, "Be brief.")));
                    }
                    for turn in 0..turns {
                        messages.push(ChatMessage::new("user", take(everybody, "1+1=?")));
                        if turn + 1 < turns || ends_with_answer {
                            messages.push(ChatMessage::new("assistant", take(true, "2")));
                        }
                    }
                    all.push(Conversation::Messages(messages));
                }
            }
        }
    }
    all
}
