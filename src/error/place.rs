//! Where an error is, as data: each [`Place`] is one step from the outside in.

use std::fmt::{self, Display};

use serde::{Serialize, Serializer};

use crate::error::{Setting, SettingName};

/// One step on the way to an error, such as a file, or a line in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// A file, a folder, or a built-in model, as the user named it.
    File(String),
    /// A line, or a row or item in a file without lines.
    Line {
        /// `line`, `row` or `item`.
        unit: &'static str,
        /// Counted from 1.
        number: u64,
    },
    /// A key path, such as `meta_template.round[1].end`.
    Key(String),
    /// A column of a row.
    Column(String),
    /// A conversation of a batch, counted from 0.
    Conversation(usize),
    /// A request to an engine, counted from 0.
    Request(usize),
    /// A message of a conversation, counted from 0.
    Message(usize),
    /// An item of a prompt list, counted from 0.
    Item(usize),
    /// An option.
    Setting(Setting),
    /// Anything else, in words.
    Other(String),
}

impl Place {
    /// A file, a folder, or a built-in model.
    pub fn file(name: impl Display) -> Self {
        Self::File(name.to_string())
    }

    /// A line of a file, counted from 1.
    pub fn line(number: u64) -> Self {
        Self::Line { unit: "line", number }
    }

    /// A column of a row.
    pub fn column(name: impl Into<String>) -> Self {
        Self::Column(name.into())
    }

    /// Anything else, in words.
    pub fn other(words: impl Display) -> Self {
        Self::Other(words.to_string())
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, name: &SettingName<'_>) -> fmt::Result {
        match self {
            Self::File(text) | Self::Key(text) | Self::Other(text) => f.write_str(text),
            Self::Line { unit, number } => write!(f, "{unit} {number}"),
            Self::Column(name) => write!(f, "column {name:?}"),
            Self::Conversation(i) => write!(f, "conversation {i}"),
            Self::Request(i) => write!(f, "request {i}"),
            Self::Message(i) => write!(f, "message {i}"),
            Self::Item(i) => write!(f, "item {i}"),
            Self::Setting(setting) => f.write_str(&name(setting)),
        }
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &Setting::to_string)
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<Setting> for Place {
    fn from(setting: Setting) -> Self {
        Self::Setting(setting)
    }
}

/// A path names a file.
impl From<std::path::Display<'_>> for Place {
    fn from(path: std::path::Display<'_>) -> Self {
        Self::file(path)
    }
}

/// Text is a key path.
impl From<&str> for Place {
    fn from(path: &str) -> Self {
        Self::Key(path.to_owned())
    }
}

/// Text is a key path.
impl From<String> for Place {
    fn from(path: String) -> Self {
        Self::Key(path)
    }
}

/// Text is a key path.
impl From<&String> for Place {
    fn from(path: &String) -> Self {
        Self::Key(path.clone())
    }
}

/// Text is a key path.
impl From<fmt::Arguments<'_>> for Place {
    fn from(path: fmt::Arguments<'_>) -> Self {
        Self::Key(path.to_string())
    }
}

/// Several places as displayed, each followed by a colon.
pub(super) fn write_all(places: &[Place], f: &mut fmt::Formatter<'_>, name: &SettingName<'_>) -> fmt::Result {
    places.iter().try_for_each(|place| {
        place.write(f, name)?;
        f.write_str(": ")
    })
}
