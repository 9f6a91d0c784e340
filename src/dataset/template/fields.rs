//! The texts of a template and the fields that they name, for finding fields whose column a row lacks.

use std::collections::HashSet;

use crate::conversation::{ContentPart, Item, Message, Prompt};
use crate::dataset::rows::{Row, listed};
use crate::error::{Place, Warning};
use crate::wording::is_misspelt;

/// A field of a template, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateField {
    /// The key path below the template, or the option that names it.
    pub place: Place,
    /// The column that it names.
    pub column: String,
}

/// A text of a template in which fields are filled, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateText {
    /// The key path below the template.
    pub place: String,
    /// The text.
    pub text: String,
}

impl TemplateText {
    pub(crate) fn new(place: impl Into<String>, text: &str) -> Self {
        Self { place: place.into(), text: text.to_owned() }
    }
}

impl TemplateField {
    /// Whether it is written as fields are, as one word. Other names in braces, such as `{Best Answer}` and `{"a": 1}`, are
    /// fields only if there is a column of that name.
    pub(crate) fn is_word(&self) -> bool {
        self.column.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && self.column.chars().all(|c| c.is_alphanumeric() || c == '_')
    }

    /// An error if the row does not have the column; none if it does.
    pub fn missing_in(&self, row: &Row) -> Option<Warning> {
        (!self.is_in(row)).then(|| self.missing(&listed(row.names())))
    }

    /// Whether the row has the column. In `{{x}}`, that may also be a column named `{x}`.
    pub(crate) fn is_in(&self, row: &Row) -> bool {
        row.get(&self.column).is_some() || row.get(&format!("{{{}}}", self.column)).is_some()
    }

    /// What is wrong with it if it is filled in no row.
    pub(crate) fn never_filled(&self) -> String {
        format!("{{{}}} is never filled: it stays in every prompt", self.column)
    }

    fn missing(&self, columns: &str) -> Warning {
        let what = format!("there is no column for {{{}}} (columns: {columns})", self.column);
        Warning::new("missing-column", what).at(self.place.clone())
    }
}

/// Counts, row by row, how many rows lack the columns that a template names.
///
/// ```
/// use metatok::dataset::template::MissingColumns;
/// use metatok::{Dataset, Row};
///
/// let file = br#"infer_cfg = { prompt_template = { template = "{question} {hint}" } }"#;
/// let mut missing = MissingColumns::new(Dataset::parse("d.toml", file)?.needed_fields());
/// missing.see(&Row::from_json(r#"{"question": "1+1=?", "hint": "2"}"#)?);
/// missing.see(&Row::from_json(r#"{"question": "2+2=?"}"#)?);
/// let (field, rows) = missing.somewhere().next().expect("one lacks it");
/// assert_eq!((field.column.as_str(), rows), ("hint", 1));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingColumns {
    fields: Vec<TemplateField>,
    /// How many of them are fields whatever columns there are. The later ones are text if no row has their column.
    needed: usize,
    /// How many rows lack each.
    lacking: Vec<u64>,
    rows: u64,
    /// What the first row has instead.
    known: String,
    /// The column of the first row that lists objects.
    list: Option<String>,
    /// The columns that the dataset's reader names.
    named: Vec<TemplateField>,
    /// Those of them that the first row has under nearly the same name.
    misspelt: Vec<Warning>,
}

impl MissingColumns {
    /// Counts for the fields that rows must fill, see [`crate::Dataset::needed_fields`].
    pub fn new(fields: Vec<TemplateField>) -> Self {
        Self { lacking: vec![0; fields.len()], needed: fields.len(), fields, ..Self::default() }
    }

    /// With what is a field only if some row has its column, see [`crate::Dataset::possible_fields`].
    pub(crate) fn with_possible(mut self, possible: Vec<TemplateField>) -> Self {
        self.fields.extend(possible);
        self.lacking.resize(self.fields.len(), 0);
        self
    }

    /// With the columns that the reader names, see [`crate::Dataset::named_columns`].
    pub(crate) fn naming(self, named: Vec<TemplateField>) -> Self {
        Self { named, ..self }
    }

    /// Looks at a row.
    pub fn see(&mut self, row: &Row) {
        if self.rows == 0 {
            self.known = listed(row.names());
            self.misspelt = misspelt(&self.named, row);
            self.list = row.iter().find(|(_, value)| value.lists_dicts()).map(|(name, _)| name.to_owned());
        }
        self.rows += 1;
        for (field, lacking) in self.fields.iter().zip(&mut self.lacking) {
            *lacking += u64::from(!field.is_in(row));
        }
    }

    /// Adds the counts of later rows.
    pub fn add(&mut self, other: Self) {
        if self.rows == 0 {
            *self = other;
            return;
        }
        self.rows += other.rows;
        self.lacking.iter_mut().zip(other.lacking).for_each(|(lacking, more)| *lacking += more);
    }

    /// How many rows there were.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether any row lacks the column of a field.
    pub(crate) fn lacks_any(&self) -> bool {
        self.lacking.iter().any(|rows| *rows > 0)
    }

    /// The columns that the reader names, and rows have under nearly the same name.
    pub(crate) fn misspelt(&self) -> &[Warning] {
        &self.misspelt
    }

    /// The column that lists the rows, if the only row is perhaps a whole file.
    pub(crate) fn list_in_only_row(&self) -> Option<&str> {
        self.list.as_deref().filter(|_| self.rows == 1)
    }

    /// The first field but these whose column no row has, and the error for it.
    pub(crate) fn everywhere_but(&self, fields: &[TemplateField]) -> Option<(&TemplateField, Warning)> {
        let field = self.nowhere_found().find(|field| !fields.contains(field))?;
        Some((field, field.missing(&self.known)))
    }

    /// The fields whose columns no row has.
    pub(crate) fn nowhere_found(&self) -> impl Iterator<Item = &TemplateField> {
        let needed = self.fields.iter().zip(&self.lacking).take(self.needed);
        needed.filter(|(_, rows)| **rows > 0 && **rows == self.rows).map(|(field, _)| field)
    }

    /// The fields whose columns some rows lack, and how many rows do.
    pub fn somewhere(&self) -> impl Iterator<Item = (&TemplateField, u64)> {
        let lacking = self.fields.iter().zip(self.lacking.iter().copied());
        lacking.filter(|(_, rows)| *rows > 0 && *rows < self.rows)
    }
}

/// Warnings for columns that a row does not have, but one of nearly the same name.
pub(crate) fn misspelt(named: &[TemplateField], row: &Row) -> Vec<Warning> {
    let warning = |TemplateField { place, column }: &TemplateField| {
        // Columns of a few letters, such as those of choices, are all alike.
        if column.len() < SHORTEST || row.get(column).is_some() {
            return None;
        }
        let near = row.names().find(|name| is_misspelt(column, name))?;
        let what = format!("there is no column {column:?} in the first row; did you mean {near:?}?");
        Some(Warning::new("missing-column", what).at(place.clone()))
    };
    named.iter().filter_map(warning).collect()
}

/// The shortest name that may be misspelt.
const SHORTEST: usize = 4;

/// The fields of a text: names in braces. Those that are not [words](TemplateField::is_word) are perhaps text.
pub(crate) fn of_text(text: &str, place: &str, fields: &mut Vec<TemplateField>) {
    let place = Place::from(place);
    let own = fields.iter().filter(|field| field.place == place);
    let mut seen: HashSet<String> = own.map(|field| field.column.clone()).collect();
    for (at, _) in text.match_indices('{') {
        let Some(end) = text[at..].find('}') else { break };
        let name = &text[at + 1..at + end];
        if !name.is_empty() && !name.contains('{') && seen.insert(name.to_owned()) {
            fields.push(TemplateField { place: place.clone(), column: name.to_owned() });
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
    let mut texts = Vec::new();
    for (i, item) in items.iter().enumerate() {
        match item {
            Item::Text(text) => texts.push(TemplateText::new(format!("{place}[{i}]"), text)),
            Item::Message(Message { prompt: Prompt::Text(prompt), .. }) => {
                texts.push(TemplateText::new(format!("{place}[{i}].prompt"), prompt));
            }
            Item::Message(Message { prompt: Prompt::Parts(parts), .. }) => {
                let of_parts = parts.iter().filter_map(ContentPart::text_or_source);
                texts.extend(of_parts.map(|text| TemplateText::new(format!("{place}[{i}].prompt_mm"), text)));
            }
            Item::Message(Message { prompt: Prompt::Absent | Prompt::Null, .. }) | Item::Marker(_) => {}
        }
    }
    texts
}
