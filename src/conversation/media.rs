//! Images, audio and video in a message: where they are, never their contents.

use std::path::Path;

use base64::engine::general_purpose::STANDARD;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};

use crate::conversation::json_object::Others;
use crate::error::{Error, ErrorKind, Result};

/// An image, audio or video. metatok passes on its location and never opens, fetches or decodes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The kind.
    pub kind: MediaKind,
    /// The source: a path, a URL, or a data URL; for OpenAI's `input_audio` the base64 data.
    pub source: String,
    pub(super) form: Form,
    pub(super) others: Others,
}

/// The kind of a [`Media`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
}

impl MediaKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Image, Self::Audio, Self::Video];

    /// `image`, `audio` or `video`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }

    /// The type of OpenAI's content parts, which is also the key that holds the URL.
    pub(crate) fn url_key(self) -> &'static str {
        match self {
            Self::Image => "image_url",
            Self::Audio => "audio_url",
            Self::Video => "video_url",
        }
    }

    /// With its article, for messages.
    pub(crate) fn indefinite(self) -> &'static str {
        match self {
            Self::Image => "an image",
            Self::Audio => "audio",
            Self::Video => "a video",
        }
    }
}

/// How the source is written in the JSON of a content part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// `"image_url": {"url": …, others}`
    UrlObject(Others),
    /// `"image_url": …`
    Url,
    /// `"image": …`, as in vision libraries.
    Bare,
    /// `"input_audio": {"data": …, others}`
    InputAudio(Others),
}

impl Media {
    /// In the form that servers accept: `{"type": "image_url", "image_url": {"url": source}}`.
    pub fn new(kind: MediaKind, source: impl Into<String>) -> Self {
        Self { kind, source: source.into(), form: Form::UrlObject(Others::new()), others: Others::new() }
    }

    /// The source, short enough for a message: its beginning and its length.
    ///
    /// ```
    /// use metatok::conversation::{Media, MediaKind};
    ///
    /// assert_eq!(Media::new(MediaKind::Image, "file:///a.png").short_source(), "file:///a.png");
    /// let data = Media::new(MediaKind::Image, format!("data:image/png;base64,{}", "A".repeat(4000)));
    /// assert_eq!(data.short_source(), "data:image/png;base64,AAAAAAAA… (4022 bytes)");
    /// ```
    pub fn short_source(&self) -> String {
        const SHOWN: usize = 64;
        let is_data = self.is_data();
        let shown = match self.source.find(',').filter(|_| is_data) {
            Some(comma) => (comma + 9).min(SHOWN),
            None if is_data => 8,
            None => SHOWN,
        };
        match self.source.char_indices().nth(shown) {
            Some((end, _)) => format!("{}… ({} bytes)", &self.source[..end], self.source.len()),
            None => self.source.clone(),
        }
    }

    /// The path, if the source is a path or a `file:` URL.
    pub fn path(&self) -> Option<&str> {
        match self.source.split_once("://") {
            Some(("file", path)) => Some(path),
            Some(_) => None,
            None => (!self.is_data()).then_some(&self.source),
        }
    }

    fn is_data(&self) -> bool {
        self.source.starts_with("data:") || matches!(self.form, Form::InputAudio(_))
    }

    /// Checks what can be checked without opening it: that the data of a data URL is valid base64. A video may be
    /// several frames separated by commas, as in AISBench. With `files`, also checks that a local file exists.
    ///
    /// ```
    /// use metatok::conversation::{Media, MediaKind};
    ///
    /// assert!(Media::new(MediaKind::Audio, "data:audio/wav;base64,UklGRg==").check(false).is_ok());
    /// let error = Media::new(MediaKind::Image, "data:image/png;base64,iVBO/x.png").check(false).unwrap_err();
    /// assert_eq!(error.to_string(), "the image data:image/png;base64,iVBO/x.p… (32 bytes) is not valid base64: Invalid symbol 46, offset 6.");
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Media`] with the kind, the shortened source, and what is wrong with it.
    pub fn check(&self, files: bool) -> Result<()> {
        let wrong = |what: String| -> Result<()> {
            Err(Error::from(ErrorKind::Media { kind: self.kind.name(), shortened: self.short_source(), what }))
        };
        let base64 = match &self.form {
            Form::InputAudio(_) => Some(self.source.as_str()),
            _ if !self.source.starts_with("data:") => None,
            _ => match self.source.split_once(',') {
                Some((head, data)) if head.ends_with(";base64") => Some(data),
                Some(_) => None,
                None => return wrong("is not a data URL: there is no comma before the data".into()),
            },
        };
        if let Some(base64) = base64 {
            let invalid = base64.split(',').find_map(|frame| undecodable(frame).err());
            return invalid.map_or(Ok(()), |error| wrong(format!("is not valid base64: {error}")));
        }
        match self.path().filter(|_| files) {
            Some(path) if !exists(path) => wrong("does not exist".into()),
            _ => Ok(()),
        }
    }

    pub(super) fn from_json(kind: &str, mut entries: Others) -> std::result::Result<Self, String> {
        use serde_json::Value;
        let by_url = MediaKind::ALL.into_iter().find(|media| media.url_key() == kind);
        let bare = MediaKind::ALL.into_iter().find(|media| media.name() == kind);
        let lacks = |key: &str| format!("a content part of type {kind:?} has no {key}");
        let text = |value: Option<Value>, key: &str| match value {
            Some(Value::String(text)) => Ok(text),
            _ => Err(lacks(key)),
        };
        let (media, source, form) = match (by_url, bare, kind) {
            (Some(media), ..) => match entries.shift_remove(kind) {
                Some(Value::Object(mut inner)) => (
                    media,
                    text(inner.shift_remove("url"), &format!("string \"url\" in {kind:?}"))?,
                    Form::UrlObject(inner),
                ),
                value => (media, text(value, &format!("{kind:?} that is a string or {{\"url\": \"…\"}}"))?, Form::Url),
            },
            (_, Some(media), _) => (media, text(entries.shift_remove(kind), &format!("string {kind:?}"))?, Form::Bare),
            (.., "input_audio") => match entries.shift_remove(kind) {
                Some(Value::Object(mut inner)) => {
                    (MediaKind::Audio, text(inner.shift_remove("data"), "string \"data\"")?, Form::InputAudio(inner))
                }
                _ => return Err(lacks("\"input_audio\" that is {\"data\": \"…\", \"format\": \"…\"}")),
            },
            _ => {
                return Err(format!(
                    "unknown type {kind:?} of a content part; the types are text, image_url, audio_url, video_url, image, audio, video, input_audio"
                ));
            }
        };
        Ok(Self { kind: media, source, form, others: entries })
    }

    pub(super) fn without_null_keys(mut self) -> Self {
        self.others.retain(|_, value| !value.is_null());
        self
    }

    pub(super) fn write<M: SerializeMap>(&self, map: &mut M) -> std::result::Result<(), M::Error> {
        let inner = |key, others| Inner { key, source: &self.source, others };
        match &self.form {
            Form::UrlObject(others) => {
                map.serialize_entry("type", self.kind.url_key())?;
                map.serialize_entry(self.kind.url_key(), &inner("url", others))?;
            }
            Form::Url => {
                map.serialize_entry("type", self.kind.url_key())?;
                map.serialize_entry(self.kind.url_key(), &self.source)?;
            }
            Form::Bare => {
                map.serialize_entry("type", self.kind.name())?;
                map.serialize_entry(self.kind.name(), &self.source)?;
            }
            Form::InputAudio(others) => {
                map.serialize_entry("type", "input_audio")?;
                map.serialize_entry("input_audio", &inner("data", others))?;
            }
        }
        self.others.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))
    }
}

/// The object that contains a source, which comes first.
struct Inner<'m> {
    key: &'static str,
    source: &'m str,
    others: &'m Others,
}

impl Serialize for Inner<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.key, self.source)?;
        self.others.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

/// Decodes without keeping the output.
fn undecodable(base64: &str) -> std::io::Result<u64> {
    let mut bytes = base64.as_bytes();
    std::io::copy(&mut base64::read::DecoderReader::new(&mut bytes, &STANDARD), &mut std::io::sink())
}

/// Some programs write the path of a `file:` URL unchanged, others with percent signs.
fn exists(path: &str) -> bool {
    Path::new(path).exists()
        || percent_encoding::percent_decode_str(path).decode_utf8().is_ok_and(|path| Path::new(&*path).exists())
}
