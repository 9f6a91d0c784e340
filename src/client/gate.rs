//! Holds requests back while a server is down, and gives up on it after too many failures in a row.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::client::failure::Failure;
use crate::client::http::Http;

/// Whether requests may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Open,
    /// One request checks whether the server is back.
    Closed,
    /// Nothing more is sent, for this reason.
    GivenUp(String),
}

/// The gate that all requests pass.
#[derive(Debug)]
pub(super) struct Gate {
    state: watch::Sender<State>,
    /// Failures since the last answer.
    failures: AtomicU32,
    max_failures: u32,
}

/// The pauses between checks of a server that is down: the first, and the longest.
const PROBES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

impl Gate {
    pub(super) fn new(max_failures: u32) -> Self {
        Self { state: watch::Sender::new(State::Open), failures: AtomicU32::new(0), max_failures }
    }

    /// Waits until requests may be sent; returns the reason if they never will be.
    pub(super) async fn pass(&self) -> Result<(), String> {
        let mut state = self.state.subscribe();
        let state = state.wait_for(|state| *state != State::Closed).await.map(|state| state.clone());
        match state {
            Ok(State::GivenUp(why)) => Err(why),
            _ => Ok(()),
        }
    }

    /// Records an answer.
    pub(super) fn answered(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }

    /// Records a request that failed for good, or a server that is not back. Gives up after too many.
    pub(super) fn failed(&self, why: &str) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures >= self.max_failures {
            let times = if failures == 1 { "failure".to_owned() } else { format!("{failures} failures in a row") };
            self.give_up(format!("gave up on the server after {times}: {why}"));
        }
    }

    /// Stops sending requests, for this reason.
    pub(super) fn give_up(&self, why: String) {
        self.state.send_replace(State::GivenUp(why));
    }

    /// The server accepts no connections: holds requests back, and checks until it does. Only the first caller checks.
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
