//! The content of a message: a text, or parts of several kinds in order.

use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};

use crate::by_form::deserialize_by_form;
use crate::conversation::json_object::{Others, own_or_value};
use crate::conversation::media::{Media, MediaKind, PartType, medium_in_text};
use crate::tokenizer::TokenId;

/// The content of a message.
///
/// ```
/// use metatok::conversation::{Content, ContentPart, Media, MediaKind};
///
/// let content: Content = serde_json::from_str(
///     r#"[{"type": "image_url", "image_url": {"url": "file:///a.png"}}, {"type": "text", "text": "What is it?"}]"#,
/// )?;
/// let image = Media::new(MediaKind::Image, "file:///a.png");
/// assert_eq!(content, Content::Parts(vec![image.into(), ContentPart::text("What is it?")]));
/// assert_eq!(Content::from("Hi!"), "Hi!");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(String),
    /// Parts, in order. In JSON they are OpenAI's content parts.
    Parts(Vec<ContentPart>),
    /// None: null or left out, in a message that says something else, such as calls of tools or thoughts.
    Null,
}

/// A part of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentPart {
    /// Text.
    Text(TextPart),
    /// An image, audio or video.
    Media(Media),
    /// Token ids that are written unchanged: a model's own answer. A turn that begins with them opens with the role's
    /// generation prompt, after which the model gave them. They are never read from JSON, because no text and no
    /// message may forge them.
    Ids(Vec<TokenId>),
    /// A part that only some chat templates know, such as Mistral's `{"type": "thinking", …}`: all its keys.
    Other(serde_json::Map<String, serde_json::Value>),
}

/// A text part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPart {
    /// The text.
    pub text: String,
    pub(crate) others: Others,
}

impl Content {
    /// The text, if it is only a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Parts(_) | Self::Null => None,
        }
    }

    pub(crate) fn content_ref(&self) -> ContentRef<'_> {
        match self {
            Self::Text(text) => ContentRef::Text(text),
            Self::Parts(parts) => ContentRef::Parts(parts),
            Self::Null => ContentRef::Text(""),
        }
    }

    /// Adds `other` after `separator`. Texts are joined; between parts, the separator is added to the adjacent text.
    pub(crate) fn append(&mut self, separator: &str, other: Self) {
        if let (Self::Text(own), Self::Text(other)) = (&mut *self, &other) {
            own.push_str(separator);
            own.push_str(other);
            return;
        }
        let mut own = std::mem::replace(self, Self::Parts(Vec::new())).into_parts();
        let is_text = matches!(other, Self::Text(_));
        let mut other = other.into_parts();
        match (own.last_mut(), other.first_mut()) {
            (None, _) | (_, None) => {}
            (Some(ContentPart::Text(last)), _) => last.text.push_str(separator),
            (_, Some(ContentPart::Text(first))) => first.text.insert_str(0, separator),
            _ => own.push(ContentPart::text(separator)),
        }
        // An empty text is no part.
        other.retain(|part| !is_text || part.text_bytes() > 0);
        own.append(&mut other);
        *self = Self::Parts(own);
    }

    /// This content with every text, and the source of every medium, changed. `change` gets the kind of medium for a source.
    pub(crate) fn map_texts(
        self,
        mut change: impl FnMut(String, Option<MediaKind>) -> crate::Result<String>,
    ) -> crate::Result<Self> {
        Ok(match self {
            Self::Text(text) => Self::Text(change(text, None)?),
            Self::Parts(parts) => Self::Parts(map_texts(parts, change)?),
            Self::Null => Self::Null,
        })
    }

    /// Its texts, whatever is between them.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts_of(|part| match part {
            ContentPart::Text(part) => Some(&*part.text),
            ContentPart::Media(_) | ContentPart::Ids(_) | ContentPart::Other(_) => None,
        })
    }

    /// Its texts and the sources of its media: what [`Self::map_texts`] changes.
    pub(crate) fn texts_and_sources(&self) -> impl Iterator<Item = &str> {
        self.texts_of(ContentPart::text_or_source)
    }

    fn texts_of(&self, of_part: fn(&ContentPart) -> Option<&str>) -> impl Iterator<Item = &str> {
        let (text, parts) = match self {
            Self::Text(text) => (Some(text.as_str()), &[][..]),
            Self::Parts(parts) => (None, &parts[..]),
            Self::Null => (None, &[][..]),
        };
        text.into_iter().chain(parts.iter().filter_map(of_part))
    }

    pub(super) fn into_parts(self) -> Vec<ContentPart> {
        match self {
            Self::Text(text) => vec![ContentPart::text(text)],
            Self::Parts(parts) => parts,
            Self::Null => Vec::new(),
        }
    }

    /// Whether it is empty: an empty text, or no parts.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.is_empty(),
            Self::Null => true,
        }
    }
}

impl ContentPart {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextPart { text: text.into(), others: Others::new() })
    }

    /// The text, or the source of a medium.
    pub(crate) fn text_or_source(&self) -> Option<&str> {
        match self {
            Self::Text(part) => Some(&part.text),
            Self::Media(media) => Some(&media.source),
            Self::Ids(_) | Self::Other(_) => None,
        }
    }

    /// The image, audio or video, if it is one.
    pub fn as_media(&self) -> Option<&Media> {
        match self {
            Self::Media(media) => Some(media),
            Self::Text(_) | Self::Ids(_) | Self::Other(_) => None,
        }
    }

    /// The type of a part that only some chat templates know.
    pub(crate) fn other_type(&self) -> Option<&str> {
        match self {
            Self::Other(keys) => Some(keys.get("type").and_then(serde_json::Value::as_str).unwrap_or_default()),
            Self::Text(_) | Self::Media(_) | Self::Ids(_) => None,
        }
    }
}

/// [`Content::map_texts`] of parts.
pub(crate) fn map_texts(
    parts: Vec<ContentPart>,
    mut change: impl FnMut(String, Option<MediaKind>) -> crate::Result<String>,
) -> crate::Result<Vec<ContentPart>> {
    let changed = |part| {
        Ok(match part {
            ContentPart::Text(TextPart { text, others }) => {
                ContentPart::Text(TextPart { text: change(text, None)?, others })
            }
            ContentPart::Media(Media { source, form, others, kind }) => {
                ContentPart::Media(Media { source: change(source, Some(kind))?, form, others, kind })
            }
            part @ (ContentPart::Ids(_) | ContentPart::Other(_)) => part,
        })
    };
    parts.into_iter().map(changed).collect()
}

/// The content of a message, borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContentRef<'a> {
    Text(&'a str),
    Parts(&'a [ContentPart]),
}

impl<'a> ContentRef<'a> {
    /// Its text, if it is one text.
    pub(crate) fn only_text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Parts([ContentPart::Text(part)]) => Some(&part.text),
            Self::Parts(_) => None,
        }
    }

    /// Whether it consists of texts for all of which this holds.
    pub(crate) fn is_only(self, holds: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Text(text) => holds(text),
            Self::Parts(parts) => parts.iter().all(|part| matches!(part, ContentPart::Text(part) if holds(&part.text))),
        }
    }

    /// Whether it opens with token ids: an answer, which belongs directly after the generation prompt.
    pub(crate) fn opens_with_ids(self) -> bool {
        matches!(self, Self::Parts([ContentPart::Ids(_), ..]))
    }

    pub(crate) fn is_empty(self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.is_empty(),
        }
    }

    pub(crate) fn to_content(self) -> Content {
        match self {
            Self::Text(text) => Content::Text(text.to_owned()),
            Self::Parts(parts) => Content::Parts(parts.to_vec()),
        }
    }
}

impl ContentPart {
    /// How many bytes its texts and sources have.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            Self::Text(part) => part.text.len(),
            Self::Media(media) => media.source.len(),
            Self::Ids(_) | Self::Other(_) => 0,
        }
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Content {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<std::borrow::Cow<'_, str>> for Content {
    fn from(text: std::borrow::Cow<'_, str>) -> Self {
        Self::Text(text.into_owned())
    }
}

impl From<Vec<ContentPart>> for Content {
    fn from(parts: Vec<ContentPart>) -> Self {
        Self::Parts(parts)
    }
}

impl From<Media> for ContentPart {
    fn from(media: Media) -> Self {
        Self::Media(media)
    }
}

impl PartialEq<str> for Content {
    fn eq(&self, text: &str) -> bool {
        self.as_text() == Some(text)
    }
}

impl PartialEq<&str> for Content {
    fn eq(&self, text: &&str) -> bool {
        self == *text
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Parts(parts) => parts.serialize(serializer),
            Self::Null => serializer.serialize_unit(),
        }
    }
}

impl Serialize for ContentPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Text(TextPart { text, others }) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
                others.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
            }
            Self::Media(media) => media.write(&mut map)?,
            Self::Ids(ids) => {
                map.serialize_entry("type", "input_ids")?;
                map.serialize_entry("input_ids", ids)?;
            }
            Self::Other(keys) => keys.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?,
        }
        map.end()
    }
}

deserialize_by_form!(Content, "a string, or a list of content parts {\"type\": \"text\", \"text\": \"…\"}", {
    fn visit_str<E>(self, text: &str) -> std::result::Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> std::result::Result<Content, E> {
        Ok(Content::Text(text))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, parts: A) -> std::result::Result<Content, A::Error> {
        Deserialize::deserialize(de::value::SeqAccessDeserializer::new(parts)).map(Content::Parts)
    }
});

impl<'de> Deserialize<'de> for ContentPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::from_json(Others::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl ContentPart {
    /// As servers with OpenAI's API take it: media by URL.
    pub(crate) fn for_server(self) -> Self {
        match self {
            Self::Media(media) => Self::Media(media.for_server()),
            Self::Text(_) | Self::Ids(_) | Self::Other(_) => self,
        }
    }

    /// A part from the entries of a JSON object, of which those count that are not null: in tables, parts of all types have
    /// the same keys. The error describes what is wrong with them.
    pub(crate) fn from_json(mut entries: Others) -> std::result::Result<Self, String> {
        entries.retain(|_, value| !value.is_null());
        let kind = match entries.shift_remove("type") {
            Some(serde_json::Value::String(kind)) => kind,
            _ => return Err("a content part has no \"type\", such as \"text\" or \"image_url\"".into()),
        };
        match kind.as_str() {
            // OpenAI's Responses API has the others.
            "text" | "input_text" | "output_text" => match own_or_value(&mut entries, "text") {
                Some(serde_json::Value::String(text)) => match medium_in_text(&entries) {
                    None => Ok(Self::Text(TextPart { text, others: entries })),
                    Some(key) => Err(format!(
                        "a content part of type {kind:?} has a medium under {key:?}; write it as a part of its own"
                    )),
                },
                _ => Err(format!("a content part of type {kind:?} needs a string \"text\"")),
            },
            _ => match PartType::of(&kind) {
                Some(part_type) => Media::from_json(part_type, &kind, entries).map(Self::Media),
                None => {
                    entries.shift_insert(0, "type".into(), kind.into());
                    Ok(Self::Other(entries))
                }
            },
        }
    }
}
