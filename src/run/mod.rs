//! Runs that may be cut off: what is answered is kept, and nothing else passes for it.

mod chain;
mod journal;

pub(crate) use journal::{Journal, Place};
