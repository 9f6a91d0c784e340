//! The id of a row and the columns that are written with its prompts, so that answers can be matched to rows.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::dataset::rows::{PickedRow, Row, Value};
use crate::dataset::template::TemplateField;
use crate::error::{At, ErrorKind, Place, Result, Setting, way_out};

/// The default column of the id.
const ID: &str = "id";

/// Which columns are written with prompts.
///
/// ```
/// use metatok::dataset::rows::{KeptColumns, PickedRow};
/// use metatok::Row;
///
/// let kept = KeptColumns { id: None, keep: vec!["answer".into()] };
/// let row = Row::from_json(r#"{"id": "mars-1", "question": "Which planet is red?", "answer": "Mars"}"#)?;
/// let key = kept.key(&row, PickedRow::once(7))?;
/// assert_eq!(key.id.get(), r#""mars-1""#);
/// assert_eq!(key.columns.expect("one is kept").get(), r#"{"answer":"Mars"}"#);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptColumns {
    /// The column of the id, which every row must have. By default it is `id`, and rows without it use their numbers.
    pub id: Option<String>,
    /// The columns that are written with each prompt.
    pub keep: Vec<String>,
}

/// What distinguishes the prompts of a row from those of others.
#[derive(Debug, Clone)]
pub struct RowKey {
    /// The id, as JSON: the row's own, or its number in the file.
    pub id: Box<RawValue>,
    /// Whether the row has its own id.
    pub has_id: bool,
    /// Which of the row's repeats it is, see [`PickedRow::repeat`].
    pub repeat: Option<usize>,
    /// The columns that are kept, as a JSON object. A column that the row lacks is left out.
    pub columns: Option<Box<RawValue>>,
}

impl RowKey {
    /// The key of a row of which only the position is known.
    pub fn numbered(PickedRow { row, repeat, .. }: PickedRow) -> Self {
        Self { id: json(&row), has_id: false, repeat, columns: None }
    }
}

impl KeptColumns {
    /// What is written with the prompts of a row.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] for an id that is neither a string nor a number, and if a row lacks the named column.
    pub fn key(&self, row: &Row, pick: PickedRow) -> Result<RowKey> {
        let numbered = RowKey::numbered(pick);
        let columns = (!self.keep.is_empty()).then(|| json(&Kept { row, columns: &self.keep }));
        Ok(match self.id(row)? {
            Some(id) => RowKey { id, has_id: true, columns, ..numbered },
            None => RowKey { columns, ..numbered },
        })
    }

    fn id(&self, row: &Row) -> Result<Option<Box<RawValue>>> {
        let column = self.id.as_deref().unwrap_or(ID);
        match row.get(column) {
            Some(id @ (Value::Text(_) | Value::Int(_))) => Ok(Some(json(id))),
            Some(id @ Value::Float(number)) if number.is_finite() => Ok(Some(json(id))),
            None | Some(Value::Null) if self.id.is_none() => Ok(None),
            None => Err(row.no_column(column)).at(Setting::ID_COLUMN),
            Some(other) => {
                let what = format!("an id must be a string or a number, not {}", other.shown());
                let way_out = way_out!["choose the column of the ids with ", Setting::ID_COLUMN];
                Err(ErrorKind::Row(what).with_way_out(way_out).at(Place::column(column)))
            }
        }
    }

    /// The kept columns, for counting the rows that lack them.
    pub fn fields(&self) -> impl Iterator<Item = TemplateField> {
        self.keep.iter().map(|column| TemplateField { place: Setting::KEEP.into(), column: column.clone() })
    }
}

/// Columns of a row.
struct Kept<'r> {
    row: &'r Row,
    columns: &'r [String],
}

impl Serialize for Kept<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.columns.iter().filter_map(|column| Some((column, self.row.get(column)?))))
    }
}

fn json(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("values of rows are JSON")
}
