//! How often the rows of a dataset are asked, and in which order: `n`, `num_repeats` and `test_range`.

use crate::dataset::rows::Value;
use crate::error::{At, ErrorKind, Result};

/// More samples of one row are never needed.
const MOST: usize = 1 << 16;

/// How often each row is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// How often all rows are repeated, one pass after the other: `n`.
    pub n: usize,
    /// How often the loader lists each row: `num_repeats`.
    pub num_repeats: usize,
    /// Whether the loader lists a row's repeats next to each other, instead of listing all rows again after all rows.
    pub are_adjacent: bool,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { n: 1, num_repeats: 1, are_adjacent: true }
    }
}

/// A row that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PickedRow {
    /// Its number in the file, from 0.
    pub row: usize,
    /// Which of its repeats this is, from 0; none if each row is asked once.
    pub repeat: Option<usize>,
}

impl Repeats {
    /// Reads the keys of a dataset dict; `class` is the bare name of the class that loads it.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] for an invalid number of times.
    pub(crate) fn read(n: Option<&Value>, num_repeats: Option<&Value>, class: &str) -> Result<Self> {
        // These concatenate whole datasets; OpenCompass's others list a row's repeats side by side.
        let are_adjacent = !matches!(class, "MBPPDataset" | "MBPPDatasetV2" | "SanitizedMBPPDataset" | "LCDataset");
        let read = Self { n: times(n).at("n")?, num_repeats: times(num_repeats).at("num_repeats")?, are_adjacent };
        if read.times() > MOST {
            let what = format!("n and num_repeats ask each row {} times, but {MOST} is the maximum", read.times());
            return Err(ErrorKind::Dataset(what).into());
        }
        Ok(read)
    }

    /// How often each row is asked in all.
    pub fn times(&self) -> usize {
        self.n * self.num_repeats
    }

    /// The row at a position of the repeated dataset.
    pub(crate) fn at(&self, place: usize, rows: usize) -> PickedRow {
        let of_loader = rows * self.num_repeats;
        let (copy, place) = (place / of_loader, place % of_loader);
        let (row, repeat) = match self.are_adjacent {
            true => (place / self.num_repeats, place % self.num_repeats),
            false => (place % rows, place / rows),
        };
        PickedRow { row, repeat: (self.times() > 1).then_some(copy * self.num_repeats + repeat) }
    }
}

fn times(value: Option<&Value>) -> Result<usize> {
    match value {
        None | Some(Value::Null) => Ok(1),
        Some(Value::Int(digits)) if matches!(digits.parse(), Ok(1..=MOST)) => Ok(digits.parse().unwrap_or(1)),
        Some(other) => {
            let what = format!("the number of repeats must be a whole number from 1 to {MOST}, not {}", other.repr());
            Err(ErrorKind::Dataset(what).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As OpenCompass does it: the loader's list, concatenated `n` times.
    fn listed(repeats: Repeats, rows: usize) -> Vec<usize> {
        let adjacent = || (0..rows).flat_map(|row| vec![row; repeats.num_repeats]).collect::<Vec<_>>();
        let of_loader =
            if repeats.are_adjacent { adjacent() } else { Vec::from_iter(0..rows).repeat(repeats.num_repeats) };
        of_loader.repeat(repeats.n)
    }

    #[test]
    fn rows_come_as_opencompass_concatenates_them() {
        for (n, num_repeats, rows) in [(1, 1, 3), (2, 1, 3), (1, 2, 3), (2, 3, 4), (3, 2, 1), (2, 2, 0)] {
            for are_adjacent in [true, false] {
                let repeats = Repeats { n, num_repeats, are_adjacent };
                let picked: Vec<PickedRow> = (0..rows * repeats.times()).map(|place| repeats.at(place, rows)).collect();
                assert_eq!(
                    picked.iter().map(|pick| pick.row).collect::<Vec<_>>(),
                    listed(repeats, rows),
                    "{repeats:?}"
                );
                // Each repeat of a row has a number of its own, in order.
                for row in 0..rows {
                    let numbers: Vec<_> =
                        picked.iter().filter(|pick| pick.row == row).map(|pick| pick.repeat).collect();
                    let expected: Vec<_> = (0..repeats.times()).map(|i| (repeats.times() > 1).then_some(i)).collect();
                    assert_eq!(numbers, expected, "{repeats:?}");
                }
            }
        }
    }
}
