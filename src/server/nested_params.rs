//! Splits the user's own keys into those of a request and those of an object in it.

use serde_json::{Map, Value};

/// The user's own keys of a request, and of an object in it, such as `sampling_params`.
#[derive(Debug)]
pub(super) struct NestedParams {
    pub(super) request: Map<String, Value>,
    pub(super) nested: Map<String, Value>,
}

impl NestedParams {
    /// All keys but the `request_keys` go into the nested object, if there is one.
    pub(super) fn new(params: &Map<String, Value>, request_keys: Option<&[&str]>) -> Self {
        let is_of_request = |name: &str| request_keys.is_none_or(|keys| keys.contains(&name));
        let (request, nested) = params.clone().into_iter().partition(|(name, _)| is_of_request(name));
        Self { request, nested }
    }
}
