//! Holds requests back while a server is down, and gives it up after too many failures in a row.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::client::failure::Failure;
use crate::client::http::Http;

/// Whether requests go out.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Open,
    /// Somebody looks whether the server is back.
    Closed,
    /// The server is given up, for this reason.
    GivenUp(String),
}

/// What all requests pass.
#[derive(Debug)]
pub(super) struct Gate {
    state: watch::Sender<State>,
    /// Failures since the last answer.
    failures: AtomicU32,
    max_failures: u32,
}

/// How long to wait before the server is looked at again, at first and at most.
const PROBES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

impl Gate {
    pub(super) fn new(max_failures: u32) -> Self {
        Self { state: watch::Sender::new(State::Open), failures: AtomicU32::new(0), max_failures }
    }

    /// Waits until requests go out; gives the reason where they never will again.
    pub(super) async fn pass(&self) -> Result<(), String> {
        let mut state = self.state.subscribe();
        let state = state.wait_for(|state| *state != State::Closed).await.map(|state| state.clone());
        match state {
            Ok(State::GivenUp(why)) => Err(why),
            _ => Ok(()),
        }
    }

    /// There is an answer.
    pub(super) fn answered(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }

    /// A request has failed for good, or the server is not back. Gives it up after too many.
    pub(super) fn failed(&self, why: &str) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures >= self.max_failures {
            let times = if failures == 1 { "failure".to_owned() } else { format!("{failures} failures in a row") };
            self.give_up(format!("the server is given up after {times}: {why}"));
        }
    }

    /// Sends nothing further, for this reason.
    pub(super) fn give_up(&self, why: String) {
        self.state.send_replace(State::GivenUp(why));
    }

    /// The server takes no connection: holds requests back, and looks until it does. Only the first to notice looks.
    pub(super) async fn closed(&self, http: &Http, health: &str) {
        let is_first = self.state.send_if_modified(|state| {
            let is_open = *state == State::Open;
            if is_open {
                *state = State::Closed;
            }
            is_open
        });
        let mut wait = PROBES.0;
        while is_first && *self.state.borrow() == State::Closed {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(PROBES.1);
            match http.get(health).await {
                Ok(_) | Err(Failure::Refused { .. }) => {
                    self.state.send_if_modified(|state| std::mem::replace(state, State::Open) == State::Closed);
                }
                Err(failure) => self.failed(&failure.message()),
            }
        }
    }
}
