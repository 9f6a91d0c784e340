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
            Self::Slice(text) => Ok(sliced(&slices(text)?, len)),
        }
    }

    /// The first of these numbers, if it is the same out of any number of rows of which some are used.
    pub(crate) fn first(&self) -> Option<usize> {
        let Self::Slice(text) = self else { return None };
        slices(text).ok()?.iter().rev().try_fold(0_usize, |first, Slice { start, step, .. }| {
            let [start, step] = [start.unwrap_or(0), *step].map(usize::try_from);
            start.ok()?.checked_add(step.ok()?.checked_mul(first)?)
        })
    }
}

/// A slice as it is written, with its step, which is not 0.
#[derive(Clone, Copy)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
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

/// The slices of a text. OpenCompass appends one to a dataset's own when it divides its rows among tasks.
fn slices(text: &str) -> Result<Vec<Slice>> {
    let no_slice =
        || ErrorKind::Dataset(format!("{text:?} is not a slice such as \"[:100]\", \"[10:20]\" or \"[::2]\""));
    let mut slices = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (slice, after) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).ok_or_else(no_slice)?;
        slices.push(slice_of(slice).ok_or_else(no_slice)?);
        rest = after.trim_start();
    }
    Ok(slices)
}

/// The rows that slices leave.
fn sliced(slices: &[Slice], len: usize) -> Vec<usize> {
    let all = (0..len).collect();
    slices.iter().fold(all, |rows: Vec<usize>, slice| slice.places(rows.len()).map(|place| rows[place]).collect())
}

/// A slice without its brackets; none if it is not one.
fn slice_of(slice: &str) -> Option<Slice> {
    let bound = |part: &str| match part.trim() {
        "" | "None" => Some(None),
        number => number.parse::<i64>().ok().map(Some),
    };
    let bounds: Vec<Option<i64>> = slice.split(':').map(bound).collect::<Option<_>>()?;
    match bounds[..] {
        [start, end] | [start, end, None] => Some(Slice { start, end, step: 1 }),
        [start, end, Some(step)] if step != 0 => Some(Slice { start, end, step }),
        _ => None,
    }
}

impl Slice {
    /// The places that it leaves, out of `len`.
    fn places(&self, len: usize) -> impl Iterator<Item = usize> {
        let (Self { start, end, step }, len) = (*self, len as i64);
        let clamp = |bound: i64, low: i64, high: i64| (if bound < 0 { bound + len } else { bound }).clamp(low, high);
        let (first, end) = match step {
            1.. => (start.map_or(0, |start| clamp(start, 0, len)), end.map_or(len, |end| clamp(end, 0, len))),
            _ => (
                start.map_or(len - 1, |start| clamp(start, -1, len - 1)),
                end.map_or(-1, |end| clamp(end, -1, len - 1)),
            ),
        };
        let places = std::iter::successors(Some(first), move |at| Some(at.saturating_add(step)));
        places.take_while(move |at| if step > 0 { *at < end } else { *at > end }).map(|at| at as usize)
    }
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

    #[test]
    fn the_first_row_is_known_before_the_end_only_where_it_is_always_the_same() {
        let of = |slice: &str| SplitRange::Slice(slice.into());
        for slice in ["", "[:2]", "[2:]", "[1:-1]", "[None:2]", "[1::3][2:][:1]", "[3:1]", "[9223372036854775807:]"] {
            let first = of(slice).first();
            assert!(first.is_some(), "{slice}");
            let rows = (0..20).map(|len| of(slice).rows(len).expect("it is a slice"));
            rows.filter_map(|rows| rows.first().copied()).for_each(|row| assert_eq!(Some(row), first, "{slice}"));
        }
        for slice in ["[-2:]", "[::-1]", "[1:][-1:]", "[0]", "[::9223372036854775807][::3][1:]"] {
            assert_eq!(of(slice).first(), None, "{slice}");
        }
        assert_eq!(SplitRange::Number(3.0).first(), None);
    }
}
