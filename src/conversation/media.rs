//! Images, audio and video in a message: where they are, never their contents.

use std::path::Path;

use base64::engine::general_purpose::STANDARD;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};

use crate::conversation::json_object::{Others, own_or_value};
use crate::error::{Error, ErrorKind, Result};

/// An image, audio or video. metatok passes on its location and never opens or fetches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The kind.
    pub kind: MediaKind,
    /// The source: a path, a URL, or a data URL; for OpenAI's `input_audio` the base64 data. Empty if the message only says
    /// where it is, as transformers' processors take it: `{"type": "image"}`.
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

    /// The key beside messages that lists the sources.
    pub const fn list_key(self) -> &'static str {
        match self {
            Self::Image => "images",
            Self::Audio => "audios",
            Self::Video => "videos",
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
    /// `"image": …`, as in vision libraries, or another key that transformers' processors read.
    Bare(&'static str),
    /// None: it is given elsewhere.
    Elsewhere,
    /// `"input_audio": {"data": …, others}`
    InputAudio(Others),
}

/// The types of content parts that are media.
#[derive(Clone, Copy)]
pub(super) enum PartType {
    /// `image_url`
    Url(MediaKind),
    /// `image`
    Bare(MediaKind),
    /// `input_audio`
    InputAudio,
}

impl PartType {
    /// None for a part of another type.
    pub(super) fn of(kind: &str) -> Option<Self> {
        let of_url = || MediaKind::ALL.into_iter().find(|media| media.url_key() == kind).map(Self::Url);
        let of_bare = || MediaKind::ALL.into_iter().find(|media| media.name() == kind).map(Self::Bare);
        of_url().or_else(of_bare).or((kind == "input_audio").then_some(Self::InputAudio))
    }
}

const URL: &str = "url";
const BASE64: &str = "base64";

/// Other keys of a source that transformers' processors read.
const SOURCES: [&str; 3] = [URL, "path", BASE64];

/// The error for a part of another type, where it has no meaning.
pub(crate) fn unknown_type(kind: &str) -> String {
    format!(
        "unknown type {kind:?} of a content part; the types are text, image_url, audio_url, video_url, image, audio, video, input_audio"
    )
}

fn is_given(entries: &Others, key: &str) -> bool {
    entries.get(key).is_some_and(|value| !value.is_null())
}

impl Media {
    /// In the form that servers accept: `{"type": "image_url", "image_url": {"url": source}}`.
    pub fn new(kind: MediaKind, source: impl Into<String>) -> Self {
        Self { kind, source: source.into(), form: Form::UrlObject(Others::new()), others: Others::new() }
    }

    /// Only where it is.
    pub(super) fn elsewhere(kind: MediaKind) -> Self {
        Self { kind, source: String::new(), form: Form::Elsewhere, others: Others::new() }
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
            Some((scheme, path)) if scheme.eq_ignore_ascii_case("file") => {
                let path = path.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(path);
                // The path of `file:///C:/a.png` begins with the drive.
                let begins_with_drive = |path: &&str| cfg!(windows) && path.get(1..2) == Some(":");
                Some(path.strip_prefix('/').filter(begins_with_drive).unwrap_or(path))
            }
            Some(_) => None,
            None => (!self.is_data() && !self.source.is_empty()).then_some(&self.source),
        }
    }

    fn is_data(&self) -> bool {
        self.source.starts_with("data:") || matches!(self.form, Form::InputAudio(_) | Form::Bare(BASE64))
    }

    /// Whether the message only says where it is.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.form == Form::Elsewhere
    }

    /// Sets the source, in the form of vision libraries.
    pub(super) fn set_source(&mut self, source: String) {
        self.source = source;
        self.form = Form::Bare(self.kind.name());
    }

    /// This medium in the form of transformers' processors: `{"type": "image", …}`.
    pub(crate) fn to_bare(&self) -> Self {
        let form = match self.form {
            Form::UrlObject(_) | Form::Url => Form::Bare(URL),
            Form::InputAudio(_) => Form::Bare(self.kind.name()),
            Form::Bare(key) => Form::Bare(key),
            Form::Elsewhere => Form::Elsewhere,
        };
        Self { form, ..self.clone() }
    }

    /// This medium in the form of OpenAI's requests: `{"type": "image_url", …}`.
    pub(crate) fn to_url(&self) -> Self {
        let form = match &self.form {
            Form::UrlObject(others) => Form::UrlObject(others.clone()),
            Form::Url => Form::Url,
            Form::InputAudio(_) | Form::Bare(_) | Form::Elsewhere => Form::UrlObject(Others::new()),
        };
        Self { form, ..self.clone() }
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
        if self.source.is_empty() && !self.is_elsewhere() {
            let (kind, shortened) = (self.kind.name(), "part".into());
            return Err(ErrorKind::Media { kind, shortened, what: "has an empty source".into() }.into());
        }
        let base64 = match &self.form {
            Form::InputAudio(_) | Form::Bare(BASE64) => Some(self.source.as_str()),
            _ if !self.source.starts_with("data:") => None,
            _ => match self.source.split_once(',') {
                Some((head, data)) if head.ends_with(";base64") => Some(data),
                Some(_) => None,
                None => return wrong("is not a data URL: there is no comma before the data".into()),
            },
        };
        if let Some(base64) = base64 {
            if base64.is_empty() {
                return wrong("has no data".into());
            }
            let invalid = base64.split(',').find_map(|frame| check_base64(frame).err());
            return invalid.map_or(Ok(()), |error| wrong(format!("is not valid base64: {error}")));
        }
        match self.path().filter(|_| files) {
            Some(path) if Path::new(path).is_dir() => wrong("is a folder".into()),
            Some(path) if !exists(path) => wrong("does not exist".into()),
            _ => Ok(()),
        }
    }

    /// Reads the entries of a content part of this type, without the type itself.
    pub(super) fn from_json(part_type: PartType, kind: &str, mut entries: Others) -> std::result::Result<Self, String> {
        use serde_json::Value;
        let lacks = |key: &str| format!("a content part of type {kind:?} has no {key}");
        let text = |value: Option<Value>, key: &str| match value {
            Some(Value::String(text)) => Ok(text),
            _ => Err(lacks(key)),
        };
        let (media, source, form) = match part_type {
            PartType::Url(media) => match own_or_value(&mut entries, kind) {
                Some(Value::Object(mut inner)) => {
                    inner.retain(|_, value| !value.is_null());
                    let url = text(inner.shift_remove("url"), &format!("string \"url\" in {kind:?}"))?;
                    (media, url, Form::UrlObject(inner))
                }
                value => (media, text(value, &format!("{kind:?} that is a string or {{\"url\": \"…\"}}"))?, Form::Url),
            },
            PartType::Bare(media) => {
                match [media.name()].into_iter().chain(SOURCES).find(|key| is_given(&entries, key)) {
                    Some(key) => (media, text(entries.shift_remove(key), &format!("string {key:?}"))?, Form::Bare(key)),
                    None if is_given(&entries, media.url_key()) => {
                        return Self::from_json(PartType::Url(media), media.url_key(), entries);
                    }
                    None if entries.get("source").is_some_and(Value::is_object) => {
                        return Err(lost_source(media));
                    }
                    None => (media, String::new(), Form::Elsewhere),
                }
            }
            PartType::InputAudio => match entries.shift_remove(kind) {
                Some(Value::Object(mut inner)) => {
                    (MediaKind::Audio, text(inner.shift_remove("data"), "string \"data\"")?, Form::InputAudio(inner))
                }
                _ => return Err(lacks("\"input_audio\" that is {\"data\": \"…\", \"format\": \"…\"}")),
            },
        };
        let mut keys = [media.name(), media.url_key()].into_iter().chain(SOURCES);
        if let Some(key) = keys.find(|key| is_given(&entries, key)) {
            return Err(format!("a content part of type {kind:?} has a second source under {key:?}; keep one of them"));
        }
        Ok(Self { kind: media, source, form, others: entries })
    }

    /// As servers with OpenAI's API take it, except that bare base64 data stays if it does not tell what it is.
    pub(super) fn for_server(self) -> Self {
        match (&self.form, media_type(self.kind, &self.source)) {
            (Form::Bare(BASE64), None) => self,
            (Form::Bare(BASE64), Some(media_type)) => {
                let source = format!("data:{media_type};base64,{}", self.source);
                Self { source, ..self.to_url() }
            }
            (Form::Bare(_), _) => self.to_url(),
            _ => self,
        }
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
            Form::Bare(key) => {
                map.serialize_entry("type", self.kind.name())?;
                map.serialize_entry(key, &self.source)?;
            }
            Form::Elsewhere => map.serialize_entry("type", self.kind.name())?,
            Form::InputAudio(others) => {
                map.serialize_entry("type", "input_audio")?;
                map.serialize_entry("input_audio", &inner("data", others))?;
            }
        }
        self.others.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))
    }
}

/// The URL that contains a medium, whose bytes are in base64.
pub(super) fn data_url(kind: MediaKind, base64: &str) -> String {
    format!("data:{};base64,{base64}", media_type(kind, base64).unwrap_or("application/octet-stream"))
}

/// The type of an image by its first bytes, which are the same in base64 whatever follows.
fn media_type(kind: MediaKind, base64: &str) -> Option<&'static str> {
    let types =
        [("iVBORw0KGgo", "image/png"), ("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp")];
    let is_of = |(begin, _): &(&str, &str)| kind == MediaKind::Image && base64.starts_with(begin);
    types.into_iter().find(is_of).map(|(_, media_type)| media_type)
}

/// The key under which a text part has a medium.
pub(super) fn medium_in_text(entries: &Others) -> Option<&'static str> {
    let is_medium =
        |value: &serde_json::Value| value.is_object() || value.as_str().is_some_and(|text| !text.is_empty());
    let mut keys = MediaKind::ALL.into_iter().flat_map(|kind| [kind.name(), kind.url_key()]);
    keys.find(|key| entries.get(*key).is_some_and(is_medium))
}

/// The error for Anthropic's form of a source, which would be lost.
fn lost_source(media: MediaKind) -> String {
    let (name, url_key) = (media.name(), media.url_key());
    format!(
        "a content part of type {name:?} has its source under \"source\"; write {{\"type\": {url_key:?}, {url_key:?}: {{\"url\": \"…\"}}}}, with a URL or \"data:…;base64,…\""
    )
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
pub(super) fn check_base64(base64: &str) -> std::io::Result<()> {
    let mut bytes = base64.as_bytes();
    std::io::copy(&mut base64::read::DecoderReader::new(&mut bytes, &STANDARD), &mut std::io::sink()).map(drop)
}

/// Some programs write the path of a `file:` URL unchanged, others with percent signs.
fn exists(path: &str) -> bool {
    Path::new(path).exists()
        || percent_encoding::percent_decode_str(path).decode_utf8().is_ok_and(|path| Path::new(&*path).exists())
}
