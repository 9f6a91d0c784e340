//! OpenCompass's `ChatInferencer`: parsers of its own, which know no rounds.

use metatok::dataset::Value as Py;
use metatok::render::ApiTemplate;
use metatok::{AddSpecialTokens, BuilderOptions, ChatMessage, Conversation, PromptBuilder};
use serde_json::{Value, json};

use crate::dataset::{matches, task};
use crate::{Outcome, Replayer, api, conversation, model, show};

/// What both parsers make of a chat.
pub(crate) fn parse(replayer: &Replayer, case: &Value) -> Outcome {
    let mut job = case["job"].clone();
    job["inferencer"] = json!({ "type": "ChatInferencer" });
    let chat = messages(&job["chat"]);
    let mut excepted = None;
    for (key, expected) in case["expect"].as_object().into_iter().flatten() {
        let chat = chat.as_ref().map_err(crate::dataset::copy);
        let found = chat.and_then(|chat| match key.as_str() {
            "lmchat" => text(replayer, &job["meta"], chat),
            _ => api(&job["meta"], chat),
        });
        if !matches(&found, expected) {
            job["refused"] = found.is_err().into();
            match replayer.excepted(&job, expected) {
                Some(rule) => excepted = Some(rule),
                None => return Outcome::Failed(format!("{key}: {}", show(&found, expected))),
            }
        }
    }
    excepted.map_or(Outcome::Passed, Outcome::Excepted)
}

/// The chat as a row's only input column.
fn messages(chat: &Value) -> metatok::Result<Vec<ChatMessage>> {
    let row = Py::from_json(&json!({ "chat": chat }).to_string())?;
    let infer = Py::Dict(Vec::new());
    let reader = Py::from_json(r#"{"reader_cfg": {"input_columns": ["chat"]}}"#)?;
    task(&reader, &infer)?.chat(&crate::dataset::row(&row))
}

pub(crate) fn text(replayer: &Replayer, meta: &Value, chat: &[ChatMessage]) -> metatok::Result<Value> {
    let options = BuilderOptions {
        allow_empty_prompts: true,
        text: true,
        each_message: true,
        special_tokens: Some(AddSpecialTokens::Never),
        ..BuilderOptions::default()
    };
    let builder = PromptBuilder::new(&model(&crate::without_eos(meta))?, replayer.demo.clone(), &options)?;
    let prompt = builder.build(&Conversation::Messages(chat.to_vec()))?;
    Ok(prompt.text.expect("the text was asked for").into())
}

pub(crate) fn api(meta: &Value, chat: &[ChatMessage]) -> metatok::Result<Value> {
    let template = if api::is_none(meta) { ApiTemplate::openai() } else { api::template(meta)? };
    Ok(api::recorded(&template.each_message(chat)?))
}

/// `ChatInferencer`'s own way from prompt lists to messages.
pub(crate) fn converted(inputs: &[Value]) -> metatok::Result<Value> {
    inputs.iter().map(|input| Ok(json!(conversation(input)?.to_chat()))).collect()
}
