//! The models that are built in, and the demo's conversations.

const MODELS: [(&str, &str); 5] = [
    ("demo", include_str!("../../models/demo/model.toml")),
    ("internlm2-chat", include_str!("../../models/internlm2-chat.toml")),
    ("llama-3", include_str!("../../models/llama-3.toml")),
    ("plain", include_str!("../../models/plain.toml")),
    ("qwen3", include_str!("../../models/qwen3.toml")),
];

pub(crate) fn names() -> Vec<&'static str> {
    MODELS.iter().map(|(name, _)| *name).collect()
}

pub(crate) fn model(name: &str) -> Option<&'static str> {
    MODELS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The conversations that `metatok build` builds when it is given none, as JSON lines.
pub(crate) fn demo_conversations() -> &'static str {
    include_str!("../../models/demo/conversations.jsonl")
}
