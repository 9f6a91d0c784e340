//! Placeholders for images, audio and video in a prompt of token ids: `[multimodal]` of a model file.

use std::num::NonZeroU32;

use serde::de;
use serde::{Deserialize, Serialize};

use crate::by_form::deserialize_by_form;
use crate::conversation::MediaKind;
use crate::template::Affix;

/// The placeholders of a model, one for each kind that it supports.
///
/// ```
/// let multimodal: metatok::template::Multimodal = toml::from_str(r#"
///     image = ["<|vision_start|>", 151655, "<|vision_end|>"]
///     audio = { begin = "<|audio_bos|>", placeholder = "<|AUDIO|>", repeat = 25, end = "<|audio_eos|>" }
/// "#)?;
/// assert_eq!(multimodal.audio.map(|audio| audio.repeat.get()), Some(25));
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Multimodal {
    /// For an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Placeholder>,
    /// For audio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<Placeholder>,
    /// For a video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<Placeholder>,
}

impl Multimodal {
    /// The placeholder for a kind.
    pub fn of(&self, kind: MediaKind) -> Option<&Placeholder> {
        match kind {
            MediaKind::Image => self.image.as_ref(),
            MediaKind::Audio => self.audio.as_ref(),
            MediaKind::Video => self.video.as_ref(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        MediaKind::ALL.iter().all(|&kind| self.of(kind).is_none())
    }
}

/// The placeholder of one image, audio or video: an [`Affix`], of which a part may be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Placeholder {
    /// Written before it, once.
    #[serde(skip_serializing_if = "Affix::is_empty")]
    pub begin: Affix,
    /// What is repeated.
    pub placeholder: Affix,
    /// How often: as many tokens as the engine will put there, or once if the engine repeats it itself.
    pub repeat: NonZeroU32,
    /// Written after it, once.
    #[serde(skip_serializing_if = "Affix::is_empty")]
    pub end: Affix,
}

impl From<Affix> for Placeholder {
    fn from(placeholder: Affix) -> Self {
        Self { begin: Affix::default(), placeholder, repeat: NonZeroU32::MIN, end: Affix::default() }
    }
}

deserialize_by_form!(
    /// Reads an affix, or `{ begin, placeholder, repeat, end }`.
    Placeholder,
    "a string, a list of strings and token ids, or { begin, placeholder, repeat, end }", {
    fn visit_str<E>(self, text: &str) -> Result<Placeholder, E> {
        Ok(Affix::from(text).into())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, items: A) -> Result<Placeholder, A::Error> {
        Affix::deserialize(de::value::SeqAccessDeserializer::new(items)).map(Placeholder::from)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Placeholder, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            #[serde(default)]
            begin: Affix,
            placeholder: Affix,
            #[serde(default = "once")]
            repeat: NonZeroU32,
            #[serde(default)]
            end: Affix,
        }
        let Table { begin, placeholder, repeat, end } =
            Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(Placeholder { begin, placeholder, repeat, end })
    }
});

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}
