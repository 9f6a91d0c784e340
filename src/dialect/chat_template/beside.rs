//! What a chat template is given beside messages, when it is asked in which form it takes their contents.

use std::sync::LazyLock;

use serde_json::{Value, json};

/// What a template is given beside messages. Some refuse a conversation without tools or documents, and some one with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    Tools,
    Documents,
    /// What a conversation brings. Nothing that this shows may be kept for others.
    Own,
}

impl Beside {
    /// Those that are the same for every conversation.
    pub(super) const EXAMPLES: [Self; 3] = [Self::Nothing, Self::Tools, Self::Documents];
}

/// A tool with all that templates read of one.
pub(super) static EXAMPLE_TOOLS: LazyLock<Value> = LazyLock::new(|| {
    let a = json!({"type": "integer", "description": "A number."});
    let parameters = json!({"type": "object", "properties": {"a": a}, "required": ["a"]});
    json!([{"type": "function", "function": {"name": "add", "description": "Adds one.", "parameters": parameters}}])
});

pub(super) static EXAMPLE_DOCUMENTS: LazyLock<Value> =
    LazyLock::new(|| json!([{"title": "Sums", "text": "1+1=2", "contents": "1+1=2"}]));
