//! Which rows of a dataset are asked, with which columns, and how long their answers may be.

use std::borrow::Cow;

use crate::dataset::config::Dataset;
use crate::dataset::prompter::MaxOutLen;
use crate::dataset::rows::{Picks, Row, SplitRange};
use crate::dataset::source::RawRecord;
use crate::error::{At, Error, ErrorKind, Place, Result};

impl Dataset {
    /// Whether rows are asked in a different order from the file's, not all of them, or more than once.
    pub fn picks_rows(&self) -> bool {
        self.test_range.is_some() || self.repeats.times() > 1
    }

    /// The rows that are asked, out of `len`. As in OpenCompass, `test_range` chooses from the repeated rows; as in AISBench,
    /// each of its datasets' chosen rows is repeated.
    ///
    /// ```
    /// use metatok::Dataset;
    ///
    /// let file = br#"{"n": 2, "reader_cfg": {"test_range": "[1:]"}, "infer_cfg": {}}"#;
    /// let picked: Vec<_> = Dataset::parse("x.json", file)?.picked_rows(2)?.map(|pick| (pick.row, pick.repeat)).collect();
    /// assert_eq!(picked, [(1, Some(0)), (0, Some(1)), (1, Some(1))]);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as [`crate::dataset::rows::SplitRange::rows`], with the place; [`ErrorKind::Dataset`] if it leaves no row.
    pub fn picked_rows(&self, rows: usize) -> Result<Picks> {
        let chosen = |all| self.test_range.as_ref().map(|range| range.rows(all)).transpose();
        let some = |picks: Picks| {
            let mut picks = picks.peekable();
            match picks.peek() {
                None if rows > 0 => Err(Error::from(ErrorKind::Dataset(format!("it leaves none of {rows} rows")))),
                _ => Ok(Box::new(picks) as Picks),
            }
        };
        self.repeats.picks(rows, chosen).and_then(some).at("reader_cfg.test_range").at(Place::file(&self.name))
    }

    /// The most that the number of the first row that is asked can be, from 0; none if it depends on how many rows there are.
    /// A later row need not be kept until all are read.
    ///
    /// ```
    /// use metatok::Dataset;
    ///
    /// let dataset = |range| Dataset::parse("d.toml", format!("reader_cfg.test_range = \"{range}\"\n[infer_cfg]").as_bytes());
    /// assert_eq!(dataset("[2:]")?.first_row_at_most(), Some(2));
    /// assert_eq!(dataset("[-2:]")?.first_row_at_most(), None);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn first_row_at_most(&self) -> Option<usize> {
        // A range chooses from the repeated rows, so that the row of a place is no later one.
        self.test_range.as_ref().map_or(Some(0), SplitRange::first)
    }

    /// The rows that examples are drawn from, out of the training set.
    ///
    /// # Errors
    /// The same as [`crate::dataset::rows::SplitRange::rows`], with the place.
    pub(crate) fn train_rows(&self, rows: Vec<Row>) -> Result<Vec<Row>> {
        let chosen = |all| self.train_range.as_ref().map(|range| range.rows(all)).transpose();
        self.repeats.of_train(rows, chosen).at("reader_cfg.train_range").at(Place::file(&self.name))
    }

    /// Reads a row of JSON, and adds the columns that the file derives.
    ///
    /// ```
    /// use metatok::Dataset;
    ///
    /// let dataset = Dataset::parse("d.toml", br#"
    ///     [reader_cfg.columns]
    ///     B = "choices.text[1]"
    ///     letter = { from = "key", index_in = "choices.label", letter = true }
    ///     options = { from = "choices.text", each = "{letter}) {item}" }
    ///     [infer_cfg]
    /// "#)?;
    /// let row = dataset.row(r#"{"choices": {"text": ["red", "blue"], "label": ["1", "2"]}, "key": "2"}"#)?;
    /// let text = |column| row.get(column).map(|value| value.text().into_owned());
    /// assert_eq!(text("B").as_deref(), Some("blue"));
    /// assert_eq!(text("letter").as_deref(), Some("B"));
    /// assert_eq!(text("options").as_deref(), Some("A) red\nB) blue"));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Row::from_json`]; [`crate::ErrorKind::Row`] if a column cannot be derived from the row.
    pub fn row(&self, json: &str) -> Result<Row> {
        self.row_of(json.into()).map(Cow::into_owned)
    }

    /// Reads a row, with the columns that the file derives. A row of a table is not copied if there are none.
    ///
    /// # Errors
    /// As [`Self::row`].
    pub fn row_of<'r>(&self, record: RawRecord<'r>) -> Result<Cow<'r, Row>> {
        let mut row = record.row()?;
        if !self.derived_columns.is_empty() {
            self.derive(row.to_mut())?;
        }
        Ok(row)
    }

    /// Adds the derived columns to a row.
    pub(crate) fn derive(&self, row: &mut Row) -> Result<()> {
        self.derived_columns.set(row, self.task.max_row_bytes)
    }

    /// How long the answers of a row may be: the row's own limit, or else the inferencer's.
    ///
    /// # Errors
    /// The same as for [`Task::max_out_len`](crate::dataset::Task::max_out_len).
    pub fn max_out_len(&self, row: &Row) -> Result<MaxOutLen> {
        Ok(self.task.max_out_len(row)?.or(self.inferencer.max_out_len))
    }
}
