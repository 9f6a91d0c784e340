//! How a tokenizer's chats are written, as a meta template of strings.

use metatok::{Model, Tokenizer};
use serde_json::{Value, json};

/// The turns of a chat, and the token by which its tokenizers are known.
struct ChatFormat {
    name: &'static str,
    token: Option<&'static str>,
    user: [&'static str; 2],
    assistant: [&'static str; 2],
    generation_prompt: Option<&'static str>,
}

const CHATML: ChatFormat = ChatFormat {
    name: "ChatML",
    token: Some("<|im_start|>"),
    user: ["<|im_start|>user\n", "<|im_end|>\n"],
    assistant: ["<|im_start|>assistant\n", "<|im_end|>\n"],
    generation_prompt: None,
};

/// The first whose token the tokenizer has.
const FORMATS: [ChatFormat; 4] = [
    CHATML,
    ChatFormat {
        name: "Llama 3",
        token: Some("<|start_header_id|>"),
        user: ["<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"],
        assistant: ["<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"],
        generation_prompt: None,
    },
    ChatFormat {
        name: "Gemma",
        token: Some("<start_of_turn>"),
        user: ["<start_of_turn>user\n", "<end_of_turn>\n"],
        assistant: ["<start_of_turn>model\n", "<end_of_turn>\n"],
        generation_prompt: None,
    },
    ChatFormat {
        name: "[INST]",
        token: None,
        user: ["[INST] ", " [/INST]"],
        assistant: [" ", " </s>"],
        generation_prompt: Some(""),
    },
];

/// The format of this tokenizer's chats, and its name.
pub(crate) fn of(tokenizer: &Tokenizer) -> (&'static str, Model) {
    let has = |token: &str| tokenizer.added_tokens().any(|added| added.content == token);
    let found = FORMATS.iter().find(|format| format.token.is_none_or(has)).expect("the last one fits all");
    (found.name, found.model())
}

/// ChatML, whatever the tokenizer has.
pub(crate) fn chatml() -> Model {
    CHATML.model()
}

impl ChatFormat {
    fn model(&self) -> Model {
        let role = |role: &str, [begin, end]: [&str; 2]| json!({ "role": role, "begin": begin, "end": end });
        let mut assistant = role("BOT", self.assistant);
        assistant["generate"] = Value::Bool(true);
        if let Some(generation_prompt) = self.generation_prompt {
            assistant["generation_prompt"] = generation_prompt.into();
        }
        let template = json!({ "round": [role("HUMAN", self.user), assistant] });
        Model { meta_template: Some(serde_json::from_value(template).expect("it is a template")), ..Model::default() }
    }
}
