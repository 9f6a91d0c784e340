//! A kind of template in dataset files: its class, its keys, and how they are read.

use std::collections::BTreeMap;

use crate::dataset::rows::Value;
use crate::dataset::template::Substitution;
use crate::dataset::template::row_template::RowTemplate;
use crate::error::Result;

/// A kind of template.
pub(crate) struct TemplateKind {
    /// The name of the references' class.
    pub(crate) class: &'static str,
    /// The keys that no other kind has.
    pub(crate) keys: &'static [Key],
    /// Creates a template from the key `template` and the other keys.
    pub(crate) read: fn(&Value, &mut TemplateKeys) -> Result<Box<dyn RowTemplate>>,
}

/// A key of a template, and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Text(&'static str),
    Flag(&'static str),
}

impl Key {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text(name) | Self::Flag(name) => name,
        }
    }
}

/// The other keys of a template, as written in the file. A kind of template takes those that it reads.
#[derive(Default)]
pub(crate) struct TemplateKeys {
    pub(crate) texts: BTreeMap<&'static str, String>,
    pub(crate) flags: BTreeMap<&'static str, bool>,
    pub(crate) substitution: Option<Substitution>,
    pub(crate) column_token_map: Option<Value>,
}

impl TemplateKeys {
    pub(crate) fn text(&mut self, key: &str) -> Option<String> {
        self.texts.remove(key)
    }

    pub(crate) fn flag(&mut self, key: &str) -> Option<bool> {
        self.flags.remove(key)
    }

    pub(crate) fn substitution(&mut self) -> Substitution {
        self.substitution.take().unwrap_or_default()
    }

    /// One that was not taken.
    pub(crate) fn left(&self) -> Option<&'static str> {
        let substitution = self.substitution.map(|_| "substitution");
        let column_token_map = self.column_token_map.as_ref().map(|_| "column_token_map");
        let named = self.texts.keys().chain(self.flags.keys()).copied();
        named.chain(substitution).chain(column_token_map).next()
    }

    pub(crate) fn has(&self, key: Key) -> bool {
        match key {
            Key::Text(name) => self.texts.contains_key(name),
            Key::Flag(name) => self.flags.contains_key(name),
        }
    }
}
