//! Prompts by the templates that the Python side has too.

use std::collections::BTreeMap;
use std::sync::Arc;

use metatok::{
    ApiTemplate, Atom, CompiledTemplate, Conversation, MetaRenderer, MetaTemplate, Mode, Plain, Renderer, Result,
    Tokenizer,
};
use serde_json::Value;

/// How prompts are compared: a name of the Python side, and what gives the same here.
pub(crate) struct Templates {
    tokenizer: Arc<Tokenizer>,
    chat: ApiTemplate,
    lm: BTreeMap<String, Box<dyn Renderer>>,
    api: BTreeMap<String, ApiTemplate>,
}

impl Templates {
    pub(crate) fn new() -> Self {
        let tokenizer = Arc::new(Tokenizer::demo().expect("the demo loads"));
        Self { tokenizer, chat: ApiTemplate::default(), lm: BTreeMap::new(), api: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, name: String, template: &Value) {
        if name.starts_with("api") {
            let template = serde_json::from_value(template.clone()).expect("it is an API's");
            self.api.insert(name, template);
            return;
        }
        let renderer = match template {
            Value::Null => Box::new(Plain) as Box<dyn Renderer>,
            template => self.renderer(&serde_json::from_value(template.clone()).expect("it is a meta template")),
        };
        self.lm.insert(name, renderer);
    }

    pub(crate) fn renderer(&self, template: &MetaTemplate) -> Box<dyn Renderer> {
        let template = CompiledTemplate::new(template, &self.tokenizer).expect("its strings are text");
        Box::new(MetaRenderer { template, round_fallback: false })
    }

    pub(crate) fn make(&self, name: &str, conversation: &Conversation, mode: Mode) -> Result<Value> {
        if name == "chat" {
            let chat = self.chat.chat(conversation, mode, false)?.into_owned();
            return Ok(serde_json::to_value(chat).expect("messages are JSON"));
        }
        if let Some(template) = self.api.get(name) {
            let prompt = template.prompt(conversation, mode)?;
            return Ok(serde_json::to_value(prompt).expect("turns are JSON"));
        }
        self.text(&*self.lm[name], conversation, mode).map(Value::from)
    }

    pub(crate) fn text(&self, renderer: &dyn Renderer, conversation: &Conversation, mode: Mode) -> Result<String> {
        let mut segments = Vec::new();
        renderer.render(conversation, mode, &mut segments)?;
        let mut text = String::new();
        for segment in segments {
            match segment.atom {
                Atom::Text(piece) => text += piece,
                Atom::Token(id) => text += &self.tokenizer.decode(&[id], false)?,
            }
        }
        Ok(text)
    }
}
