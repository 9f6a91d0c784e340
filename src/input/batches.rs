//! Records in batches, small enough to share among all cores, with the examples that go before each. What comes slowly is
//! handed over as it comes.

use std::borrow::Cow;
use std::io::BufRead;
use std::ops::Range;
use std::sync::Arc;

use crate::dataset::{Dataset, Examples, FileRecord, Holds, PickedRow, RawRecord, Records, Retriever, Row};
use crate::error::{Error, Place, Result};
use crate::input::{Input, RecordPlace};

/// A batch is full with this many bytes: enough to make handing it over cheap, little enough to share
/// small inputs among all cores.
const BATCH_BYTES: usize = 1 << 16;

type InputLines = Records<Box<dyn BufRead + Send>>;

/// Lines of one input, with what is needed to name them.
pub(crate) struct LineBatch {
    pub(crate) input: Arc<str>,
    /// About how many bytes of the input it holds.
    pub(crate) size: usize,
    /// Those of records that are JSON.
    bytes: Vec<u8>,
    pub(crate) lines: Vec<BatchLine>,
    /// The examples of each line, where lines are rows.
    pub(crate) examples: Vec<Examples>,
    /// The number of the first line among all that are asked, from 0.
    pub(crate) first: u64,
    /// Which rows the lines are, where they are not asked one after the other.
    picks: Vec<PickedRow>,
    /// The error that ended reading after these lines, if any.
    pub(crate) error: Option<Error>,
}

/// A record of a batch.
pub(crate) struct BatchLine {
    pub(crate) record: FileRecord,
    /// Its bytes in the batch, if it is not a row of a table.
    range: Range<usize>,
}

/// Gives one batch after the other.
pub(crate) type Batches = Box<dyn FnMut() -> Option<LineBatch> + Send>;

/// The batches to build: the inputs' lines, or of a dataset's range with the examples that go before each. These
/// are chosen here, because some retrievers depend on the order of the rows.
///
/// # Errors
/// Where the dataset picks among all rows: what reading them says.
pub(crate) fn batches(
    inputs: Vec<Input>,
    longest: usize,
    rows: Option<(&Dataset, Box<dyn Retriever>)>,
    limit: Option<usize>,
) -> Result<Batches> {
    let holds = if rows.is_some() { Holds::Rows } else { Holds::Conversations };
    let mut next = streamed(inputs, longest, holds);
    let mut retriever = None;
    if let Some((dataset, of_dataset)) = rows {
        retriever = Some(of_dataset);
        if dataset.picks_rows() {
            next = picked(std::iter::from_fn(next).collect(), dataset)?;
        }
    }
    let mut first = 0;
    let mut left = limit.unwrap_or(usize::MAX);
    let mut has_failed = false;
    Ok(Box::new(move || {
        if has_failed || left == 0 {
            return None;
        }
        let mut batch = next()?;
        if batch.lines.len() >= left {
            batch.lines.truncate(left);
            batch.error = None;
        }
        left -= batch.lines.len();
        batch.first = first;
        if let Some(retriever) = &mut retriever {
            for i in 0..batch.lines.len() {
                let index = first as usize + i;
                let examples = match batch.picks.get(i) {
                    Some(pick) => retriever.retrieve_picked(index, pick.row),
                    None => retriever.retrieve(index),
                };
                match examples {
                    Ok(examples) => batch.examples.push(examples),
                    Err(error) => {
                        batch.error = Some(batch.place(&batch.lines[i]).of_error(error));
                        batch.lines.truncate(i);
                        break;
                    }
                }
            }
        }
        has_failed = batch.error.is_some();
        first += batch.lines.len() as u64;
        Some(batch)
    }))
}

/// The objects of inputs, whatever they are.
pub(crate) fn objects(inputs: Vec<Input>, longest: usize) -> Batches {
    streamed(inputs, longest, Holds::Rows)
}

/// The rows that a dataset asks, among all, which therefore must be in memory.
fn picked(all: Vec<LineBatch>, dataset: &Dataset) -> Result<Batches> {
    let mut lines = Vec::new();
    for mut batch in all {
        if let Some(error) = batch.error.take() {
            return Err(error);
        }
        let batch = Arc::new(batch);
        lines.extend((0..batch.lines.len()).map(|i| (Arc::clone(&batch), i)));
    }
    let mut picks = dataset.picked_rows(lines.len())?.peekable();
    Ok(Box::new(move || {
        let input = Arc::clone(&lines[picks.peek()?.row].0.input);
        let mut batch = LineBatch::new(&input);
        while let Some(pick) =
            picks.next_if(|pick| batch.size < BATCH_BYTES && Arc::ptr_eq(&lines[pick.row].0.input, &input))
        {
            let (from, i) = &lines[pick.row];
            let BatchLine { record, range } = &from.lines[*i];
            let start = batch.bytes.len();
            batch.bytes.extend_from_slice(&from.bytes[range.clone()]);
            batch.push(record.clone(), start);
            batch.picks.push(pick);
        }
        Some(batch)
    }))
}

/// Reads the inputs one after the other, batch by batch.
fn streamed(inputs: Vec<Input>, longest: usize, holds: Holds) -> Batches {
    let mut inputs = inputs.into_iter();
    let mut current: Option<(Arc<str>, bool, InputLines)> = None;
    Box::new(move || {
        loop {
            let (input, may_wait, lines) = match &mut current {
                Some(current) => current,
                None => {
                    let input = inputs.next()?;
                    current.insert((input.name().into(), input.may_wait(), input.records(longest, holds)))
                }
            };
            let mut batch = LineBatch::new(input);
            if fill(&mut batch, lines, *may_wait) {
                current = None;
            }
            if !batch.lines.is_empty() || batch.error.is_some() {
                return Some(batch);
            }
        }
    })
}

impl LineBatch {
    fn new(input: &Arc<str>) -> Self {
        Self {
            input: Arc::clone(input),
            size: 0,
            bytes: Vec::with_capacity(BATCH_BYTES + (BATCH_BYTES >> 2)),
            lines: Vec::new(),
            examples: Vec::new(),
            first: 0,
            picks: Vec::new(),
            error: None,
        }
    }

    /// Adds a record, whose bytes are those from `start` on.
    fn push(&mut self, record: FileRecord, start: usize) {
        let range = start..self.bytes.len();
        // What was too long to keep was read, too: millions of such records must not be in one batch.
        let size = match record.line.is_too_long {
            true => usize::try_from(record.line.length).unwrap_or(usize::MAX).max(1),
            false => range.len() + record.row.as_ref().map_or(0, Row::unescaped_len),
        };
        self.size = self.size.saturating_add(size);
        self.lines.push(BatchLine { record, range });
    }

    /// How many bytes of the input count for the line with this index: as many as for every other one.
    pub(crate) fn share(&self, i: usize) -> usize {
        let up_to = |i: usize| self.size * i / self.lines.len().max(1);
        up_to(i + 1) - up_to(i)
    }

    /// Where a record of the batch stands.
    pub(crate) fn place<'b>(&'b self, line: &'b BatchLine) -> RecordPlace<'b> {
        RecordPlace::new(&self.input, &line.record.line)
    }

    /// A record of the batch.
    ///
    /// # Errors
    /// As [`FileRecord::raw`].
    pub(crate) fn raw<'r>(&'r self, line: &'r BatchLine, longest: usize) -> Result<RawRecord<'r>> {
        line.record.raw(&self.bytes[line.range.clone()], longest)
    }

    /// The bytes of a record, as JSON if it is a row of a table.
    pub(crate) fn bytes(&self, line: &BatchLine) -> Result<Cow<'_, [u8]>> {
        line.record.bytes(&self.bytes[line.range.clone()])
    }

    /// Which row a line is.
    pub(crate) fn pick(&self, i: usize) -> PickedRow {
        self.picks.get(i).copied().unwrap_or_else(|| PickedRow::once(self.first as usize + i))
    }
}

/// Whether the input ended. Where reading may wait for whoever writes, nothing waits in the batch.
fn fill(batch: &mut LineBatch, lines: &mut InputLines, may_wait: bool) -> bool {
    while batch.size < BATCH_BYTES {
        let start = batch.bytes.len();
        match lines.next_into(&mut batch.bytes) {
            Ok(Some(record)) => {
                batch.push(record, start);
                if may_wait && !lines.has_next() {
                    return false;
                }
            }
            Ok(None) => return true,
            Err(error) => {
                batch.error = Some(error.at(Place::file(&batch.input)));
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Value;

    /// How many records are in the first batch.
    fn first(input: Input) -> usize {
        let mut next = batches(vec![input], 8, None, None).expect("conversations are read as they come");
        next().expect("there is a batch").lines.len()
    }

    #[test]
    fn records_that_are_too_long_fill_batches() {
        let lines = "\"a line of more than eight bytes\"\n".repeat(100_000);
        let row = Row::new(vec![("column".to_owned(), Value::from("text"))]);
        let table = Input::rows("table", vec![row; 100_000]);
        for input in [Input::new("lines", std::io::Cursor::new(lines)), table] {
            let (name, records) = (input.name().to_owned(), first(input));
            assert!((100..10_000).contains(&records), "{name}: {records}");
        }
    }
}
