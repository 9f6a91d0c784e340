//! The keys of a message other than its content: those that change no prompt, those that would, and unknown ones.

use serde_json::Value;

use crate::conversation::json_object::Others;
use crate::conversation::{ChatMessage, Conversation, Item, MediaKind, Message, SAID_BESIDE, says_nothing};
use crate::error::{At, Error, ErrorKind, Place, Result, Setting, way_out};

/// Keys that change no prompt, whatever their value. Those of training are OpenAI's, LLaMA-Factory's, ms-swift's and axolotl's.
const HARMLESS: [&str; 10] = [
    "name",
    "weight",
    "id",
    "annotations",
    "tool_call_id",
    "loss",
    "loss_scale",
    "loss_weight",
    "train",
    "train_detail",
];

/// The error of a key.
type Refuse = fn(&'static str) -> Error;

/// Keys that would change the prompt unless they are empty, and the error for each.
const SAID: [(&str, Refuse); 10] = [
    ("tool_calls", call),
    ("function_call", call),
    ("reasoning_content", thought),
    ("reasoning", thought),
    ("thinking", thought),
    ("refusal", refusal),
    ("audio", audio),
    (MediaKind::Image.list_key(), media_would_be_lost),
    (MediaKind::Video.list_key(), media_would_be_lost),
    (MediaKind::Audio.list_key(), media_would_be_lost),
];

fn call(key: &'static str) -> Error {
    lost(key, "templates have no place for calls").with_way_out(way_out![
        "put the call in \"content\" in the form that the model writes, leave the message out, or use ",
        Setting::FORMAT.set_to("messages"),
        " for a server that applies the template"
    ])
}

fn thought(key: &'static str) -> Error {
    lost(key, "templates have no place for thoughts").with_way_out(way_out![
        "put them in \"content\" in the form that the model writes (<think>…</think>), remove the key, or use ",
        Setting::FORMAT.set_to("messages"),
        " for a server that applies the template"
    ])
}

fn refusal(key: &'static str) -> Error {
    lost(key, "templates have no place for refusals").with_way_out("put it in \"content\", or remove the key")
}

fn audio(key: &'static str) -> Error {
    lost(key, "templates have no place for the sound of an answer")
        .with_way_out("put its transcript in \"content\", or remove the key")
}

/// The error for media that are not in a content.
pub(crate) fn media_would_be_lost(key: &'static str) -> Error {
    lost(key, "only what a content lists has a place in its prompt").with_way_out(
        "put a part, such as {\"type\": \"image\"}, in \"content\" where each of them belongs, or <image> in its text, or remove the key",
    )
}

/// The error for tools that no template writes.
pub(crate) fn tools_would_be_lost() -> Error {
    lost("tools", "templates have no place for tool descriptions").with_way_out(way_out![
        "put them in the system message in the form that the model expects, remove the key, or use ",
        Setting::FORMAT.set_to("messages"),
        ", which passes tools to the server"
    ])
}

fn documents_would_be_lost() -> Error {
    lost("documents", "only chat templates have a place for documents and variables")
        .with_way_out("put them in a message, or remove the key")
}

fn lost(key: &'static str, why: &'static str) -> ErrorKind {
    ErrorKind::WouldBeLost { key, why }
}

/// Keys that servers read in OpenAI-style messages, beside [`SAID_BESIDE`].
const OF_SERVERS: [&str; 3] = ["name", "tool_call_id", "thinking"];

impl Conversation {
    /// Rejects contents of messages other than their text for which templates have no place.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBeLost`] names the first one.
    pub(crate) fn check_others(&self) -> Result<()> {
        if let Self::Chat(_) = self {
            return Err(self.would_be_lost());
        }
        let place = if matches!(self, Self::List(_)) { Place::Item } else { Place::Message };
        self.others().try_for_each(|(index, others)| check(others).at(place(index)))
    }

    /// The error for what a conversation has beside its messages, where there is no place for it.
    pub(crate) fn would_be_lost(&self) -> Error {
        match self {
            Self::Chat(chat) if chat.tools.is_none() => documents_would_be_lost(),
            _ => tools_would_be_lost(),
        }
    }

    /// The unknown keys of its messages, each with the position of its message. They are kept, but do not affect
    /// prompts.
    ///
    /// ```
    /// use metatok::Conversation;
    ///
    /// let said = r#"[{"role": "user", "name": "Ada", "country": "UK", "content": "Hi!"}]"#;
    /// let conversation: Conversation = serde_json::from_str(said)?;
    /// assert_eq!(conversation.unknown_keys().collect::<Vec<_>>(), [(0, "country")]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn unknown_keys(&self) -> impl Iterator<Item = (usize, &str)> {
        self.others().flat_map(|(index, others)| {
            let unknown = others.iter().filter(|(key, value)| !is_known(key) && !says_nothing(value));
            unknown.map(move |(key, _)| (index, key.as_str()))
        })
    }

    /// The other keys of its messages, if there are any.
    pub(super) fn others(&self) -> impl Iterator<Item = (usize, &Others)> {
        let (items, messages) = match self {
            Self::Text(_) => (&[][..], &[][..]),
            Self::List(items) => (&items[..], &[][..]),
            Self::Messages(_) | Self::Chat(_) => (&[][..], self.messages().unwrap_or_default()),
        };
        let of_items = items.iter().map(|item| match item {
            Item::Message(Message { others, .. }) => Some(others),
            Item::Text(_) | Item::Marker(_) => None,
        });
        let of_messages = messages.iter().map(|ChatMessage { others, .. }| Some(others));
        let all = of_items.enumerate().chain(of_messages.enumerate());
        all.filter_map(|(index, others)| Some((index, others.filter(|others| !others.is_empty())?)))
    }
}

impl ChatMessage {
    /// The other keys that servers read.
    pub(crate) fn others_for_servers(&self) -> impl Iterator<Item = (&String, &Value)> {
        let is_read = |key: &str| SAID_BESIDE.contains(&key) || OF_SERVERS.contains(&key);
        self.others.iter().filter(move |(key, value)| is_read(key) && !says_nothing(value))
    }
}

/// Whether a turn says something besides its content: calls, thoughts, a refusal.
pub(super) fn says_something(others: &Others) -> bool {
    SAID.iter().any(|(key, _)| others.get(*key).is_some_and(|value| !says_nothing(value)))
}

/// Whether it is a known key of messages.
fn is_known(key: &str) -> bool {
    HARMLESS.contains(&key) || SAID.iter().any(|(said, _)| *said == key)
}

fn check(others: &Others) -> Result<()> {
    for (key, error) in SAID {
        if others.get(key).is_some_and(|value| !says_nothing(value)) {
            return Err(error(key));
        }
    }
    Ok(())
}
