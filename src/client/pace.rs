//! How fast requests are sent: fewer at a time, and none for a while, after a server says that it has too many.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Answers for each request at a time, after which one more is tried.
const ANSWERS_PER_STEP: usize = 8;

/// What all requests wait for before they are sent.
#[derive(Debug)]
pub(super) struct Pace {
    permits: Semaphore,
    most: usize,
    /// How long the server may turn requests away without any answer in between.
    patience: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How many requests may be under way.
    limit: usize,
    /// How many of the permits in use are not given back.
    surplus: usize,
    /// Answers since the limit was changed.
    answers: usize,
    /// Nothing is sent before.
    until: Instant,
    /// When the server began to turn requests away without any answer in between.
    busy_since: Option<Instant>,
}

/// The permission to send a request, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'p> {
    pace: &'p Pace,
    permit: Option<SemaphorePermit<'p>>,
}

impl Pace {
    pub(super) fn new(most: NonZeroUsize, patience: Duration) -> Self {
        let most = most.get().min(Semaphore::MAX_PERMITS);
        let state = State { limit: most, surplus: 0, answers: 0, until: Instant::now(), busy_since: None };
        Self { permits: Semaphore::new(most), most, patience, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a request may be sent.
    pub(super) async fn permit(&self) -> Permit<'_> {
        // It is never closed.
        let permit = self.permits.acquire().await.ok();
        let waiting = Permit { pace: self, permit };
        loop {
            let wait = self.state().until.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                return waiting;
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends nothing for this long, and half as many requests at a time then. Returns false if the server has turned
    /// requests away for too long.
    pub(super) fn hold_back(&self, wait: Duration) -> bool {
        let (now, mut state) = (Instant::now(), self.state());
        if now.duration_since(*state.busy_since.get_or_insert(now)) > self.patience {
            return false;
        }
        // Requests that were sent together are turned away together.
        if state.until <= now {
            let fewer = state.limit / 2;
            state.limit -= fewer;
            state.surplus += fewer - self.permits.forget_permits(fewer);
            state.answers = 0;
        }
        state.until = state.until.max(now + wait);
        true
    }

    /// Records an answer.
    pub(super) fn answered(&self) {
        let mut state = self.state();
        state.busy_since = None;
        state.answers += 1;
        if state.limit < self.most && state.answers >= ANSWERS_PER_STEP * state.limit {
            state.limit += 1;
            state.answers = 0;
            match state.surplus.checked_sub(1) {
                Some(surplus) => state.surplus = surplus,
                None => self.permits.add_permits(1),
            }
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.pace.state();
        if let Some(surplus) = state.surplus.checked_sub(1)
            && let Some(permit) = self.permit.take()
        {
            state.surplus = surplus;
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many more requests may be sent now.
    fn free(pace: &Pace) -> usize {
        pace.permits.available_permits()
    }

    #[test]
    fn fewer_at_a_time_and_slowly_more() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("it can be built");
        runtime.block_on(paced());
    }

    async fn paced() {
        let pace = Pace::new(NonZeroUsize::new(8).expect("it is not zero"), Duration::from_secs(60));
        let mut turns = Vec::new();
        for _ in 0..8 {
            turns.push(pace.permit().await);
        }
        // The second one was sent before the first was turned away.
        assert!(pace.hold_back(Duration::from_millis(20)) && pace.hold_back(Duration::from_millis(20)));
        assert_eq!((free(&pace), pace.state().limit), (0, 4));
        drop(turns);
        assert_eq!(free(&pace), 4);
        let started = Instant::now();
        drop(pace.permit().await);
        assert!(started.elapsed() > Duration::from_millis(10), "it is held back");
        (0..4 * ANSWERS_PER_STEP).for_each(|_| pace.answered());
        assert_eq!(free(&pace), 5);
        (0..100 * ANSWERS_PER_STEP).for_each(|_| pace.answered());
        assert_eq!(free(&pace), 8);
    }

    #[test]
    fn patience_ends() {
        let pace = Pace::new(NonZeroUsize::MIN, Duration::from_millis(20));
        assert!(pace.hold_back(Duration::ZERO));
        std::thread::sleep(Duration::from_millis(30));
        assert!(!pace.hold_back(Duration::ZERO));
        pace.answered();
        assert!(pace.hold_back(Duration::ZERO));
        assert_eq!(free(&pace), 1, "one at a time always may");
    }
}
