//! Media that a record lists beside its messages: they are the sources of the parts that have none, as in TRL's data, or of
//! marks in the texts, as in LLaVA's and LLaMA-Factory's.

use serde_json::{Value, json};

use crate::conversation::media::{check_base64, data_url};
use crate::conversation::{ChatMessage, Content, ContentPart, Conversation, Media, MediaKind, media_would_be_lost};
use crate::error::{ErrorKind, Result, counted};
use crate::wording::shown;

impl Conversation {
    /// Whether a part of this kind has a source.
    pub(crate) fn has_source(&self, kind: MediaKind) -> bool {
        self.media().any(|(.., media)| media.kind == kind && !media.is_elsewhere())
    }

    /// Gives the parts of a kind that have no source one each, in order. If there is no such part, each `<image>` (`<audio>`,
    /// `<video>`) in the texts becomes one.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBeLost`] if there is no such part, and [`ErrorKind::Conversation`] if there are more or fewer of them
    /// than sources, or for what is no source.
    pub(crate) fn give_sources(&mut self, kind: MediaKind, key: &'static str, sources: &[Value]) -> Result<()> {
        give_sources_to(self.messages_mut(), kind, key, sources)
    }
}

/// [`Conversation::give_sources`] for these messages.
pub(crate) fn give_sources_to(
    messages: &mut [ChatMessage],
    kind: MediaKind,
    key: &'static str,
    sources: &[Value],
) -> Result<()> {
    if !media_of(messages, kind).any(Media::is_elsewhere) {
        messages.iter_mut().for_each(|message| message.content.split_at_marks(kind));
    }
    let parts = messages.iter_mut().flat_map(|message| match &mut message.content {
        Content::Parts(parts) => parts.as_mut_slice(),
        Content::Text(_) | Content::Null => &mut [],
    });
    let parts = parts.filter_map(|part| match part {
        ContentPart::Media(media) if media.is_elsewhere() && media.kind == kind => Some(media),
        _ => None,
    });
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() {
        return Err(media_would_be_lost(key));
    }
    if parts.len() != sources.len() {
        let what = format!(
            "{key:?} has {}, but the messages have {} without one",
            counted(sources.len(), "source"),
            counted(parts.len(), "part")
        );
        return Err(ErrorKind::Conversation(what).into());
    }
    for (media, source) in parts.into_iter().zip(sources).filter(|(_, source)| !is_object_of_python(source)) {
        media.set_source(source_or_data(kind, source).ok_or_else(|| {
            let shown = shown(source);
            let what =
                format!("{key:?} must list paths, URLs, or objects with a path or with bytes in base64, not {shown}");
            ErrorKind::Conversation(what)
        })?);
    }
    Ok(())
}

/// Whether messages have a part of this kind without a source.
pub(crate) fn has_part_without_source(messages: &[ChatMessage], kind: MediaKind) -> bool {
    media_of(messages, kind).any(Media::is_elsewhere)
}

/// How many marks for media of this kind are in texts; none beside media that have sources.
pub(crate) fn count_marks(messages: &[ChatMessage], kind: MediaKind) -> usize {
    if media_of(messages, kind).next().is_some() {
        return 0;
    }
    let mark = mark(kind);
    messages.iter().flat_map(|message| message.content.texts()).map(|text| text.matches(&mark).count()).sum()
}

fn media_of(messages: &[ChatMessage], kind: MediaKind) -> impl Iterator<Item = &Media> {
    let parts = messages.iter().flat_map(|message| match &message.content {
        Content::Parts(parts) => parts.as_slice(),
        Content::Text(_) | Content::Null => &[],
    });
    parts.filter_map(ContentPart::as_media).filter(move |media| media.kind == kind)
}

/// What marks the place of a medium in a text.
fn mark(kind: MediaKind) -> String {
    format!("<{}>", kind.name())
}

impl Content {
    /// Makes a part of each mark for a medium in its texts.
    fn split_at_marks(&mut self, kind: MediaKind) {
        let mark = mark(kind);
        if !self.texts().any(|text| text.contains(&mark)) {
            return;
        }
        let parts = std::mem::replace(self, Self::Null).into_parts();
        let split = parts.into_iter().flat_map(|part| match part {
            ContentPart::Text(part) if part.text.contains(&mark) => {
                let mut split = Vec::new();
                for (i, text) in part.text.split(&mark).enumerate() {
                    if i > 0 {
                        split.push(Media::elsewhere(kind).into());
                    }
                    if !text.is_empty() {
                        split.push(ContentPart::text(text));
                    }
                }
                split
            }
            part => vec![part],
        });
        *self = Self::Parts(split.collect());
    }
}

/// The sources under a key for one: it, or a list. Another value may be there for another purpose.
pub(crate) fn sources_of_one(kind: MediaKind, one: Option<Value>) -> Vec<Value> {
    match one {
        Some(Value::Array(sources)) => sources,
        Some(source) if source != "" && (source_or_data(kind, &source).is_some() || is_object_of_python(&source)) => {
            vec![source]
        }
        _ => Vec::new(),
    }
}

/// What stands for a picture, sound or video that Python has opened. Only its place is known then, as of a part without a
/// source.
#[doc(hidden)]
pub fn object_of_python() -> Value {
    json!({OBJECT_OF_PYTHON: true})
}

/// A key that no file has.
const OBJECT_OF_PYTHON: &str = "\u{0}object of Python";

/// Whether it stands for a medium that Python has opened.
pub(crate) fn is_object_of_python(source: &Value) -> bool {
    source.get(OBJECT_OF_PYTHON).is_some()
}

/// A path or URL, or a URL that contains the medium, as in the columns of `datasets`: their paths are mere names beside bytes.
/// Without any, or if these are no base64, the path counts.
pub(crate) fn source_or_data(kind: MediaKind, value: &Value) -> Option<String> {
    let bytes = value.get("bytes").and_then(Value::as_str);
    let is_data = |base64: &&str| !base64.is_empty() && check_base64(base64).is_ok();
    match bytes.filter(is_data) {
        Some(base64) => Some(data_url(kind, base64)),
        // What is wrong with bytes is said where sources are checked.
        None => source_of(value).or_else(|| bytes.map(|base64| data_url(kind, base64))),
    }
}

/// A path or URL, or an object with one, as in the columns of `datasets`.
pub(crate) fn source_of(value: &Value) -> Option<String> {
    let source = value.as_str().or_else(|| ["path", "url"].into_iter().find_map(|key| value.get(key)?.as_str()));
    source.map(str::to_owned)
}
