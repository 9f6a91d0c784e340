//! The columns of a table that say more of the conversation in another column.

/// The keys that a record may have beside its conversation, which say more of it.
pub const COMPANIONS: [&str; 12] = [
    "add_generation_prompt",
    "audios",
    "chat_template_kwargs",
    "completion",
    "continue_final_message",
    "documents",
    "functions",
    "images",
    "system",
    "system_prompt",
    "tools",
    "videos",
];

/// The key of a record for the conversation that a table has in this column: a text or a list of messages.
///
/// ```
/// use metatok::dataset::records::conversation_key;
///
/// assert_eq!([conversation_key("chat", false), conversation_key("question", true)], ["messages", "prompt"]);
/// assert_eq!(conversation_key("conversations", false), "conversations");
/// ```
pub fn conversation_key(column: &str, is_text: bool) -> &str {
    match column {
        "messages" | "conversation" | "conversations" | "prompt" | "text" => column,
        _ if is_text => "prompt",
        _ => "messages",
    }
}
