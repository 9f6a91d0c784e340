//! The entries of a JSON object that are not read here but kept for others.

/// The other entries of a JSON object, kept unchanged.
pub(crate) type Others = serde_json::Map<String, serde_json::Value>;

/// The entry of this name, or else `value`, in which LLaMA-Factory's files have the texts and addresses of all parts.
pub(super) fn own_or_value(entries: &mut Others, key: &str) -> Option<serde_json::Value> {
    entries.shift_remove(key).or_else(|| entries.shift_remove("value"))
}
