//! What to do about an error, as data: text with the options marked in it.

use std::borrow::Cow;
use std::fmt::{self, Display};

use serde::{Serialize, Serializer};

use crate::error::Setting;

/// What to do about an error or a warning: text with [`Setting`]s in it.
///
/// A program with its own option names displays it with [`Self::display_with`].
///
/// ```
/// use metatok::error::{Setting, WayOut};
///
/// let way_out = WayOut::from("raise ").and(Setting::MAX_ROW_BYTES).and(" if that is intended");
/// assert_eq!(way_out.to_string(), "raise `max_row_bytes` if that is intended");
/// let shown = way_out.display_with(&|setting| format!("{}=", setting.name().to_uppercase()));
/// assert_eq!(shown.to_string(), "raise MAX_ROW_BYTES= if that is intended");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct WayOut {
    parts: Vec<WayOutPart>,
}

/// How a program writes a setting.
pub type SettingName<'a> = dyn Fn(&Setting) -> String + 'a;

/// A part of a [`WayOut`], made from a string or a [`Setting`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WayOutPart {
    /// Plain text.
    Text(Cow<'static, str>),
    /// An option.
    Setting(Setting),
}

impl From<&'static str> for WayOutPart {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for WayOutPart {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Setting> for WayOutPart {
    fn from(setting: Setting) -> Self {
        Self::Setting(setting)
    }
}

impl<P: Into<WayOutPart>> From<P> for WayOut {
    fn from(part: P) -> Self {
        Self { parts: vec![part.into()] }
    }
}

impl WayOut {
    /// Appends a part.
    #[must_use]
    pub fn and(mut self, part: impl Into<WayOutPart>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// Its parts in order.
    pub fn parts(&self) -> &[WayOutPart] {
        &self.parts
    }

    /// The settings that it mentions.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.parts.iter().filter_map(|part| match part {
            WayOutPart::Setting(setting) => Some(setting),
            WayOutPart::Text(_) => None,
        })
    }

    /// The text, with settings named as the program names them.
    pub fn display_with(&self, name: &SettingName<'_>) -> impl Display {
        let shown = |part: &WayOutPart| match part {
            WayOutPart::Text(text) => text.to_string(),
            WayOutPart::Setting(setting) => name(setting),
        };
        self.parts.iter().map(shown).collect::<String>()
    }
}

impl Display for WayOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display_with(&Setting::to_string).fmt(f)
    }
}

impl Serialize for WayOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A [`WayOut`] from its parts.
macro_rules! way_out {
    ($first:expr $(, $part:expr)* $(,)?) => {
        $crate::error::WayOut::from($first)$(.and($part))*
    };
}
pub(crate) use way_out;
