//! Templates of strings and dialogues: OpenCompass's `PromptTemplate`.

use crate::conversation::Conversation;
use crate::dataset::dataset_error;
use crate::dataset::rows::{Fields, Row, Value, listed};
use crate::dataset::template::label_templates::{Chosen, Template, encode};
use crate::dataset::template::{
    Filler, MAX_ROW_BYTES, Room, Substitution, fill_items, has_room, insert, insert_text, occurrences, replace,
};
use crate::error::{At, Error, ErrorKind, Result};

/// How a row becomes a prompt, or an in-context example.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptTemplate {
    pub(super) template: Template,
    /// What marks the place of the in-context examples.
    pub ice_token: Option<String>,
    /// What separates a context from an answer; left out of prompts.
    pub sep_token: Option<String>,
    pub(super) column_token_map: Vec<(String, String)>,
    /// How fields are filled.
    pub substitution: Substitution,
    /// How many bytes the texts of a prompt may have after they are filled.
    pub max_row_bytes: usize,
    /// Whether a label is also found by its text or number, as in files, whose keys are strings.
    pub labels_by_text: bool,
}

impl PromptTemplate {
    /// A template: a string, a dialogue (a dict with no other keys than begin, round and end), or a dict from labels to
    /// either.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] for anything else, and for a string without the `ice_token`.
    pub fn new(template: &Value, ice_token: Option<&str>, sep_token: Option<&str>) -> Result<Self> {
        if ice_token == Some("") {
            return Err(ErrorKind::Dataset(
                "an empty ice_token would put the examples between all characters; set a token such as \"</E>\", or remove it".into(),
            )
            .into());
        }
        let template = Template::new(template)?;
        if let Some(token) = ice_token {
            template.must_hold(token)?;
        }
        Ok(Self {
            template,
            ice_token: ice_token.map(str::to_owned),
            sep_token: sep_token.map(str::to_owned),
            column_token_map: Vec::new(),
            substitution: Substitution::default(),
            max_row_bytes: MAX_ROW_BYTES,
            labels_by_text: false,
        })
    }

    /// With tokens that name the fields, as in July 2023: braces then have no meaning.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] for a token that is used for two columns, or for the examples too.
    pub fn with_column_token_map(mut self, map: Vec<(String, String)>) -> Result<Self> {
        for (i, (column, token)) in map.iter().enumerate() {
            let other = map[..i].iter().find(|(_, known)| known == token).map(|(other, _)| other.as_str());
            if let Some(other) = other.or((self.ice_token.as_ref() == Some(token)).then_some("the examples")) {
                let what = format!("column_token_map: {token:?} is used for both {column:?} and {other:?}");
                return Err(dataset_error(&what));
            }
        }
        self.column_token_map = map;
        Ok(self)
    }

    /// Whether it is a single dialogue, whose examples are put side by side without separators.
    pub fn is_dialogue(&self) -> bool {
        matches!(self.template, Template::Dialogue(_))
    }

    /// The labels, if it has a template for each.
    pub fn labels(&self) -> Option<impl Iterator<Item = &Value>> {
        match &self.template {
            Template::Labels(labels) => Some(labels.iter().map(|(label, _)| label)),
            _ => None,
        }
    }

    /// An in-context example of a row, whose answer is not masked. OpenCompass: `generate_ice_item`.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] for a label without a template, and for a dialogue without a round.
    pub fn example(&self, row: &Row, label: &Value) -> Result<Conversation> {
        let example = encode(self.of_label(label)?, true)?;
        // The reference means to leave out sep_token too, but discards the result.
        self.fill_around(example, &Conversation::Text(String::new()), Fields::new(row), None)
    }

    /// A prompt to continue: `masked` is the column of the answer and its replacement. OpenCompass: `generate_item`.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] if the examples cannot be inserted.
    pub fn prompt(&self, row: &Row, masked: Option<(&str, &str)>, examples: &Conversation) -> Result<Conversation> {
        let chosen = match &self.template {
            Template::Labels(labels) => {
                let (_, template) = labels.first().ok_or_else(|| dataset_error("the template has no labels"))?;
                template.choose()?
            }
            Template::Text(text) => Chosen::Text(text),
            Template::Dialogue(dialogue) => Chosen::Dialogue(dialogue),
        };
        let fields = masked.map_or(Fields::new(row), |(column, token)| Fields::masked(row, column, token));
        let sep_token = self.sep_token.as_deref();
        if self.is_single_pass() {
            return self.fill_around(encode(chosen, false)?, examples, fields, sep_token);
        }
        // Also in the examples, which are already in the text.
        let prompt = self.inserted(encode(chosen, false)?, examples)?;
        self.fill(self.without(prompt, sep_token)?, fields)
    }

    /// A text to score for a label. The answer is not masked. `keep_sep_token` leaves the separator in. OpenCompass:
    /// `generate_label_prompt_item`.
    ///
    /// # Errors
    /// The same as for [`Self::example`] and [`Self::prompt`].
    pub fn label_prompt(
        &self,
        row: &Row,
        examples: &Conversation,
        label: &Value,
        keep_sep_token: bool,
    ) -> Result<Conversation> {
        let prompt = encode(self.of_label(label)?, false)?;
        let sep_token = self.sep_token.as_deref().filter(|_| !keep_sep_token);
        self.fill_around(prompt, examples, Fields::new(row), sep_token)
    }

    pub(super) fn is_single_pass(&self) -> bool {
        self.substitution == Substitution::SinglePass && self.column_token_map.is_empty()
    }

    /// The template's own text without `sep_token` and filled, with the examples in place. With successive
    /// substitution, the examples are searched for fields too.
    fn fill_around(
        &self,
        prompt: Conversation,
        examples: &Conversation,
        fields: Fields<'_>,
        sep_token: Option<&str>,
    ) -> Result<Conversation> {
        let prompt = self.without(prompt, sep_token)?;
        if !self.is_single_pass() {
            return self.fill(self.inserted(prompt, examples)?, fields);
        }
        let Some(token) = &self.ice_token else { return self.fill(prompt, fields) };
        self.check_inserted(&prompt, token, examples)?;
        let room = Room::new(self.max_row_bytes);
        let filler = Filler { fields, how: self.substitution, room: &room };
        let own = |text: &str| filler.fill(text.to_owned());
        Ok(match (prompt, examples) {
            (Conversation::Text(text), Conversation::Text(with)) => {
                Conversation::Text(insert_text(&text, token, with, own)?)
            }
            (Conversation::Text(_), _) => return Err(not_alike()),
            (Conversation::List(items), with) => Conversation::List(insert(items, token, with, own)?),
            (messages, _) => messages,
        })
    }

    fn inserted(&self, prompt: Conversation, examples: &Conversation) -> Result<Conversation> {
        match &self.ice_token {
            Some(token) => self.replace(prompt, token, examples),
            None => Ok(prompt),
        }
    }

    fn without(&self, prompt: Conversation, token: Option<&str>) -> Result<Conversation> {
        match token {
            Some(token) => self.replace(prompt, token, &Conversation::Text(String::new())),
            None => Ok(prompt),
        }
    }

    fn of_label(&self, label: &Value) -> Result<Chosen<'_>> {
        let labels = match &self.template {
            Template::Text(text) => return Ok(Chosen::Text(text)),
            Template::Dialogue(dialogue) => return Ok(Chosen::Dialogue(dialogue)),
            Template::Labels(labels) => labels,
        };
        let by_text = || labels.iter().find(|(known, _)| self.labels_by_text && known.text() == label.text());
        // In Python, the keys 1, 1.0 and True are one.
        let by_number = || {
            let number = label.number()?;
            let is_same = |known: &Value| match &*known.text() {
                "True" => number == 1.0,
                "False" => number == 0.0,
                text => text.parse() == Ok(number),
            };
            labels.iter().find(|(known, _)| self.labels_by_text && is_same(known))
        };
        let found = labels.iter().find(|(known, _)| known.equals(label)).or_else(by_text).or_else(by_number);
        let (_, template) = found.ok_or_else(|| {
            let known: Vec<String> = labels.iter().map(|(known, _)| known.shown()).collect();
            dataset_error(&format!(
                "there is no template for the label {}; there are templates for {}",
                label.shown(),
                known.join(", ")
            ))
        })?;
        template.choose().at(label.shown())
    }

    /// Rejects examples that would make a prompt too long, before they are in it.
    fn check_inserted(&self, prompt: &Conversation, token: &str, with: &Conversation) -> Result<()> {
        let is_too_long = occurrences(prompt, token).saturating_mul(with.bytes()) > self.max_row_bytes;
        if is_too_long { Err(ErrorKind::RowTooLong(self.max_row_bytes).into()) } else { Ok(()) }
    }

    fn replace(&self, prompt: Conversation, token: &str, with: &Conversation) -> Result<Conversation> {
        if token.is_empty() {
            return Ok(prompt);
        }
        self.check_inserted(&prompt, token, with)?;
        Ok(match (prompt, with) {
            (Conversation::Text(text), Conversation::Text(with)) => Conversation::Text(text.replace(token, with)),
            (Conversation::Text(_), _) => return Err(not_alike()),
            (Conversation::List(items), with) => Conversation::List(replace(items, token, with)?),
            (messages, _) => messages,
        })
    }

    fn fill(&self, prompt: Conversation, fields: Fields<'_>) -> Result<Conversation> {
        if !self.column_token_map.is_empty() {
            return self.fill_tokens(prompt, fields);
        }
        let room = Room::new(self.max_row_bytes);
        let filler = Filler { fields, how: self.substitution, room: &room };
        Ok(match prompt {
            Conversation::Text(text) => Conversation::Text(filler.fill(text)?),
            Conversation::List(items) => Conversation::List(fill_items(items, &filler)?),
            messages => messages,
        })
    }

    /// OpenICL's way: each column's token is replaced, in the order of the map.
    fn fill_tokens(&self, mut prompt: Conversation, fields: Fields<'_>) -> Result<Conversation> {
        let room = Room::new(self.max_row_bytes);
        for (column, token) in &self.column_token_map {
            let (_, field) = fields.iter().find(|(name, _)| name == column).ok_or_else(|| {
                dataset_error(&format!(
                    "column_token_map: there is no column {column:?} (columns: {})",
                    listed(fields.iter().map(|(name, _)| name))
                ))
            })?;
            let text = field.text();
            if !token.is_empty() {
                has_room(&prompt, token, &text, &room)?;
            }
            prompt = self.replace(prompt, token, &Conversation::Text(text.into_owned()))?;
        }
        Ok(prompt)
    }
}

fn not_alike() -> Error {
    dataset_error("the prompt is a string, but the examples have roles; make both strings or both dialogues")
}
