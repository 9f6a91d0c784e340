//! Conversations, before any template is applied.
//!
//! A string, a prompt list and messages are the forms that OpenCompass distinguishes (`str`, `PromptList`, chat messages). A
//! [`Chat`] has messages with what else chat templates read.

mod chat;
mod chat_message;
mod check_media;
mod content;
mod entry;
mod from;
mod function_call;
mod json;
mod json_object;
mod media;
mod media_beside;
mod mode;
mod others;
mod prompt_list;
mod request_keys;
mod response_items;
mod roles;
mod said_beside;
mod server_messages;
mod size;
mod white_space;

use crate::error::{ErrorKind, Result};
pub use chat::Chat;
pub(crate) use chat::{ENABLE_THINKING, REASONING_EFFORT};
pub use chat_message::ChatMessage;
pub use content::{Content, ContentPart, TextPart};
pub(crate) use content::{ContentRef, map_texts};
pub(crate) use function_call::{END_OF_THOUGHTS, calls};
pub(crate) use media::unknown_type;
pub use media::{Media, MediaKind};
#[doc(hidden)]
pub use media_beside::object_of_python;
pub(crate) use media_beside::{
    count_marks, give_sources_to, has_part_without_source, is_object_of_python, source_of, source_or_data,
    sources_of_one,
};
pub use mode::Mode;
pub(crate) use others::{media_would_be_lost, tools_would_be_lost};
pub use prompt_list::{Item, Marker, Message, Prompt, Section};
pub(crate) use request_keys::{check_end, check_variables};
pub(crate) use response_items::messages_of_items;
pub(crate) use roles::{is_openai_role, openai_role, opencompass_role};
pub(crate) use said_beside::{SAID_BESIDE, says_nothing};
pub(crate) use server_messages::ServerMessages;
pub(crate) use white_space::is_space;

/// A prompt before it is rendered.
///
/// ```
/// use metatok::{ChatMessage, Conversation};
///
/// let conversation: Conversation = serde_json::from_str(r#"[{"role": "user", "content": "Hi!"}]"#)?;
/// assert_eq!(conversation, Conversation::Messages(vec![ChatMessage::new("user", "Hi!")]));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conversation {
    /// A string, to which no template is applied: OpenCompass passes strings on unchanged.
    Text(String),
    /// OpenCompass's `PromptList`: messages, strings and section markers.
    List(Vec<Item>),
    /// OpenAI-style messages. `user`, `assistant` and `system` speak as the template's HUMAN, BOT and SYSTEM (found by
    /// `api_role`, then by name). Other names must be roles of the template.
    Messages(Vec<ChatMessage>),
    /// Messages with tools, documents or variables, which only chat templates have a place for.
    Chat(Box<Chat>),
}

impl Conversation {
    /// Its messages, if it consists of OpenAI-style messages.
    ///
    /// ```
    /// use metatok::Conversation;
    ///
    /// assert_eq!(Conversation::from([("user", "Hi!")]).messages().map(<[_]>::len), Some(1));
    /// assert_eq!(Conversation::from("Hi!").messages(), None);
    /// ```
    pub fn messages(&self) -> Option<&[ChatMessage]> {
        match self {
            Self::Messages(messages) => Some(messages),
            Self::Chat(chat) => Some(&chat.messages),
            Self::Text(_) | Self::List(_) => None,
        }
    }

    /// Its messages, to be changed; no messages for a string or a prompt list.
    pub(crate) fn messages_mut(&mut self) -> &mut [ChatMessage] {
        match self {
            Self::Messages(messages) => messages,
            Self::Chat(chat) => &mut chat.messages,
            Self::Text(_) | Self::List(_) => &mut [],
        }
    }

    /// This, and then `other`, as OpenCompass joins prompts with `+`: strings are concatenated, a string next to a list
    /// becomes one more item, and an empty conversation adds nothing.
    ///
    /// ```
    /// use metatok::conversation::Item;
    /// use metatok::Conversation;
    ///
    /// let list = Conversation::List(vec![Item::Text("a".into())]);
    /// let joined = list.join(Conversation::Text("b".into()))?;
    /// assert_eq!(joined, Conversation::List(vec![Item::Text("a".into()), Item::Text("b".into())]));
    /// // With a text, a prompt list stays one, even if it is empty.
    /// let joined = Conversation::List(Vec::new()).join(Conversation::Text("b".into()))?;
    /// assert_eq!(joined, Conversation::List(vec![Item::Text("b".into())]));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] for messages combined with anything else that is not empty.
    pub fn join(self, other: Self) -> Result<Self> {
        match (self, other) {
            (one, other) if other.is_empty() && !matches!((&one, &other), (Self::Text(_), Self::List(_))) => Ok(one),
            (one, other) if one.is_empty() && !matches!((&one, &other), (Self::List(_), Self::Text(_))) => Ok(other),
            (Self::Text(one), Self::Text(other)) => Ok(Self::Text(one + &other)),
            (Self::Messages(mut one), Self::Messages(other)) => {
                one.extend(other);
                Ok(Self::Messages(one))
            }
            (Self::Messages(_) | Self::Chat(_), _) | (_, Self::Messages(_) | Self::Chat(_)) => {
                Err(ErrorKind::Conversation("messages cannot be mixed with strings or prompt lists".into()).into())
            }
            (one, other) => {
                let mut items = one.into_items();
                items.extend(other.into_items());
                Ok(Self::List(items))
            }
        }
    }

    /// The content of a message, or item of a prompt list; none if there is no such message, or no content.
    pub(crate) fn content_at(&self, index: usize) -> Option<ContentRef<'_>> {
        match self {
            Self::Text(_) => None,
            Self::List(items) => match items.get(index)? {
                Item::Message(message) => message.prompt.content_ref(),
                Item::Text(_) | Item::Marker(_) => None,
            },
            Self::Messages(_) | Self::Chat(_) => {
                self.messages()?.get(index).map(|message| message.content.content_ref())
            }
        }
    }

    /// Every image, audio and video, with the positions of its message and of its part in the message.
    ///
    /// ```
    /// use metatok::Conversation;
    ///
    /// let conversation: Conversation = serde_json::from_str(
    ///     r#"[{"role": "user", "content": [{"type": "text", "text": "Compare."}, {"type": "image_url", "image_url": {"url": "a.png"}}]}]"#,
    /// )?;
    /// let media: Vec<_> = conversation.media().map(|(message, part, media)| (message, part, &*media.source)).collect();
    /// assert_eq!(media, [(0, 1, "a.png")]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn media(&self) -> impl Iterator<Item = (usize, usize, &Media)> {
        let messages = match self {
            Self::Text(_) => 0,
            Self::List(items) => items.len(),
            Self::Messages(_) | Self::Chat(_) => self.messages().unwrap_or_default().len(),
        };
        (0..messages).flat_map(move |message| {
            let parts = match self.content_at(message) {
                Some(ContentRef::Parts(parts)) => parts,
                Some(ContentRef::Text(_)) | None => &[],
            };
            parts.iter().enumerate().filter_map(move |(part, is)| Some((message, part, is.as_media()?)))
        })
    }

    /// Whether it has an image, audio or video.
    pub fn has_media(&self) -> bool {
        self.media().next().is_some()
    }

    /// The image, audio or video at these positions.
    pub fn media_at(&self, message: usize, part: usize) -> Option<&Media> {
        self.part_at(message, part)?.as_media()
    }

    /// The part of a content at these positions.
    pub(crate) fn part_at(&self, message: usize, part: usize) -> Option<&ContentPart> {
        match self.content_at(message)? {
            ContentRef::Parts(parts) => parts.get(part),
            ContentRef::Text(_) => None,
        }
    }

    /// This conversation without the contents that are parts, if it is a prompt list; none if it has no such contents.
    pub(crate) fn without_parts(&self) -> Option<Self> {
        let Self::List(items) = self else { return None };
        let is_lost = |item: &Item| matches!(item, Item::Message(Message { prompt: Prompt::Parts(parts), .. }) if !parts.iter().all(|part| matches!(part, ContentPart::Ids(_))) || parts.is_empty());
        items.iter().any(is_lost).then(|| {
            let kept = |item: &Item| match item {
                Item::Message(message) if is_lost(item) => {
                    Item::Message(Message { prompt: Prompt::Absent, ..message.clone() })
                }
                item => item.clone(),
            };
            Self::List(items.iter().map(kept).collect())
        })
    }

    /// Whether it is empty: no text, no item, no message.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Messages(messages) => messages.is_empty(),
            Self::Chat(chat) => chat.messages.is_empty(),
        }
    }

    fn into_items(self) -> Vec<Item> {
        match self {
            Self::Text(text) => vec![Item::Text(text)],
            Self::List(items) => items,
            Self::Messages(_) | Self::Chat(_) => Vec::new(),
        }
    }
}
