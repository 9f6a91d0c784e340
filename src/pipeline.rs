//! Processing a stream on all cores, in bounded memory, with results in the order of the input.
//!
//! Each batch carries its own one-element channel. The writer holds the other ends in order, so nothing is sorted, and
//! nothing waits except for the oldest batch.

use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The items up to the first one that is the last.
pub(crate) fn up_to<T>(mut items: impl Iterator<Item = T>, is_last: impl Fn(&T) -> bool) -> impl Iterator<Item = T> {
    let mut has_ended = false;
    std::iter::from_fn(move || {
        // No further item is waited for.
        let item = if has_ended { None } else { items.next() }?;
        has_ended = is_last(&item);
        Some(item)
    })
}

/// This many threads, but no more than cores: threads that share one take its caches from each other.
pub(crate) fn threads(threads: Option<NonZeroUsize>) -> usize {
    let cores = thread::available_parallelism().ok();
    threads.into_iter().chain(cores).min().map_or(1, usize::from)
}

/// Passes the items of `produce` through `work` on `threads` threads. The results come in order. Dropping them ends the
/// threads, each one when it next has a result.
///
/// The threads are not joined: one may be blocked while reading a terminal.
///
/// # Errors
/// If the system starts none of the threads. Of those that pass items through `work`, one is enough.
pub(crate) fn ordered<T, R>(
    threads: usize,
    mut produce: impl FnMut() -> Option<T> + Send + 'static,
    worker: impl Fn() -> Box<dyn FnMut(T) -> R> + Send + Sync + 'static,
) -> io::Result<impl Iterator<Item = R>>
where
    T: Send + 'static,
    R: Send + 'static,
{
    let in_flight = 2 * threads + 2;
    let (to_work, work) = sync_channel::<(T, SyncSender<R>)>(in_flight);
    let (to_order, order) = sync_channel::<Receiver<R>>(in_flight);
    start(move || {
        while let Some(item) = produce() {
            let (done, result) = sync_channel(1);
            if to_order.send(result).is_err() || to_work.send((item, done)).is_err() {
                return;
            }
        }
    })?;
    let (work, worker) = (Arc::new(Mutex::new(work)), Arc::new(worker));
    for number in 0..threads {
        let (work, worker) = (Arc::clone(&work), Arc::clone(&worker));
        let started = start(move || {
            let mut step = worker();
            loop {
                let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((item, done)) = next else { return };
                // The writer may be gone.
                if done.send(step(item)).is_err() {
                    return;
                }
            }
        });
        match started {
            Err(error) if number == 0 => return Err(error),
            Err(_) => break,
            Ok(()) => {}
        }
    }
    let results = order.into_iter();
    Ok(results.map(|result| result.recv().expect("a worker hands over every batch that it takes, unless it panicked")))
}

fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let refused =
        |error: io::Error| io::Error::new(error.kind(), format!("the system refuses to start a thread: {error}"));
    thread::Builder::new().spawn(work).map(drop).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_behind_the_last() {
        let mut taken = 0;
        let items = std::iter::from_fn(|| {
            taken += 1;
            Some(taken)
        });
        assert_eq!(up_to(items, |item| *item == 3).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(taken, 3);
    }

    #[test]
    fn in_order_whatever_the_threads() {
        for threads in [1, 2, 7] {
            let mut next = 0..1_000_u64;
            let results = ordered(
                threads,
                move || next.next(),
                || {
                    Box::new(|n: u64| {
                        if n.is_multiple_of(7) {
                            thread::yield_now();
                        }
                        n * 2
                    })
                },
            )
            .expect("threads can be started");
            assert!(results.eq((0..1_000).map(|n| n * 2)), "{threads} threads");
        }
    }
}
