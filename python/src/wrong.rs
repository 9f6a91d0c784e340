//! What is wrong with a value that is being written: encoders of Arrow's JSON cannot fail.

use std::sync::{Arc, Mutex, PoisonError};

/// What is wrong with the first wrong value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wrong(Arc<Mutex<Option<String>>>);

impl Wrong {
    pub(crate) fn set(&self, what: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
    }

    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
