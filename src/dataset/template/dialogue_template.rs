//! Templates of dialogues: what comes before the rounds, in them, and after them.

use crate::conversation::{Conversation, Item, Marker, Message, Section};
use crate::dataset::dataset_error;
use crate::dataset::rows::Value;
use crate::dataset::template::{TemplateText, fields};
use crate::error::{At, Result};

/// The parts of a dialogue, in their order.
pub(crate) const SECTIONS: [&str; 3] = ["begin", "round", "end"];

/// The template of a dialogue, part by part. OpenCompass calls it "meta".
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DialogueTemplate {
    pub(crate) begin: Option<Vec<Item>>,
    pub(crate) round: Option<Vec<Item>>,
    pub(crate) end: Option<Vec<Item>>,
}

impl DialogueTemplate {
    /// Its texts, part by part.
    pub(crate) fn texts(&self, place: &str) -> Vec<TemplateText> {
        let parts = SECTIONS.into_iter().zip([&self.begin, &self.round, &self.end]);
        let texts = |(name, items): (&str, &Option<Vec<Item>>)| {
            fields::texts_of_items(items.as_deref().unwrap_or_default(), &format!("{place}.{name}"))
        };
        parts.flat_map(texts).collect()
    }

    /// A dict with these parts; an item may be given without a list.
    pub(crate) fn new(template: &Value) -> Result<Self> {
        let part = |name: &str| template.get(name).map(|value| items(value).at(name)).transpose();
        Ok(Self { begin: part("begin")?, round: part("round")?, end: part("end")? })
    }

    /// Whether a dict has no other keys than these; an empty dict qualifies.
    pub(crate) fn is_one(entries: &[(Value, Value)]) -> bool {
        entries.iter().all(|(key, _)| key.as_text().is_some_and(|key| SECTIONS.contains(&key)))
    }

    /// Its parts one after the other, with their markers.
    pub(crate) fn items(&self) -> Result<Vec<Item>> {
        Ok(self.with_round(self.required_round()?))
    }

    /// Its parts one after the other, with their markers and this round.
    pub(crate) fn with_round(&self, round: &[Item]) -> Vec<Item> {
        let mut list = Vec::new();
        for (section, items) in [
            (Section::Begin, self.begin.as_deref()),
            (Section::Round, Some(round)),
            (Section::End, self.end.as_deref()),
        ] {
            if let Some(items) = items {
                mark(section, items, &mut list);
            }
        }
        list
    }

    /// The round as an in-context example.
    pub(crate) fn example(&self) -> Result<Vec<Item>> {
        let mut list = Vec::new();
        mark(Section::Ice, self.required_round()?, &mut list);
        Ok(list)
    }

    pub(crate) fn required_round(&self) -> Result<&[Item]> {
        self.round.as_deref().ok_or_else(|| dataset_error("the dialogue has no round"))
    }
}

fn mark(section: Section, items: &[Item], list: &mut Vec<Item>) {
    let marker = |opens| Item::Marker(Marker { section, opens, has_extra_keys: false });
    list.reserve(items.len() + 2);
    list.push(marker(true));
    list.extend_from_slice(items);
    list.push(marker(false));
}

/// A list of items, or one item.
fn items(value: &Value) -> Result<Vec<Item>> {
    match value {
        Value::List(list) => list.iter().enumerate().map(|(i, value)| item(value).at(format_args!("[{i}]"))).collect(),
        one => Ok(vec![item(one)?]),
    }
}

fn item(value: &Value) -> Result<Item> {
    match value {
        Value::Text(text) => Ok(Item::Text(text.clone())),
        Value::Dict(entries) => {
            // A role alone is an item here, also that of an OpenAI-style message.
            if let [(key, Value::Text(role))] = &entries[..]
                && key.text() == "role"
            {
                return Ok(Message { role: role.as_str().into(), ..Message::default() }.into());
            }
            let list = serde_json::Value::Array(vec![value.to_json()]);
            let items: Conversation = serde_json::from_value(list).map_err(|error| crate::wording::in_file(&error))?;
            // In a template it is a mistake; data may contain anything.
            if let Some((_, key)) = items.unknown_keys().next() {
                return Err(dataset_error(&format!(
                    "unknown key {key:?} in a message; the keys are role, prompt, prompt_mm, fallback_role, begin, end, generate, section, pos, name, weight"
                )));
            }
            match items {
                Conversation::List(items) => {
                    items.into_iter().next().ok_or_else(|| dataset_error("an item must be a string or {role, prompt}"))
                }
                _ => Err(dataset_error("an item of a dialogue needs \"prompt\", not \"content\"")),
            }
        }
        other => Err(dataset_error(&format!("an item must be a string or {{role, prompt}}, not {}", other.shown()))),
    }
}
