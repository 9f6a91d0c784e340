//! JSON as the values of a template, with marks around its texts where they are asked for.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{DynObject, Enumerator, Object, ObjectExt, ObjectRepr, Value};
use minijinja::{Error, State};

use crate::dialect::chat_template::float;
use crate::dialect::chat_template::marks::{Owner, mark, without_marks};
use crate::dialect::chat_template::methods::of_dict;
use crate::dialect::chat_template::python_repr::repr;

/// Makes values of JSON.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    /// Whose texts they are; none if they get no marks.
    pub(super) owner: Option<(Owner, Marking<'a>)>,
}

/// Which texts get marks of their own.
#[derive(Clone, Copy)]
pub(super) struct Marking<'a> {
    /// The texts that get no marks.
    pub(super) is_unmarked: &'a dyn Fn(&str) -> bool,
    /// The texts that get the same marks whose ever they are, so that they are equal to one another.
    pub(super) is_shared: &'a dyn Fn(&str) -> bool,
}

impl Marking<'_> {
    /// The owner that a text of this owner is marked with.
    fn owner(self, text: &str, owner: Owner) -> Option<Owner> {
        let owner = if (self.is_shared)(text) { Owner::NOBODY } else { owner };
        (!(self.is_unmarked)(text)).then_some(owner)
    }
}

impl Values<'_> {
    pub(super) fn of(self, json: &serde_json::Value) -> Value {
        match json {
            serde_json::Value::Null => Value::from(()),
            serde_json::Value::Bool(is) => Value::from(*is),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Value::from(number),
                (None, Some(number)) => Value::from(number),
                (None, None) => float::of(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => self.text(text),
            serde_json::Value::Array(items) => {
                Value::from_object(List(items.iter().map(|item| self.of(item)).collect()))
            }
            serde_json::Value::Object(entries) => {
                let entry = |(key, value): (&String, &serde_json::Value)| {
                    let value = match value {
                        serde_json::Value::String(name) if is_kind(key, name) => Value::from(name.as_str()),
                        value => self.of(value),
                    };
                    (key.as_str().into(), self.text(key), value)
                };
                Value::from_object(Dict(entries.iter().map(entry).collect()))
            }
        }
    }

    /// A text, with marks unless it gets none.
    pub(super) fn text(self, text: &str) -> Value {
        Value::from(self.marked(text))
    }

    /// A text as a string, with marks unless it gets none.
    pub(super) fn marked(self, text: &str) -> String {
        match self.owner.and_then(|(owner, marking)| marking.owner(text, owner)) {
            Some(owner) => mark(text, owner),
            None => text.to_owned(),
        }
    }
}

/// Whether a value only names the kind of what it is in, such as `"type": "function"`. Templates compare these types, and
/// look them up. Another type is data like any content.
fn is_kind(key: &str, name: &str) -> bool {
    key == "type"
        && matches!(
            name,
            "text"
                | "input_text"
                | "output_text"
                | "refusal"
                | "image"
                | "image_url"
                | "input_image"
                | "audio"
                | "audio_url"
                | "input_audio"
                | "video"
                | "video_url"
                | "file"
                | "document"
                | "thinking"
                | "reasoning"
                | "function"
                | "custom"
                | "tool_use"
                | "tool_result"
                | "string"
                | "number"
                | "integer"
                | "boolean"
                | "array"
                | "object"
                | "null"
        )
}

/// A dict. Texts in its keys may have marks, which lookups ignore.
pub(super) struct Dict(pub(super) Vec<(Arc<str>, Value, Value)>);

impl Dict {
    /// Adds an entry whose key gets no marks.
    pub(super) fn insert(&mut self, key: &str, value: Value) {
        self.0.push((key.into(), Value::from(key), value));
    }
}

impl Object for Dict {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = without_marks(key.as_str()?);
        self.0.iter().find(|(own, ..)| **own == *key).map(|(.., value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_key_value_enumerator(|this| {
            Box::new(this.0.iter().map(|(_, key, value)| (key.clone(), value.clone())))
        })
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.len())
    }

    fn call_method(self: &Arc<Self>, state: &mut State<'_, '_>, method: &str, args: &[Value]) -> Result<Value, Error> {
        of_dict(state, &Value::from_dyn_object(DynObject::new(self.clone())), method, args)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&repr(&Value::from_dyn_object(DynObject::new(self.clone()))))
    }
}

impl fmt::Debug for Dict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(_, key, value)| (key, value))).finish()
    }
}

/// A list.
#[derive(Debug)]
pub(super) struct List(pub(super) Vec<Value>);

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&repr(&Value::from_dyn_object(DynObject::new(self.clone()))))
    }
}
