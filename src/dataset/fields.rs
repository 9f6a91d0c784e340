//! The fields that a template names, to find those that a row does not have.

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

/// The fields of the items of a dialogue.
pub(crate) fn of_items(items: &[Item], place: &str, fields: &mut Vec<TemplateField>) {
    for (i, item) in items.iter().enumerate() {
        match item {
            Item::Text(text) => of_text(text, &format!("{place}[{i}]"), fields),
            Item::Message(Message { prompt: Prompt::Text(prompt), .. }) => {
                of_text(prompt, &format!("{place}[{i}].prompt"), fields);
            }
            _ => {}
        }
    }
}
