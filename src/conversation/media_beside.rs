//! Media that a record lists beside its messages, as in TRL's data: they are the sources of the parts that have none.

use serde_json::Value;

use crate::conversation::{Content, ContentPart, Conversation, MediaKind, media_would_be_lost};
use crate::error::{ErrorKind, Result, counted};
use crate::wording::shortened;

/// The most characters of a value that an error shows.
const LONGEST: usize = 60;

impl Conversation {
    /// Gives the parts of a kind that have no source one each, in order.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBeLost`] if there is no such part, and [`ErrorKind::Conversation`] if there are more or fewer of them
    /// than sources, or for what is no source.
    pub(crate) fn give_sources(&mut self, kind: MediaKind, sources: &[Value]) -> Result<()> {
        let key = kind.list_key();
        let messages = match self {
            Self::Messages(messages) => messages.as_mut_slice(),
            Self::Chat(chat) => chat.messages.as_mut_slice(),
            Self::Text(_) | Self::List(_) => &mut [],
        };
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
        for (media, source) in parts.into_iter().zip(sources) {
            media.set_source(source_of(source).ok_or_else(|| {
                let shown = shortened(source.to_string(), LONGEST);
                ErrorKind::Conversation(format!("{key:?} must list paths or URLs, not {shown}"))
            })?);
        }
        Ok(())
    }
}

/// A path or URL, or an object with one, as in the columns of `datasets`.
fn source_of(value: &Value) -> Option<String> {
    let source = value.as_str().or_else(|| ["path", "url"].into_iter().find_map(|key| value.get(key)?.as_str()));
    source.map(str::to_owned)
}
