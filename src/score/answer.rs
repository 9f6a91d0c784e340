//! An answer and its reference, from a line that `metatok run` or `metatok trim` wrote.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;

use crate::compare::AnswerKey;
use crate::dataset::{Row, Value};
use crate::error::{At, Error, ErrorKind, Result, Setting, counted, way_out};
use crate::score::exact;
use crate::server::{gave_up, is_error, without_infinities};

/// An answer with the columns of its row that were kept.
///
/// ```
/// use metatok::score::ScoredAnswer;
///
/// let answer = ScoredAnswer::read(r#"{"id": 0, "columns": {"names": ["Mars", "the red planet"]}, "text": "Mars"}"#)?;
/// assert_eq!(answer.text(), Some("Mars"));
/// assert_eq!(answer.references("names")?, ["Mars", "the red planet"]);
/// let error = answer.references("name").expect_err("it is not there");
/// assert_eq!(error.to_string(), r#"columns: there is no "name", only "names"; keep it with `keep = "name"`"#);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct ScoredAnswer {
    /// As JSON.
    #[serde(default, deserialize_with = "exact::id")]
    id: Option<String>,
    repeat: Option<usize>,
    turn: Option<usize>,
    /// Files of others may have other things under this name.
    choice: Option<Json>,
    #[serde(default, deserialize_with = "exact::columns")]
    columns: Option<Row>,
    text: Option<String>,
    /// Not an error if it says nothing.
    error: Option<Json>,
    /// Files of others may have other things under this name.
    finish_reason: Option<Json>,
    found: Option<IgnoredAny>,
    correct: Option<IgnoredAny>,
}

impl ScoredAnswer {
    /// Reads a line.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] for a line that is not JSON, [`ErrorKind::Invalid`] for one with neither a text nor an
    /// error.
    pub fn read(line: &str) -> Result<Self> {
        let answer: Self = without_infinities(line, |line| exact::object_from_line(line))?;
        if answer.text.is_none() && !answer.has_error() {
            let what = "there is no \"text\"; an answer must be a line that `metatok run` or `metatok trim` wrote";
            return Err(ErrorKind::Invalid(what.into()).into());
        }
        Ok(answer)
    }

    /// A label that was picked; none if a score is missing.
    pub(super) fn of_label(label: Option<&str>, columns: Option<&Row>) -> Self {
        Self { columns: columns.cloned(), text: label.map(str::to_owned), ..Self::default() }
    }

    /// Whose answer it is; none without an id.
    pub(super) fn key(&self) -> Option<AnswerKey> {
        let choice = self.choice.as_ref().and_then(|choice| usize::try_from(choice.as_u64()?).ok());
        Some(AnswerKey::new(self.id.as_ref()?, self.repeat, self.turn, choice))
    }

    /// Whose answer it is, whichever of the repeats and choices; none without an id.
    pub(super) fn key_of_row(&self) -> Option<AnswerKey> {
        Some(AnswerKey::new(self.id.as_ref()?, None, self.turn, None))
    }

    /// The text of the answer; none if it is an error, or if the engine gave up.
    pub fn text(&self) -> Option<&str> {
        let reason = self.finish_reason.as_ref().and_then(Json::as_str);
        self.text.as_deref().filter(|_| !self.has_error() && !reason.is_some_and(gave_up))
    }

    fn has_error(&self) -> bool {
        let reason = self.finish_reason.as_ref().and_then(Json::as_str);
        self.error.as_ref().is_some_and(|error| is_error(&error.to_string(), true, reason))
    }

    /// Whether the line already has the keys that scoring adds, `found` and `correct`.
    pub(super) fn was_scored(&self) -> bool {
        self.found.or(self.correct).is_some()
    }

    /// The right answers, from the column that contains them: a text or number, or a list of several that are all
    /// right. For an answer to a turn, the list has one item for each turn.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if there is no such column, or if it contains nothing that could be an answer.
    pub fn references(&self, column: &str) -> Result<Vec<String>> {
        let value = self.columns.as_ref().and_then(|columns| columns.get(column)).ok_or_else(|| self.no_column(column));
        let value = value.at("columns")?;
        match (self.turn, value) {
            (Some(turn), Value::List(turns)) => match turns.get(turn) {
                Some(Value::List(names)) => texts(names),
                Some(name) => texts(std::slice::from_ref(name)),
                None => {
                    let what = format!(
                        "the list has {}, one for each turn from 0, but this is the answer to turn {turn}",
                        counted(turns.len(), "item")
                    );
                    Err(ErrorKind::Invalid(what).into())
                }
            },
            (_, Value::List(names)) => texts(names),
            (_, name) => texts(std::slice::from_ref(name)),
        }
        .at(column)
        .at("columns")
    }

    fn no_column(&self, column: &str) -> Error {
        let names: Vec<String> =
            self.columns.iter().flat_map(|columns| columns.names()).map(|name| format!("{name:?}")).collect();
        let there =
            if names.is_empty() { "and no other column".to_owned() } else { format!("only {}", names.join(", ")) };
        let what = ErrorKind::Invalid(format!("there is no {column:?}, {there}"));
        match column.contains(['.', '[']) {
            // Only whole columns are kept.
            true => what.with_way_out(way_out![
                "name it in the dataset file, `columns = { right = ",
                format!("{column:?}"),
                " }`, and keep that with ",
                Setting::KEEP.set_to("right".to_owned())
            ]),
            false => what.with_way_out(way_out!["keep it with ", Setting::KEEP.set_to(column.to_owned())]),
        }
    }
}

fn texts(names: &[Value]) -> Result<Vec<String>> {
    if names.is_empty() {
        return Err(ErrorKind::Invalid("an empty list contains no right answer".into()).into());
    }
    names.iter().try_fold(Vec::new(), |mut texts, name| {
        match name {
            Value::Text(_) | Value::Int(_) | Value::Float(_) => texts.push(name.text().into_owned()),
            // As prompts have it, or as JSON does.
            Value::Bool(is) => texts.extend(if *is { ["True", "true"] } else { ["False", "false"] }.map(str::to_owned)),
            Value::Null | Value::List(_) | Value::Dict(_) => {
                let what = format!("a right answer must be a text, a number or a boolean, not {}", name.to_json());
                return Err(ErrorKind::Invalid(what).into());
            }
        }
        Ok(texts)
    })
}
