//! The texts of a template and the fields that they name, to find those that a row does not have.

use crate::conversation::{Item, Message, Prompt};
use crate::dataset::row::Row;

/// A field of a template, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateField {
    /// The key path below the template.
    pub place: String,
    /// The column that it names.
    pub column: String,
}

/// A text of a template in which fields are filled, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateText {
    /// The key path below the template.
    pub(crate) place: String,
    pub(crate) text: String,
}

impl TemplateText {
    pub(crate) fn new(place: impl Into<String>, text: &str) -> Self {
        Self { place: place.into(), text: text.to_owned() }
    }
}

impl TemplateField {
    /// What to say if a row does not have the column; nothing if it does.
    pub fn missing_in(&self, row: &Row) -> Option<String> {
        if row.get(&self.column).is_some() {
            return None;
        }
        let known: Vec<&str> = row.names().collect();
        Some(format!("{}: {{{}}} has no column (columns: {})", self.place, self.column, known.join(", ")))
    }
}

/// The fields of a text: names in braces. Other braces are text.
pub(crate) fn of_text(text: &str, place: &str, fields: &mut Vec<TemplateField>) {
    for (at, _) in text.match_indices('{') {
        let Some(end) = text[at..].find('}') else { break };
        let name = &text[at + 1..at + end];
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let field = TemplateField { place: place.to_owned(), column: name.to_owned() };
        if is_name && !fields.contains(&field) {
            fields.push(field);
        }
    }
}

/// The fields of texts.
pub(crate) fn of_texts<'t>(texts: impl IntoIterator<Item = &'t TemplateText>) -> Vec<TemplateField> {
    let mut fields = Vec::new();
    for TemplateText { place, text } in texts {
        of_text(text, place, &mut fields);
    }
    fields
}

/// The texts of the items of a dialogue.
pub(crate) fn texts_of_items(items: &[Item], place: &str) -> Vec<TemplateText> {
    let text = |(i, item): (usize, &Item)| match item {
        Item::Text(text) => Some(TemplateText::new(format!("{place}[{i}]"), text)),
        Item::Message(Message { prompt: Prompt::Text(prompt), .. }) => {
            Some(TemplateText::new(format!("{place}[{i}].prompt"), prompt))
        }
        _ => None,
    };
    items.iter().enumerate().filter_map(text).collect()
}
