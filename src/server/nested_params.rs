//! Splits the user's own keys into those of a request and those of its `sampling_params`.

use serde_json::{Map, Value};

/// The user's own keys of a request, and of its `sampling_params`.
#[derive(Debug)]
pub(super) struct NestedParams {
    pub(super) request: Map<String, Value>,
    pub(super) sampling: Map<String, Value>,
}

impl NestedParams {
    /// All keys but the `request_keys` go into `sampling_params`.
    pub(super) fn new(params: &Map<String, Value>, request_keys: &[&str]) -> Self {
        let (request, sampling) =
            params.clone().into_iter().partition(|(name, _)| request_keys.contains(&name.as_str()));
        Self { request, sampling }
    }
}
