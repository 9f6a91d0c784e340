//! Why two models write a conversation differently: the change of the conversation with which they agree.

use std::fmt;

use serde::Serialize;

use crate::builder::PromptBuilder;
use crate::conversation::{ChatMessage, Content, Conversation, END_OF_THOUGHTS};
use crate::diff::pair::{Pair, Prompts};
use crate::tokenizer::TokenId;

/// Why two prompts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// Only one of them begins with a special token, such as BOS.
    Bos,
    /// One writes a system message that the conversation does not have.
    DefaultSystem,
    /// One strips blanks at the ends of contents.
    OuterBlanks,
    /// One drops thoughts from earlier answers, or writes empty ones.
    Thoughts,
    /// One treats empty contents in its own way.
    Empty,
    /// They write different dates.
    Date,
    /// They write the same text, of which one makes control tokens where the other has text.
    ControlTokens,
    /// Only one of them refuses the conversation.
    Refused,
    /// None of these.
    Other,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bos => "BOS",
            Self::DefaultSystem => "default system",
            Self::OuterBlanks => "outer blanks",
            Self::Thoughts => "thoughts",
            Self::Empty => "empty content",
            Self::Date => "date",
            Self::ControlTokens => "control tokens",
            Self::Refused => "refused by one",
            Self::Other => "other",
        })
    }
}

impl Cause {
    /// Why the prompts of a conversation differ, which they do.
    pub(super) fn of(pair: &Pair, conversation: &Conversation, prompts: &Prompts) -> Self {
        let changed = |change: fn(&str) -> String| with_texts(conversation, change);
        let changes: [(Self, Option<Conversation>); 4] = [
            (Self::OuterBlanks, changed(|text| text.trim().to_owned())),
            (Self::Thoughts, changed(without_thoughts)),
            (Self::Empty, changed(|text| if text.trim().is_empty() { "x".into() } else { text.to_owned() })),
            (Self::DefaultSystem, with_system(conversation)),
        ];
        let agree = |changed: &Conversation| changed != conversation && pair.agree(changed);
        if let Some((cause, _)) = changes.iter().find(|(_, changed)| changed.as_ref().is_some_and(agree)) {
            return *cause;
        }
        let [Ok(ours), Ok(theirs)] = prompts else { return Self::Refused };
        let text = |builder: &PromptBuilder, ids: &[TokenId]| builder.tokenizer().decode(ids, false);
        match (text(&pair.ours, ours), text(&pair.theirs, theirs)) {
            _ if only_bos(&pair.ours, ours, theirs) => Self::Bos,
            (Ok(ours), Ok(theirs)) if ours == theirs => Self::ControlTokens,
            (Ok(ours), Ok(theirs)) if without_dates(&ours) == without_dates(&theirs) => Self::Date,
            _ => Self::Other,
        }
    }
}

fn with_texts(conversation: &Conversation, change: impl Fn(&str) -> String) -> Option<Conversation> {
    let messages = conversation.messages()?.iter().map(|message| {
        let content = match &message.content {
            Content::Text(text) => Content::Text(change(text)),
            other => other.clone(),
        };
        ChatMessage { content, ..message.clone() }
    });
    Some(Conversation::Messages(messages.collect()))
}

fn with_system(conversation: &Conversation) -> Option<Conversation> {
    let messages = conversation.messages()?;
    let has_system = messages.first().is_some_and(|first| first.role == "system");
    (!has_system).then(|| {
        let system = std::iter::once(ChatMessage::new("system", "Be brief."));
        Conversation::Messages(system.chain(messages.iter().cloned()).collect())
    })
}

fn without_thoughts(text: &str) -> String {
    text.rsplit_once(END_OF_THOUGHTS).map_or(text, |(_, answer)| answer.trim_start()).to_owned()
}

/// Whether one prompt is the other one after a special token.
fn only_bos(builder: &PromptBuilder, ids: &[TokenId], other: &[TokenId]) -> bool {
    let (longer, shorter) = if ids.len() > other.len() { (ids, other) } else { (other, ids) };
    let is_special = |id: &TokenId| builder.tokenizer().added_token(*id).is_some_and(|token| token.special);
    longer.len() == shorter.len() + 1 && longer[1..] == *shorter && is_special(&longer[0])
}

/// A text with every digit the same, and every English month.
fn without_dates(text: &str) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let text: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    MONTHS.iter().fold(text, |text, month| text.replace(month, "Jan").replace(&month[..3], "Jan"))
}
