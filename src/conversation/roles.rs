//! The names of roles in OpenAI's API, in OpenCompass and in ShareGPT.

/// Whether OpenAI-style messages have a role of this name.
pub(crate) fn is_openai_role(role: &str) -> bool {
    matches!(role, "user" | "assistant" | "system" | "tool" | "function" | "developer")
}

/// OpenCompass's name for the role of an OpenAI-style message.
pub(crate) fn opencompass_role(role: &str) -> &str {
    match role {
        "user" => "HUMAN",
        "assistant" => "BOT",
        "system" => "SYSTEM",
        other => other,
    }
}

/// The role of an OpenAI-style message that OpenCompass calls so, if there is one.
pub(crate) fn openai_role(role: &str) -> Option<&'static str> {
    match role {
        "HUMAN" => Some("user"),
        "BOT" => Some("assistant"),
        "SYSTEM" => Some("system"),
        _ => None,
    }
}

/// LLaMA-Factory's speaker of the model's calls of tools.
pub(super) const FUNCTION_CALL: &str = "function_call";

/// OpenAI's name for the speaker in ShareGPT's turns and their many variants.
pub(super) fn role_of_speaker(from: &str) -> Option<&'static str> {
    Some(match from.to_ascii_lowercase().as_str() {
        "human" | "user" => "user",
        "gpt" | "assistant" | "model" | "chatgpt" | "bard" | "bing" | FUNCTION_CALL => "assistant",
        "system" => "system",
        "tool" | "observation" => "tool",
        _ => return None,
    })
}
