//! The entries of a JSON object that are read by nobody here and kept for others.

/// A JSON object's entries beside those that mean something here: they are kept as they are.
pub(crate) type Others = serde_json::Map<String, serde_json::Value>;
