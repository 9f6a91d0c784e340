//! Templates of several turns, whose questions and answers are lists: AISBench's `MultiTurnPromptTemplate`.

use crate::conversation::Conversation;
use crate::dataset::rows::{Fields, Row, Value};
use crate::dataset::template::row_template::{RowTemplate, TemplateInput};
use crate::dataset::template::template_kind::{Key, TemplateKind};
use crate::dataset::template::{
    DialogueTemplate, Filler, MAX_ROW_BYTES, Room, Substitution, TemplateField, TemplateText, fields, fill_items,
};
use crate::dataset::{dataset_error, row_error};
use crate::error::{At, Place, Result};

/// A dialogue whose round is repeated for each question. Only `{question}` and `{answer}` are fields, and only in the
/// round.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnTemplate {
    dialogue: DialogueTemplate,
    /// The column of the questions.
    pub question: String,
    /// The column of the answers. A row without it has no answers.
    pub answer: String,
    /// How fields are filled: with successive substitution, an answer's field in a question is filled too.
    pub substitution: Substitution,
    /// What would mark the place of the examples. It has no place for them, but AISBench asks for the mark beside an
    /// `ice_template`, and then leaves the examples out.
    pub ice_token: Option<String>,
    /// How many bytes the texts of a prompt may have after they are filled.
    pub max_row_bytes: usize,
}

impl TurnTemplate {
    /// A dialogue: begin, round, end.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] for anything else, and for a dialogue without a round.
    pub fn new(template: &Value) -> Result<Self> {
        if !matches!(template, Value::Dict(entries) if DialogueTemplate::is_one(entries)) {
            return Err(dataset_error("a template of several turns must be a dialogue: write {round = [ … ]}"));
        }
        let dialogue = DialogueTemplate::new(template)?;
        dialogue.required_round()?;
        Ok(Self {
            dialogue,
            question: "question".into(),
            answer: "answer".into(),
            substitution: Substitution::default(),
            ice_token: None,
            max_row_bytes: MAX_ROW_BYTES,
        })
    }

    /// The dialogue of a row, including answers; as many turns as the shorter list has.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Row`] if there are no questions, and [`crate::ErrorKind::RowTooLong`].
    pub fn prompt(&self, row: &Row) -> Result<Conversation> {
        let questions = turns(row.get(&self.question).ok_or_else(|| row.no_column(&self.question))?);
        let questions = questions.at(Place::column(&self.question))?;
        let answers = match row.get(&self.answer) {
            Some(answers) => turns(answers).at(Place::column(&self.answer))?,
            None => vec![Value::from(""); questions.len()],
        };
        let pattern = self.dialogue.required_round()?;
        let (mut round, room) = (Vec::new(), Room::new(self.max_row_bytes));
        for (question, answer) in questions.into_iter().zip(answers) {
            let row = Row::new(vec![("question".to_owned(), question), ("answer".to_owned(), answer)]);
            let filler = Filler { fields: Fields::new(&row), how: self.substitution, room: &room };
            round.extend(fill_items(pattern.to_vec(), &filler)?);
        }
        Ok(Conversation::List(self.dialogue.with_round(&round)))
    }
}

impl RowTemplate for TurnTemplate {
    fn describe(&self) -> &'static str {
        "a template of several turns"
    }

    fn fill(&self, input: &TemplateInput<'_>) -> Result<Conversation> {
        self.prompt(input.row)
    }

    fn ice_token(&self) -> Option<&str> {
        self.ice_token.as_deref()
    }

    fn turn_columns(&self) -> Option<[&str; 2]> {
        Some([&self.question, &self.answer])
    }

    fn texts(&self) -> Vec<TemplateText> {
        self.dialogue.texts("template")
    }

    /// All fields except its own two, and these too outside the round.
    fn unfilled(&self) -> Vec<TemplateField> {
        let is_own = |field: &TemplateField| {
            matches!(&field.place, Place::Key(path) if path.starts_with("template.round["))
                && ["question", "answer"].contains(&field.column.as_str())
        };
        let mut found = fields::of_texts(&self.texts());
        found.retain(|field| !is_own(field));
        found
    }

    fn unfilled_help(&self) -> Option<&'static str> {
        Some("only {question} and {answer} in the round are filled; replace it with text")
    }

    fn set_single_pass(&mut self) {
        self.substitution = Substitution::SinglePass;
    }

    fn set_max_row_bytes(&mut self, bytes: usize) {
        self.max_row_bytes = bytes;
    }
}

pub(super) const KIND: TemplateKind = TemplateKind {
    class: "MultiTurnPromptTemplate",
    keys: &[Key::Text("question_column"), Key::Text("answer_column")],
    read: |template, keys| {
        let mut read = TurnTemplate::new(template)?;
        read.substitution = keys.substitution();
        // The reference takes it, too, and has no use for it.
        keys.text("sep_token");
        read.ice_token = keys.text("ice_token").filter(|token| !token.is_empty());
        read.question = keys.text("question_column").unwrap_or(read.question);
        read.answer = keys.text("answer_column").unwrap_or(read.answer);
        Ok(read.into())
    },
};

/// The items of a list; a string is one of them.
fn turns(value: &Value) -> Result<Vec<Value>> {
    match value {
        Value::List(items) => Ok(items.clone()),
        Value::Text(_) => Ok(vec![value.clone()]),
        other => Err(row_error(&format!("expected a list of strings, one for each turn, not {}", other.shown()))),
    }
}
