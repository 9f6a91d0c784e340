//! How often the rows of a dataset are asked, and in which order: `n`, `num_repeats`, `sc_size` and `test_range`.

use crate::dataset::rows::Value;
use crate::error::{At, ErrorKind, Result};

/// More samples of one row are never needed.
const MOST: usize = 1 << 16;

/// How often each row is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// How often all rows are repeated: `n`.
    pub n: usize,
    /// Whether `n` repeats each row in place, out of those that the range left, as AISBench does. OpenCompass repeats all rows,
    /// one pass after the other, and the range chooses from these.
    pub n_is_in_place: bool,
    /// How often the loader lists each row: `num_repeats`.
    pub num_repeats: usize,
    /// Whether the loader lists a row's repeats next to each other, instead of listing all rows again after all rows.
    pub are_adjacent: bool,
    /// How often each of the rows that the range left is asked in place: `sc_size`.
    pub sc_size: usize,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { n: 1, n_is_in_place: false, num_repeats: 1, are_adjacent: true, sc_size: 1 }
    }
}

/// A row that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PickedRow {
    /// Its number in the file, from 0.
    pub row: usize,
    /// Which of its repeats this is, from 0; none if each row is asked once.
    pub repeat: Option<usize>,
    /// The `idx` that both references give it.
    pub idx: usize,
}

/// The rows that are asked, in order.
pub type Picks = Box<dyn Iterator<Item = PickedRow> + Send>;

impl PickedRow {
    /// A row of the file that is asked once.
    pub fn once(row: usize) -> Self {
        Self { row, repeat: None, idx: row }
    }
}

impl Repeats {
    /// Reads the keys of a dataset dict; `class` is the class that loads it, and `sc_size` is of its inferencer.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] for an invalid number of times.
    pub(crate) fn read(
        n: Option<&Value>,
        num_repeats: Option<&Value>,
        class: &str,
        sc_size: Option<&Value>,
    ) -> Result<Self> {
        let bare = class.rsplit('.').next().unwrap_or_default();
        // These concatenate whole datasets; OpenCompass's others list a row's repeats side by side.
        let are_adjacent = !matches!(bare, "MBPPDataset" | "MBPPDatasetV2" | "SanitizedMBPPDataset" | "LCDataset");
        let (n, num_repeats) = (times(n).at("n")?, times(num_repeats).at("num_repeats")?);
        let sc_size = times(sc_size).at("infer_cfg.inferencer.sc_size")?;
        let read = Self { n, n_is_in_place: class.starts_with("ais_bench."), num_repeats, are_adjacent, sc_size };
        if read.times() > MOST {
            let what =
                format!("n, num_repeats and sc_size ask each row {} times, but {MOST} is the maximum", read.times());
            return Err(ErrorKind::Dataset(what).into());
        }
        Ok(read)
    }

    /// How often each row is asked in all.
    pub fn times(&self) -> usize {
        self.n * self.num_repeats * self.sc_size
    }

    /// How often rows are repeated before a range chooses from them, and each of the chosen ones after it.
    fn around_range(&self) -> [usize; 2] {
        match self.n_is_in_place {
            true => [self.num_repeats, self.n * self.sc_size],
            false => [self.n * self.num_repeats, self.sc_size],
        }
    }

    /// The rows that are asked, out of `rows` of them; `range` chooses from a number of places.
    pub(crate) fn picks(self, rows: usize, range: impl FnOnce(usize) -> Result<Option<Vec<usize>>>) -> Result<Picks> {
        let [before, after] = self.around_range();
        let all = rows.saturating_mul(before);
        let pick = move |(nth, place)| (0..after).map(move |copy| self.at(nth, place, copy, rows));
        Ok(match range(all)? {
            None => Box::new((0..all).enumerate().flat_map(pick)),
            Some(places) => Box::new(places.into_iter().enumerate().flat_map(pick)),
        })
    }

    /// The training rows that examples are drawn from; `range` chooses from a number of them. Loaders do not repeat them.
    pub(crate) fn of_train<T: Clone>(
        self,
        rows: Vec<T>,
        range: impl FnOnce(usize) -> Result<Option<Vec<usize>>>,
    ) -> Result<Vec<T>> {
        let repeats = Self { num_repeats: 1, sc_size: 1, ..self };
        if repeats.n == 1 {
            return Ok(match range(rows.len())? {
                None => rows,
                Some(places) => places.into_iter().map(|place| rows[place].clone()).collect(),
            });
        }
        Ok(repeats.picks(rows.len(), range)?.map(|pick| rows[pick.row].clone()).collect())
    }

    /// The row at a place of the repeated rows, which is the nth that is chosen, and this copy of it.
    fn at(self, nth: usize, place: usize, copy: usize, rows: usize) -> PickedRow {
        let of_loader = rows * self.num_repeats;
        let (pass, place) = (place / of_loader, place % of_loader);
        let (row, repeat) = match self.are_adjacent {
            true => (place / self.num_repeats, place % self.num_repeats),
            false => (place % rows, place / rows),
        };
        let (repeat, idx) = match self.n_is_in_place {
            true => (repeat, nth),
            false => (pass * self.num_repeats + repeat, place),
        };
        let [_, copies] = self.around_range();
        let repeat = repeat * copies + copy;
        PickedRow { row, repeat: (self.times() > 1).then_some(repeat), idx }
    }
}

fn times(value: Option<&Value>) -> Result<usize> {
    match value {
        None | Some(Value::Null) => Ok(1),
        Some(Value::Int(digits)) if matches!(digits.parse(), Ok(1..=MOST)) => Ok(digits.parse().unwrap_or(1)),
        Some(other) => {
            let what = format!("the number of repeats must be a whole number from 1 to {MOST}, not {}", other.shown());
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

    fn picks(repeats: Repeats, rows: usize) -> Vec<PickedRow> {
        repeats.picks(rows, |_| Ok(None)).unwrap().collect()
    }

    #[test]
    fn rows_come_as_opencompass_concatenates_them() {
        for (n, num_repeats, rows) in [(1, 1, 3), (2, 1, 3), (1, 2, 3), (2, 3, 4), (3, 2, 1), (2, 2, 0)] {
            for are_adjacent in [true, false] {
                let repeats = Repeats { n, num_repeats, are_adjacent, ..Repeats::default() };
                let picked = picks(repeats, rows);
                assert_eq!(
                    picked.iter().map(|pick| pick.row).collect::<Vec<_>>(),
                    listed(repeats, rows),
                    "{repeats:?}"
                );
                // `idx` is counted before the copies of `n`.
                let idx: Vec<usize> = Vec::from_iter(0..rows * num_repeats).repeat(n);
                assert_eq!(picked.iter().map(|pick| pick.idx).collect::<Vec<_>>(), idx, "{repeats:?}");
                each_repeat_has_a_number(&picked, repeats, rows);
            }
        }
    }

    #[test]
    fn aisbench_repeats_each_row_that_the_range_left() {
        let repeats = Repeats { n: 2, n_is_in_place: true, ..Repeats::default() };
        each_repeat_has_a_number(&picks(repeats, 3), repeats, 3);
        let picked: Vec<_> = repeats.picks(3, |_| Ok(Some(vec![2, 0]))).unwrap().collect();
        let of = |pick: &PickedRow| (pick.row, pick.repeat, pick.idx);
        assert_eq!(
            picked.iter().map(of).collect::<Vec<_>>(),
            [(2, Some(0), 0), (2, Some(1), 0), (0, Some(0), 1), (0, Some(1), 1)]
        );
        assert_eq!(repeats.of_train(vec!["a", "b"], |_| Ok(None)).unwrap(), ["a", "a", "b", "b"]);
        let repeats = Repeats { num_repeats: 3, n_is_in_place: false, ..repeats };
        assert_eq!(repeats.of_train(vec!["a", "b"], |_| Ok(None)).unwrap(), ["a", "b", "a", "b"]);
        let of_four = |rows| Ok(Some(vec![rows - 1]));
        assert_eq!(repeats.of_train(vec!["a", "b"], of_four).unwrap(), ["b"]);
    }

    #[test]
    fn each_prompt_is_asked_sc_size_times_in_place() {
        for n_is_in_place in [false, true] {
            let repeats = Repeats { n: 2, n_is_in_place, num_repeats: 3, sc_size: 2, ..Repeats::default() };
            let picked = picks(repeats, 2);
            each_repeat_has_a_number(&picked, repeats, 2);
            let once = picks(Repeats { sc_size: 1, ..repeats }, 2);
            let in_place = once.iter().flat_map(|pick| [(pick.row, pick.idx); 2]);
            assert!(picked.iter().map(|pick| (pick.row, pick.idx)).eq(in_place), "{repeats:?}");
        }
        let repeats = Repeats { sc_size: 2, ..Repeats::default() };
        assert_eq!(repeats.of_train(vec!["a", "b"], |_| Ok(None)).unwrap(), ["a", "b"]);
    }

    /// Each repeat of a row has a number of its own, in order.
    fn each_repeat_has_a_number(picked: &[PickedRow], repeats: Repeats, rows: usize) {
        for row in 0..rows {
            let numbers: Vec<_> = picked.iter().filter(|pick| pick.row == row).map(|pick| pick.repeat).collect();
            let expected: Vec<_> = (0..repeats.times()).map(|i| (repeats.times() > 1).then_some(i)).collect();
            assert_eq!(numbers, expected, "{repeats:?}");
        }
    }
}
