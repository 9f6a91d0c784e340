//! Lines in batches, small enough to share among all cores, with the examples that go before each. What comes slowly is
//! handed over as it comes.

use std::io::BufRead;
use std::ops::Range;
use std::sync::Arc;

use crate::cli::rows::Rows;
use crate::cli::setup::{self, Input};
use crate::dataset::{Examples, Holds, Line, Records};
use crate::error::{At, Error, Result};

/// A batch is full with this many bytes: enough to make handing it over cheap, little enough to share
/// small inputs among all cores.
const BATCH_BYTES: usize = 1 << 16;

type InputLines = Records<Box<dyn BufRead + Send>>;

/// Lines of one input, with what is needed to name them.
pub(crate) struct Batch {
    pub(crate) input: Arc<str>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) lines: Vec<(Line, Range<usize>)>,
    /// The examples of each line, where lines are rows.
    pub(crate) examples: Vec<Examples>,
    /// The number of the first line among all conversations, from 0.
    pub(crate) first: u64,
    /// Reading failed behind these lines.
    pub(crate) error: Option<Error>,
}

pub(crate) type Batches = Box<dyn FnMut() -> Option<Batch> + Send>;

/// The batches to build: the inputs' lines, or those of a dataset's range, with their examples. These
/// are chosen here, because some retrievers depend on the order of the rows.
pub(crate) fn batches(
    inputs: Vec<Input>,
    longest: usize,
    rows: Option<&Rows>,
    limit: Option<usize>,
) -> Result<Batches> {
    let mut retriever = rows.map(Rows::retriever).transpose()?;
    let mut next = streamed(inputs, longest, setup::holds(rows.is_some()));
    if let Some(Rows { dataset, .. }) = rows
        && let Some(range) = &dataset.test_range
    {
        let all: Vec<Batch> = std::iter::from_fn(next).collect();
        let chosen = chosen(all, |len| range.rows(len).at("reader_cfg.test_range").at(&dataset.name))?;
        let mut chosen = chosen.into_iter();
        next = Box::new(move || chosen.next());
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
                match retriever.retrieve(first as usize + i) {
                    Ok(examples) => batch.examples.push(examples),
                    Err(error) => {
                        batch.lines.truncate(i);
                        batch.error = Some(error);
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

/// The lines that a range chooses among all, which therefore must be in memory.
fn chosen(all: Vec<Batch>, range: impl Fn(usize) -> Result<Vec<usize>>) -> Result<Vec<Batch>> {
    let mut lines = Vec::new();
    for mut batch in all {
        if let Some(error) = batch.error.take() {
            return Err(error);
        }
        let batch = Arc::new(batch);
        lines.extend((0..batch.lines.len()).map(|i| (Arc::clone(&batch), i)));
    }
    let mut chosen: Vec<Batch> = Vec::new();
    for row in range(lines.len())? {
        let (from, i) = &lines[row];
        let (line, range) = &from.lines[*i];
        let fits = |batch: &&mut Batch| batch.bytes.len() < BATCH_BYTES && Arc::ptr_eq(&batch.input, &from.input);
        let batch = match chosen.last_mut().filter(fits) {
            Some(batch) => batch,
            None => {
                chosen.push(Batch::new(&from.input));
                chosen.last_mut().expect("it was just pushed")
            }
        };
        let start = batch.bytes.len();
        batch.bytes.extend_from_slice(&from.bytes[range.clone()]);
        batch.lines.push((line.clone(), start..batch.bytes.len()));
    }
    Ok(chosen)
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
                    let may_wait = input.may_wait();
                    current.insert((
                        input.name.into(),
                        may_wait,
                        Records::new(input.reader, input.unit, longest, holds),
                    ))
                }
            };
            let mut batch = Batch::new(input);
            if fill(&mut batch, lines, *may_wait) {
                current = None;
            }
            if !batch.lines.is_empty() || batch.error.is_some() {
                return Some(batch);
            }
        }
    })
}

impl Batch {
    fn new(input: &Arc<str>) -> Self {
        Self {
            input: Arc::clone(input),
            bytes: Vec::with_capacity(BATCH_BYTES + (BATCH_BYTES >> 2)),
            lines: Vec::new(),
            examples: Vec::new(),
            first: 0,
            error: None,
        }
    }
}

/// Whether the input ended. Where reading may wait for whoever writes, nothing waits in the batch.
fn fill(batch: &mut Batch, lines: &mut InputLines, may_wait: bool) -> bool {
    while batch.bytes.len() < BATCH_BYTES {
        let start = batch.bytes.len();
        match lines.next_into(&mut batch.bytes) {
            Ok(Some(line)) => {
                batch.lines.push((line, start..batch.bytes.len()));
                if may_wait && !lines.has_next() {
                    return false;
                }
            }
            Ok(None) => return true,
            Err(error) => {
                batch.error = Some(error.at(&batch.input));
                return true;
            }
        }
    }
    false
}
