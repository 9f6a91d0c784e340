//! UltraFeedback's and FastChat's conversations: prompts, and where output ends.

use metatok::conversation::{Content, ContentPart, Media, MediaKind};
use metatok::dialect::{ConversationRenderer, ConversationTemplate, SystemPrompt};
use metatok::{AddSpecialTokens, BuilderOptions, ChatMessage, Conversation, ErrorKind, Mode, Model, PromptBuilder};
use serde_json::{Value, json};

use crate::{Outcome, Replayer};

/// Replays a case, or gives nothing if it is none of these.
pub(crate) fn replay(replayer: &Replayer, case: &Value) -> Option<Outcome> {
    match case["op"].as_str()? {
        "prompt" if case.get("source").is_some() && case.get("infer_cfg").is_none() => Some(prompt(replayer, case)),
        "uf_prompt" => Some(caller(replayer, case)),
        _ => None,
    }
}

fn template(replayer: &Replayer, case: &Value) -> metatok::Result<ConversationTemplate> {
    let fields = match case["template"].as_str() {
        Some(name) => replayer.conversation(case["source"].as_str().unwrap_or_default(), name),
        None => case["conv"].clone(),
    };
    let template: ConversationTemplate =
        serde_json::from_value(fields).map_err(|error| ErrorKind::Parse(error.to_string()))?;
    let template = match case["system"].as_str() {
        Some(system) => template.with_system(system),
        None => template,
    };
    Ok(match case["system_append"].as_str() {
        Some(more) => template.with_system_appended(more),
        None => template,
    })
}

fn messages(case: &Value) -> Vec<ChatMessage> {
    let message = |message: &Value| {
        let role = message["role"].as_str().or(message["label"].as_str()).unwrap_or_default();
        let images = message["images"].as_u64().unwrap_or(0) as usize;
        let text = message["content"].as_str().unwrap_or_default();
        let image = || ContentPart::from(Media::new(MediaKind::Image, ""));
        let parts = std::iter::repeat_with(image).take(images).chain([ContentPart::text(text)]);
        let content = if images == 0 { Content::from(text) } else { parts.collect::<Vec<_>>().into() };
        ChatMessage::new(role, content)
    };
    case["messages"].as_array().into_iter().flatten().map(message).collect()
}

/// The prompt as the core makes it, and as text alone.
fn written(replayer: &Replayer, template: &ConversationTemplate, messages: &[ChatMessage]) -> metatok::Result<String> {
    // Ids of some model's vocabulary, which the demo does not have.
    let template = ConversationTemplate { stop_token_ids: None, ..template.clone() };
    let mut renderer = ConversationRenderer::new(&template, &replayer.demo)?;
    renderer.literal_labels = true;
    let options = BuilderOptions {
        allow_empty_prompts: true,
        mode: Mode::Score,
        text: true,
        special_tokens: Some(AddSpecialTokens::Never),
        ..BuilderOptions::default()
    };
    let builder = PromptBuilder::with_renderer(Box::new(renderer), &Model::default(), replayer.demo.clone(), &options)?;
    let prompt = builder.build(&Conversation::Messages(messages.to_vec()))?;
    let text = prompt.text.expect("the text was asked for");
    if messages.iter().all(|message| ["user", "assistant"].contains(&message.role.as_str())) {
        assert_eq!(template.get_prompt(messages)?, text, "as text alone");
        match template.get_prompt(&with_system(&template, messages)) {
            Ok(with_message) => assert_eq!(with_message, text, "with the system in a message"),
            // The reference loses it.
            Err(error) => assert!(error.to_string().contains("no place for a system message"), "{error}"),
        }
        if let [before @ .., last] = messages
            && *last == ChatMessage::new("assistant", "")
            && before.last().is_none_or(|message| message.role != "assistant")
        {
            assert_eq!(open_turn(replayer, &template, before)?, text, "as a prompt to continue");
        }
    }
    Ok(text)
}

/// The system text as a message of the conversation's.
fn with_system(template: &ConversationTemplate, messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let (SystemPrompt::Whole { system } | SystemPrompt::Template { system_message: system, .. }) = &template.system;
    [&[ChatMessage::new("system", system.as_str())], messages].concat()
}

fn prompt(replayer: &Replayer, case: &Value) -> Outcome {
    let expected = &case["expect"];
    let messages = messages(case);
    let found = template(replayer, case).and_then(|template| {
        let prompt = written(replayer, &template, &messages)?;
        Ok(json!({"prompt": prompt, "stop_str": template.stop_str, "stop_token_ids": listed(&template)}))
    });
    let is_equal = match &found {
        Ok(found) => found == expected,
        Err(_) => expected.get("error").is_some(),
    };
    if is_equal {
        return Outcome::Passed;
    }
    let mut job = json!({ "messages": case["messages"], "refused": found.is_err(),
        "roles": case["conv"]["roles"], "offset": case["conv"]["offset"],
        "system_template": case["conv"]["system_template"] });
    if let Ok(template) = template(replayer, case) {
        (job["sep_style"], job["sep"]) = (json!(template.sep_style), json!(template.sep));
        job["roles"] = json!(template.roles);
        job["found"] = json!(found.as_ref().ok());
        job["labelled"] = labelled(replayer, case, &template).unwrap_or_default();
    }
    let recorded = match expected.get("error") {
        Some(error) => json!({ "$error": error }),
        None => expected.clone(),
    };
    match replayer.excepted(&job, &recorded) {
        Some(rule) => Outcome::Excepted(rule),
        None => Outcome::Failed(crate::show(&found, expected)),
    }
}

/// The prompt with the labels "user" and "assistant" as they are, and with the labels of the roles of these names.
fn labelled(replayer: &Replayer, case: &Value, template: &ConversationTemplate) -> metatok::Result<Value> {
    // Two words that no case has.
    let names = [("user", "\u{f0000}"), ("assistant", "\u{f0001}")];
    let mut case = case.clone();
    for message in case["messages"].as_array_mut().into_iter().flatten() {
        if let Some((_, word)) = names.iter().find(|(name, _)| message["label"] == *name) {
            message["label"] = json!(word);
        }
    }
    let text = written(replayer, template, &messages(&case))?;
    let with = |labels: [&str; 2]| text.replace(names[0].1, labels[0]).replace(names[1].1, labels[1]);
    let roles = [0, 1].map(|role| template.roles.get(role).map_or("", String::as_str));
    Ok(json!({ "literally": with(["user", "assistant"]), "by_role": with(roles) }))
}

/// A list also where the template has one id.
fn listed(template: &ConversationTemplate) -> Value {
    template.stop_token_ids.as_ref().map_or(Value::Null, |ids| json!(ids.0))
}

/// What UltraFeedback's callers write.
fn caller(replayer: &Replayer, case: &Value) -> Outcome {
    let expected = &case["expect"];
    let text = |key: &str| case[key].as_str().unwrap_or_default();
    let Some(template) = ConversationTemplate::of_ultrafeedback_model(text("model_type")) else {
        return match expected.get("error") {
            Some(_) => Outcome::Passed,
            None => Outcome::Failed("there is no template for this model".into()),
        };
    };
    let messages = [ChatMessage::new("user", text("instruction")), ChatMessage::new("assistant", "")];
    let template = template.with_principle(text("principle"));
    // Where an empty message is no open turn, the open one is none.
    let messages = if template.empty_is_open { &messages[..] } else { &messages[..1] };
    let found = match template.empty_is_open {
        true => written(replayer, &template, messages),
        false => open_turn(replayer, &template, messages),
    };
    let found = found.map(|prompt| json!({ "prompt": prompt }));
    let is_equal = match &found {
        Ok(found) => found["prompt"] == expected["prompt"],
        Err(_) => expected.get("error").is_some(),
    };
    if is_equal {
        return Outcome::Passed;
    }
    match replayer.excepted(
        &json!({ "script": case["script"], "model_type": case["model_type"] }),
        &json!({ "$error": expected["error"] }),
    ) {
        Some(rule) => Outcome::Excepted(rule),
        None => Outcome::Failed(crate::show(&found, expected)),
    }
}

/// A prompt to continue.
fn open_turn(
    replayer: &Replayer,
    template: &ConversationTemplate,
    messages: &[ChatMessage],
) -> metatok::Result<String> {
    let model = Model { conversation_template: Some(template.clone()), ..Model::default() };
    let options = BuilderOptions {
        allow_empty_prompts: true,
        text: true,
        special_tokens: Some(AddSpecialTokens::Never),
        ..BuilderOptions::default()
    };
    let builder = PromptBuilder::new(&model, replayer.demo.clone(), &options)?;
    let prompt = builder.build(&Conversation::Messages(messages.to_vec()))?;
    Ok(prompt.text.expect("the text was asked for"))
}
