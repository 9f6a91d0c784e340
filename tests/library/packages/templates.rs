//! Prompts by the templates that the Python side has too.

use std::collections::BTreeMap;
use std::sync::Arc;

use metatok::compile::{Atom, CompiledTemplate};
use metatok::render::{ApiTemplate, EachMessage, MetaRenderer, Plain, Renderer, Segments, TextArena};
use metatok::{ChatMessage, Conversation, MetaTemplate, Mode, Result, Tokenizer};
use serde_json::Value;

/// How prompts are compared: a name of the Python side, and what gives the same here.
pub(crate) struct Templates {
    tokenizer: Arc<Tokenizer>,
    /// What stands for the package's chat wrapper, and for requests to servers.
    chat: ApiTemplate,
    lm: BTreeMap<String, Box<dyn Renderer>>,
    /// The same for messages one by one.
    each_message: BTreeMap<String, EachMessage>,
    api: BTreeMap<String, ApiTemplate>,
}

impl Templates {
    pub(crate) fn new(chat: ApiTemplate) -> Self {
        let tokenizer = Arc::new(Tokenizer::demo().expect("the demo loads"));
        Self { tokenizer, chat, lm: BTreeMap::new(), each_message: BTreeMap::new(), api: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, name: String, template: &Value) {
        if name.starts_with("api") {
            let template = serde_json::from_value(template.clone()).expect("it is an API's");
            self.api.insert(name, self.as_strict(template));
            return;
        }
        let template: Option<MetaTemplate> =
            serde_json::from_value(template.clone()).expect("it is a meta template, or none");
        let each_message = EachMessage::new(template.as_ref().map(|template| self.compiled(template)));
        self.each_message.insert(name.clone(), each_message.expect("it has roles alone"));
        self.lm.insert(name, self.renderer(template.as_ref()));
    }

    /// As strict as what stands for the chat wrapper.
    fn as_strict(&self, mut template: ApiTemplate) -> ApiTemplate {
        if let (ApiTemplate::Roles(roles), ApiTemplate::Roles(chat)) = (&mut template, &self.chat) {
            (roles.needs_prompts, roles.compat) = (chat.needs_prompts, chat.compat);
        }
        template
    }

    fn compiled(&self, template: &MetaTemplate) -> CompiledTemplate {
        CompiledTemplate::new(template, &self.tokenizer).expect("its strings are text")
    }

    pub(crate) fn renderer(&self, template: Option<&MetaTemplate>) -> Box<dyn Renderer> {
        match template {
            None => Box::new(Plain),
            Some(template) => Box::new(MetaRenderer { template: self.compiled(template), round_fallback: false }),
        }
    }

    pub(crate) fn make(
        &self,
        name: &str,
        conversation: &Conversation,
        mode: Mode,
        each_message: bool,
    ) -> Result<Value> {
        let json = |messages: &[ChatMessage]| serde_json::to_value(messages).expect("messages are JSON");
        match (name, conversation) {
            ("chat", _) => {
                let chat = self.chat.chat(conversation, mode, each_message)?.into_owned();
                Ok(serde_json::to_value(chat).expect("messages are JSON"))
            }
            ("server", _) => Ok(json(&self.chat.prompt(conversation, mode)?.turn_messages())),
            (name, Conversation::Messages(messages)) if each_message => match self.api.get(name) {
                Some(api) => Ok(serde_json::to_value(api.each_message(messages)?).expect("turns are JSON")),
                None => self.text(&self.each_message[name], conversation, mode).map(Value::from),
            },
            (name, _) => match self.api.get(name) {
                Some(api) => Ok(serde_json::to_value(api.prompt(conversation, mode)?).expect("turns are JSON")),
                None => self.text(&*self.lm[name], conversation, mode).map(Value::from),
            },
        }
    }

    pub(crate) fn text(&self, renderer: &dyn Renderer, conversation: &Conversation, mode: Mode) -> Result<String> {
        let arena = TextArena::default();
        let mut segments = Segments::new(&arena);
        renderer.render(conversation, mode, &mut segments)?;
        let mut text = String::new();
        for segment in segments.as_slice() {
            match segment.atom {
                Atom::Text(piece) => text += piece,
                Atom::Token(id) => text += &self.tokenizer.decode(&[id], false)?,
            }
        }
        Ok(text)
    }
}
