//! Random examples, the same as those of numpy's legacy generator.

use rand_mt::Mt;

use crate::dataset::retriever::{Examples, Retriever};
use crate::error::{ErrorKind, Result, counted};

/// `numpy.random.choice(train, k, replace=False)` for each row, after one `numpy.random.seed`.
pub(crate) struct Random {
    generator: Mt,
    train: usize,
    k: usize,
}

impl Random {
    pub(crate) fn new(seed: u32, train: usize, k: usize) -> Result<Self> {
        if k > train || u32::try_from(train).is_err() {
            let message = format!(
                "ice_num: {} cannot be drawn from a training set of {}",
                counted(k, "example"),
                counted(train, "row")
            );
            return Err(ErrorKind::Dataset(message).into());
        }
        Ok(Self { generator: Mt::new(seed), train, k })
    }

    /// A whole number up to `most`, drawn until one fits under the mask.
    fn up_to(&mut self, most: u32) -> u32 {
        let mask = most.checked_ilog2().map_or(0, |bits| u32::MAX >> (31 - bits));
        loop {
            let drawn = self.generator.next_u32() & mask;
            if drawn <= most {
                return drawn;
            }
        }
    }
}

impl Retriever for Random {
    fn retrieve(&mut self, _: usize) -> Result<Examples> {
        let mut ids: Vec<i64> = (0..self.train as i64).collect();
        for i in (1..self.train).rev() {
            let j = self.up_to(i as u32) as usize;
            ids.swap(i, j);
        }
        ids.truncate(self.k);
        ids.shrink_to_fit();
        Ok(ids.into())
    }
}
