//! Templates in dataset files. A kind of template is a file in this folder and a line in [`KINDS`].

use std::fmt;
use std::sync::LazyLock;

use serde::de::{self, Deserialize, Deserializer, MapAccess};

use crate::dataset::config::class_name::ClassName;
use crate::dataset::dataset_error;
use crate::dataset::rows::Value;
use crate::dataset::template::row_template::RowTemplate;
use crate::dataset::template::template_kind::{Key, TemplateKeys, TemplateKind};
use crate::dataset::template::{
    message_template, multimodal_template, prompt_row_template, qa_template, turn_template,
};
use crate::error::Result;

static KINDS: [TemplateKind; 5] = [
    prompt_row_template::KIND,
    prompt_row_template::RAW_KIND,
    turn_template::KIND,
    multimodal_template::KIND,
    qa_template::KIND,
];

static CLASSES: LazyLock<Vec<&str>> = LazyLock::new(|| KINDS.iter().map(|kind| kind.class).collect());

/// The keys that several kinds share.
const SHARED: [&str; 8] =
    ["template", "messages", "ice_token", "sep_token", "column_token_map", "format_variables", "substitution", "type"];

static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| SHARED.into_iter().chain(own_keys().map(Key::name)).collect());

fn own_keys() -> impl Iterator<Item = Key> {
    KINDS.iter().flat_map(|kind| kind.keys).copied()
}

/// A template as written in the file.
pub(crate) struct TemplateFile {
    kind: &'static TemplateKind,
    template: Option<Value>,
    messages: Option<Vec<Value>>,
    keys: TemplateKeys,
}

impl TemplateFile {
    pub(crate) fn read(mut self) -> Result<Box<dyn RowTemplate>> {
        for of in KINDS.iter().filter(|of| of.class != self.kind.class) {
            if let Some(key) = of.keys.iter().find(|key| self.keys.has(**key)) {
                let what = format!("{} only applies to type = {:?}; remove it", key.name(), of.class);
                return Err(dataset_error(&what));
            }
        }
        let (template, of) = match (self.template, self.messages) {
            (Some(template), None) => ((self.kind.read)(&template, &mut self.keys)?, self.kind.class),
            (None, Some(messages)) => (message_template::read(&messages, &mut self.keys)?, "messages"),
            _ => return Err(dataset_error("set either \"template\" or \"messages\"")),
        };
        match self.keys.left() {
            None => Ok(template),
            Some(key) => Err(dataset_error(&format!("{key} has no effect with {of}; remove it"))),
        }
    }
}

/// The kind that a class names.
struct Class(&'static TemplateKind);

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let name = ClassName::deserialize(deserializer)?;
        let kind = KINDS.iter().find(|kind| kind.class == name.bare());
        kind.map(Self).ok_or_else(|| de::Error::unknown_variant(name.bare(), &CLASSES))
    }
}

/// The name of a known key.
struct Name(&'static str);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E: de::Error>(self, key: &str) -> std::result::Result<Name, E> {
                let name = NAMES.iter().find(|name| **name == key);
                name.map(|name| Name(name)).ok_or_else(|| E::unknown_field(key, &NAMES))
            }
        }
        deserializer.deserialize_identifier(Visitor)
    }
}

impl<'de> Deserialize<'de> for TemplateFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = TemplateFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("struct TemplateFile")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<TemplateFile, A::Error> {
                let keys = TemplateKeys::default();
                let mut file = TemplateFile { kind: &KINDS[0], template: None, messages: None, keys };
                let mut seen = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    if seen.contains(&name) {
                        return Err(de::Error::duplicate_field(name));
                    }
                    seen.push(name);
                    file.set(name, &mut map)?;
                }
                Ok(file)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

impl TemplateFile {
    /// Reads the value of a key.
    fn set<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> std::result::Result<(), A::Error> {
        let own = own_keys().find(|key| key.name() == name);
        match name {
            "template" => self.template = map.next_value()?,
            "messages" => self.messages = map.next_value()?,
            "column_token_map" => self.keys.column_token_map = map.next_value()?,
            "substitution" => self.keys.substitution = map.next_value()?,
            "type" => self.kind = map.next_value::<Class>()?.0,
            "format_variables" => self.keys.flags.extend(map.next_value::<Option<bool>>()?.map(|is| (name, is))),
            _ if matches!(own, Some(Key::Flag(_))) => {
                self.keys.flags.extend(map.next_value::<Option<bool>>()?.map(|is| (name, is)));
            }
            _ => self.keys.texts.extend(map.next_value::<Option<String>>()?.map(|text| (name, text))),
        }
        Ok(())
    }
}
