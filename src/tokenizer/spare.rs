//! What earlier calls leave for later ones: buffers that know the words of their texts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::tokenizer::backend::Scratch;

/// More are not kept, however many threads encode at once.
const MOST: usize = 64;

/// Buffers that nobody uses.
#[derive(Default)]
pub(super) struct Spare(Mutex<Vec<Scratch>>);

impl Spare {
    /// Those that were put last, or new ones.
    pub(super) fn take(&self) -> Scratch {
        self.all().pop().unwrap_or_default()
    }

    pub(super) fn put(&self, scratch: Scratch) {
        let mut all = self.all();
        if all.len() < MOST {
            all.push(scratch);
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Scratch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_kept() {
        let spare = Spare::default();
        (0..=MOST).for_each(|_| spare.put(Scratch::default()));
        assert_eq!(spare.all().len(), MOST);
        let taken: Vec<Scratch> = (0..=MOST).map(|_| spare.take()).collect();
        assert_eq!((taken.len(), spare.all().len()), (MOST + 1, 0));
    }
}
