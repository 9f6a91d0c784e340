//! Holds requests back while a server is down, and gives up on it after too many failures in a row.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::watch;

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

    /// Records that the server works: an answer, or the refusal of one request.
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

    /// Stops sending requests, for this reason, unless there is one already.
    pub(super) fn give_up(&self, why: String) {
        self.state.send_if_modified(|state| {
            let is_new = !matches!(state, State::GivenUp(_));
            if is_new {
                *state = State::GivenUp(why);
            }
            is_new
        });
    }

    /// Holds requests back. Returns true for the first caller, which opens the gate again.
    pub(super) fn close(&self) -> bool {
        self.change(&State::Open, State::Closed)
    }

    pub(super) fn open(&self) {
        self.change(&State::Closed, State::Open);
    }

    pub(super) fn is_closed(&self) -> bool {
        *self.state.borrow() == State::Closed
    }

    fn change(&self, from: &State, to: State) -> bool {
        self.state.send_if_modified(|state| {
            let is_so = state == from;
            if is_so {
                *state = to;
            }
            is_so
        })
    }
}
