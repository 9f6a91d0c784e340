//! Which rows of a file are used: OpenCompass's `train_range` and `test_range`.

use serde::{Deserialize, Serialize};

use crate::dataset::python::PythonRandom;
use crate::error::{ErrorKind, Result};

/// A range as written in the file: a number, or a slice such as `"[:100]"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of rows, or a slice such as \"[:100]\"")]
pub enum SplitRange {
    /// This many rows, or that share of them if it is below 1, drawn like Python's `random.Random(n).shuffle`.
    Number(f64),
    /// A Python slice, or several, each of what the one before left; an empty string is all rows.
    Slice(String),
}

impl SplitRange {
    /// The numbers of the rows, out of `len`, in the order in which they are used.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] for a string that is not a slice, because nothing else is evaluated, and for a number between
    /// two numbers of rows.
    pub fn rows(&self, len: usize) -> Result<Vec<usize>> {
        match self {
            Self::Number(number) => drawn(*number, len),
            Self::Slice(slices) => sliced(slices, len),
        }
    }
}

fn drawn(number: f64, len: usize) -> Result<Vec<usize>> {
    let mut rows: Vec<usize> = (0..len).collect();
    if number >= len as f64 || number <= 0.0 || number.is_nan() {
        return Ok(rows);
    }
    if number > 1.0 && number.fract() != 0.0 {
        let what = format!("{number} is not a number of rows; write a whole number, or a share below 1");
        return Err(ErrorKind::Dataset(what).into());
    }
    let count = if number < 1.0 { (number * len as f64) as usize } else { number as usize };
    PythonRandom::new(count as u32).shuffle(&mut rows);
    rows.truncate(count);
    Ok(rows)
}

/// The rows that slices leave. OpenCompass appends one to a dataset's own when it divides its rows among tasks.
fn sliced(text: &str, len: usize) -> Result<Vec<usize>> {
    let no_slice =
        || ErrorKind::Dataset(format!("{text:?} is not a slice such as \"[:100]\", \"[10:20]\" or \"[::2]\""));
    let mut rows: Vec<usize> = (0..len).collect();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (slice, after) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).ok_or_else(no_slice)?;
        let places = of_slice(slice, rows.len()).ok_or_else(no_slice)?;
        rows = places.into_iter().map(|place| rows[place]).collect();
        rest = after.trim_start();
    }
    Ok(rows)
}

/// The places of a slice, without its brackets; none if it is not a slice.
fn of_slice(slice: &str, len: usize) -> Option<Vec<usize>> {
    let bound = |part: &str| match part.trim() {
        "" | "None" => Some(None),
        number => number.parse::<i64>().ok().map(Some),
    };
    let bounds: Vec<Option<i64>> = slice.split(':').map(bound).collect::<Option<_>>()?;
    let count = len as i64;
    match bounds[..] {
        [_, _] | [_, _, None] => Some(stepped(bounds[0], bounds[1], 1, count)),
        [start, end, Some(step)] if step != 0 => Some(stepped(start, end, step, count)),
        _ => None,
    }
}

fn stepped(start: Option<i64>, end: Option<i64>, step: i64, len: i64) -> Vec<usize> {
    let clamp = |bound: i64, low: i64, high: i64| (if bound < 0 { bound + len } else { bound }).clamp(low, high);
    let (mut at, end) = match step {
        1.. => (start.map_or(0, |start| clamp(start, 0, len)), end.map_or(len, |end| clamp(end, 0, len))),
        _ => (start.map_or(len - 1, |start| clamp(start, -1, len - 1)), end.map_or(-1, |end| clamp(end, -1, len - 1))),
    };
    let mut rows = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        rows.push(at as usize);
        at = at.saturating_add(step);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_whole_or_a_share() {
        for (number, count) in [(3.0, Some(3)), (0.5, Some(2)), (1.0, Some(1)), (7.5, Some(5)), (2.5, None)] {
            let rows = SplitRange::Number(number).rows(5);
            assert_eq!(rows.ok().map(|rows| rows.len()), count, "{number}");
        }
    }

    #[test]
    fn slices_are_pythons() {
        for (slice, rows) in [
            ("", Some(vec![0, 1, 2, 3, 4])),
            ("[:2]", Some(vec![0, 1])),
            (" [ -2 : ] ", Some(vec![3, 4])),
            ("[::-2]", Some(vec![4, 2, 0])),
            ("[None:2]", Some(vec![0, 1])),
            ("[1:5][0: 3]", Some(vec![1, 2, 3])),
            ("[1:5][::2] [1:]", Some(vec![3])),
            ("[9:]", Some(vec![])),
            ("[0]", None),
            ("[::0]", None),
            ("[:2", None),
            ("[:2]x", None),
            ("2", None),
        ] {
            assert_eq!(SplitRange::Slice(slice.into()).rows(5).ok(), rows, "{slice}");
        }
    }
}
