//! The columns of a table that say more of the conversation in another column.

use crate::conversation::MediaKind;

/// The keys that a record may have beside a list of messages, which say more of it. Those of media come with them.
const OF_MESSAGES: [&str; 8] = [
    "add_generation_prompt",
    "chat_template_kwargs",
    "continue_final_message",
    "documents",
    "functions",
    "system",
    "system_prompt",
    "tools",
];

/// The keys under which a record may have its conversation.
const OF_RECORDS: [&str; 5] = ["conversation", "conversations", "messages", "prompt", "text"];

/// The columns of a table that say more of the conversations in this column: texts, or lists of messages. Texts in a
/// column with a name of its own are all that there is.
///
/// ```
/// use metatok::dataset::records::companions;
///
/// assert!(companions("messages", false).any(|name| name == "tools"));
/// assert!(companions("messages", false).any(|name| name == "image"));
/// assert!(companions("prompt", true).any(|name| name == "completion"));
/// assert_eq!(companions("question", true).count(), 0);
/// ```
pub fn companions(column: &str, is_text: bool) -> impl Iterator<Item = &'static str> + use<> {
    let is_record = !is_text || OF_RECORDS.contains(&column);
    let of_media = MediaKind::ALL.into_iter().flat_map(|kind| [kind.name(), kind.list_key()]);
    let of_messages = OF_MESSAGES.into_iter().chain(of_media).filter(move |_| is_record);
    let completions: &[&str] = if column == "prompt" { &["completion", "response"] } else { &[] };
    of_messages.chain(completions.iter().copied())
}

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
        _ if OF_RECORDS.contains(&column) => column,
        _ if is_text => "prompt",
        _ => "messages",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::records::is_record_key;

    #[test]
    fn records_read_all_companions() {
        for name in ["messages", "prompt"].into_iter().flat_map(|column| companions(column, true)) {
            assert!(is_record_key(name), "{name}");
        }
    }
}
