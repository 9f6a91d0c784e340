//! Buffers that nobody uses for now, and that know what was done with them: the next one to need some does less.

use std::sync::{LazyLock, Mutex, MutexGuard, TryLockError};

/// Buffers without a user, shared by all threads.
#[derive(Debug, Default)]
pub(crate) struct Idle<T>(Mutex<Vec<T>>);

impl<T: Default> Idle<T> {
    /// The buffers that were put last, or new ones.
    pub(crate) fn take(&self) -> T {
        self.all().and_then(|mut all| all.pop()).unwrap_or_default()
    }

    /// Keeps buffers for the next one.
    pub(crate) fn put(&self, buffers: T) {
        // More are never used at once, and each may have a cache of megabytes.
        static MOST: LazyLock<usize> =
            LazyLock::new(|| 2 * std::thread::available_parallelism().map_or(1, usize::from));
        if let Some(mut all) = self.all().filter(|all| all.len() < *MOST) {
            all.push(buffers);
        }
    }

    /// Does not wait long: after a fork, the thread that held the lock may not exist.
    fn all(&self) -> Option<MutexGuard<'_, Vec<T>>> {
        const TRIES: usize = 100;
        (0..TRIES).find_map(|_| match self.0.try_lock() {
            Ok(all) => Some(all),
            Err(TryLockError::Poisoned(all)) => Some(all.into_inner()),
            Err(TryLockError::WouldBlock) => {
                std::thread::yield_now();
                None
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_lock_that_is_never_released() {
        let idle: Idle<Vec<u8>> = Idle::default();
        idle.put(vec![1]);
        let held = idle.all();
        assert!(idle.take().is_empty());
        idle.put(vec![2]);
        drop(held);
        assert_eq!((idle.take(), idle.take()), (vec![1], vec![]));
    }
}
