//! The entries of a JSON object that are not read here but kept for others.

/// The other entries of a JSON object, kept unchanged.
pub(crate) type Others = serde_json::Map<String, serde_json::Value>;
