//! The variables of a chat template: what a conversation brings, and what the model does.

use foldhash::{HashMap, HashSet};
use jiff::civil::DateTime;
use minijinja::Value;

use crate::conversation::{self, ChatMessage, Content, ContentPart, Conversation, check_variables};
use crate::dialect::chat_template::ChatTemplate;
use crate::dialect::chat_template::environment::NOW;
use crate::dialect::chat_template::forgery::Forgery;
use crate::dialect::chat_template::marks::{Owner, first_mark};
use crate::dialect::chat_template::values::{Dict, List, Marking, Values};
use crate::error::{At, Error, ErrorKind, Place, Result, Setting, way_out};
use crate::tokenizer::TokenId;
use crate::wording::shown;

/// What a template is rendered with, in addition to its own variables.
#[derive(Clone, Copy)]
pub(super) struct Chat<'c> {
    pub(super) messages: &'c [ChatMessage],
    pub(super) added: &'c Added,
    pub(super) tools: Option<&'c serde_json::Value>,
    pub(super) documents: Option<&'c serde_json::Value>,
    /// Variables that come before the template's own.
    pub(super) kwargs: Option<&'c serde_json::Map<String, serde_json::Value>>,
    pub(super) add_generation_prompt: bool,
}

/// The variable with the tools in TypeScript.
const TOOLS_TEXT: &str = "tools_ts_str";

/// The texts of added tokens, by id.
pub(super) type Added = HashMap<TokenId, String>;

/// Whose marked text it is: the message with this index. Nobody's are tools, documents and a conversation's own variables.
pub(super) fn message_of(owner: Owner) -> Option<u32> {
    owner.index()?.checked_sub(1)
}

impl<'c> Chat<'c> {
    /// The messages of a conversation.
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] for a string or a prompt list, and for token ids in a message that are not among the
    /// added ones, or beside media.
    pub(super) fn of(conversation: &'c Conversation, added: &'c Added, add_generation_prompt: bool) -> Result<Self> {
        let (messages, more) = match conversation {
            Conversation::Messages(messages) => (messages, None),
            Conversation::Chat(chat) => (&chat.messages, Some(&**chat)),
            Conversation::Text(_) | Conversation::List(_) => {
                let what = "a chat template needs messages with roles, not a string or a prompt list";
                let way_out =
                    way_out!["use ", Setting::CHAT_WRAPPER.set_to("opencompass-chat"), ", which makes messages of it"];
                return Err(ErrorKind::Conversation(what.into()).with_way_out(way_out));
            }
        };
        for (i, message) in messages.iter().enumerate() {
            check_ids(&message.content, added).at(Place::Message(i))?;
        }
        if let Some(chat) = more {
            check_lists(chat)?;
            check_variables(&chat.chat_template_kwargs).at("chat_template_kwargs")?;
        }
        Ok(Self {
            messages,
            added,
            tools: more.and_then(|chat| chat.tools.as_ref()),
            documents: more.and_then(|chat| chat.documents.as_ref()),
            kwargs: more.map(|chat| &chat.chat_template_kwargs),
            add_generation_prompt,
        })
    }

    /// The variables, with marks around texts or without any, and the time that the template tells.
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] for content that is not JSON.
    pub(super) fn variables(
        self,
        template: &ChatTemplate,
        now: Option<DateTime>,
        marking: Option<Marking<'_>>,
    ) -> Result<Value> {
        let values = |owner| Values { owner: marking.map(|marking| (owner, marking)) };
        let mut variables = Dict(Vec::with_capacity(12));
        let messages = self.messages.iter().enumerate();
        let messages = messages
            .map(|(i, message)| of_message(message, self.added, values(Owner::new(i + 1))).at(Place::Message(i)));
        variables.insert("messages", Value::from_object(List(messages.collect::<Result<_>>()?)));
        let of_all =
            |json: Option<&serde_json::Value>| json.map_or(Value::from(()), |json| values(Owner::NOBODY).of(json));
        let sorted = self.tools.filter(|_| template.sorts_tools).map(|tools| {
            let mut tools = tools.clone();
            tools.sort_all_objects();
            tools
        });
        variables.insert("tools", of_all(sorted.as_ref().or(self.tools)));
        variables.insert("documents", of_all(self.documents));
        variables.insert("add_generation_prompt", Value::from(self.add_generation_prompt));
        // The first of a name wins, as in transformers: the conversation's, the user's, the tokenizer's.
        for (name, value) in self.kwargs.into_iter().flatten() {
            if template.special_tokens.contains_key(name) {
                return Err(is_special_token(name));
            }
            variables.insert(name, values(Owner::NOBODY).of(value));
        }
        for (name, value) in &template.kwargs {
            variables.insert(name, Values { owner: None }.of(value));
        }
        for (name, token) in &template.special_tokens {
            variables.insert(name, Value::from(token.as_str()));
        }
        if let Some(now) = now {
            variables.insert(NOW, Value::from(now.to_string()));
        }
        Ok(Value::from_object(variables))
    }

    /// Kimi's tokenizer gives the template of newer models the tools in TypeScript, too. `reads` tells what it reads.
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] if nobody gives it this text.
    pub(super) fn check_tools(self, template: &ChatTemplate, reads: impl Fn(&str) -> bool) -> Result<()> {
        let is_given =
            || template.kwargs.contains_key(TOOLS_TEXT) || self.kwargs.is_some_and(|own| own.contains_key(TOOLS_TEXT));
        if self.tools.is_none() || !template.sorts_tools || !reads(TOOLS_TEXT) || is_given() {
            return Ok(());
        }
        let what = format!(
            "the chat template reads `{TOOLS_TEXT}`, which only the tokenizer's own Python code makes of tools"
        );
        Err(ErrorKind::Conversation(what).with_way_out("give this text in the record's chat_template_kwargs"))
    }

    /// A character of the conversation that is used as a mark, so that it cannot be marked.
    pub(super) fn first_mark(self) -> Option<char> {
        let mut found = None;
        self.texts(&mut |text| {
            found = first_mark(text);
            found.is_some()
        });
        found
    }

    /// The texts that it has several times, such as the id of a call and that of its result.
    pub(super) fn repeated(self) -> HashSet<String> {
        let (mut seen, mut repeated) = (HashSet::default(), HashSet::default());
        self.texts(&mut |text| {
            if !seen.insert(text.to_owned()) {
                repeated.insert(text.to_owned());
            }
            false
        });
        repeated
    }

    /// Whether some text of it could become part of a reserved token.
    pub(super) fn could_forge(self, forgery: &Forgery) -> bool {
        self.first_forger(forgery).is_some() || self.is_beside_messages(&mut |text| forgery.could_forge(text))
    }

    /// The first message of which that holds.
    pub(super) fn first_forger(self, forgery: &Forgery) -> Option<usize> {
        self.messages.iter().position(|message| match &message.content {
            Content::Text(text) if message.others.is_empty() => {
                (!is_known_role(&message.role) && forgery.could_forge(&message.role))
                    || forgery.content_could_forge(text)
            }
            _ => in_message(message, &mut |text| forgery.could_forge(text)),
        })
    }

    /// Whether some text of it, down to the names in its tools, is like this.
    pub(super) fn texts(self, is: &mut dyn FnMut(&str) -> bool) -> bool {
        self.messages.iter().any(|message| in_message(message, is)) || self.is_beside_messages(is)
    }

    /// The texts of its tools, documents and variables, under their keys in the record.
    pub(super) fn beside_messages(self) -> [(&'static str, HashSet<String>); 3] {
        let variables = self.kwargs.into_iter().flat_map(serde_json::Map::values).collect();
        let texts = |values: Vec<&serde_json::Value>| {
            let mut texts = HashSet::default();
            for value in values {
                in_json(value, &mut |text| {
                    texts.insert(text.to_owned());
                    false
                });
            }
            texts
        };
        [
            ("tools", texts(self.tools.into_iter().collect())),
            ("documents", texts(self.documents.into_iter().collect())),
            ("chat_template_kwargs", texts(variables)),
        ]
    }

    /// Whether some text beside its messages is like this.
    fn is_beside_messages(self, is: &mut dyn FnMut(&str) -> bool) -> bool {
        let variables = self.kwargs.into_iter().flat_map(serde_json::Map::values);
        [self.tools, self.documents].into_iter().flatten().chain(variables).any(|json| in_json(json, is))
    }
}

/// A conversation is data, and does not say what the control tokens of a model are.
fn is_special_token(name: &str) -> Error {
    let what = format!("chat_template_kwargs has {name:?}, which is a special token of the tokenizer");
    ErrorKind::Conversation(what)
        .with_way_out(way_out!["remove it, or set it for all conversations with ", Setting::TEMPLATE_KWARGS])
}

/// Tools and documents are lists of objects, as transformers demands.
fn check_lists(chat: &conversation::Chat) -> Result<()> {
    for (key, value) in [("tools", &chat.tools), ("documents", &chat.documents)] {
        let is_list = |value: &serde_json::Value| {
            value.as_array().is_some_and(|items| items.iter().all(serde_json::Value::is_object))
        };
        if let Some(value) = value.as_ref().filter(|value| !value.is_null() && !is_list(value)) {
            let what = format!("{key:?} must be a list of objects, not {}", shown(value));
            return Err(ErrorKind::Conversation(what).into());
        }
    }
    Ok(())
}

/// Token ids in a message stand for added tokens, which a model wrote between its text.
fn check_ids(content: &Content, added: &Added) -> Result<()> {
    let Content::Parts(parts) = content else { return Ok(()) };
    let ids = parts.iter().filter_map(|part| match part {
        ContentPart::Ids(ids) => Some(ids),
        ContentPart::Text(_) | ContentPart::Media(_) | ContentPart::Other(_) => None,
    });
    let is_text = parts.iter().all(|part| matches!(part, ContentPart::Text(_) | ContentPart::Ids(_)));
    if ids.clone().next().is_none() || is_text && ids.flatten().all(|id| added.contains_key(id)) {
        return Ok(());
    }
    let what = "the message has token ids, but a chat template works on text";
    Err(ErrorKind::Conversation(what.into()).with_way_out("give the answer as text"))
}

fn in_message(message: &ChatMessage, is: &mut dyn FnMut(&str) -> bool) -> bool {
    let in_content = match &message.content {
        Content::Text(text) => is(text),
        Content::Parts(parts) => parts.iter().any(|part| match part {
            ContentPart::Text(part) => {
                is(&part.text) || part.others.iter().any(|(key, value)| is(key) || in_json(value, is))
            }
            ContentPart::Media(_) | ContentPart::Other(_) => {
                serde_json::to_value(part).is_ok_and(|json| in_json(&json, is))
            }
            ContentPart::Ids(_) => false,
        }),
        Content::Null => false,
    };
    in_content || is(&message.role) || message.others.iter().any(|(key, value)| is(key) || in_json(value, is))
}

fn in_json(json: &serde_json::Value, is: &mut dyn FnMut(&str) -> bool) -> bool {
    match json {
        serde_json::Value::String(text) => is(text),
        serde_json::Value::Array(items) => items.iter().any(|item| in_json(item, is)),
        serde_json::Value::Object(entries) => entries.iter().any(|(key, value)| is(key) || in_json(value, is)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => false,
    }
}

/// The names of reasoning in messages, as transformers looks for them.
pub(super) const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// Whether a message has a key with a value other than null.
fn has(message: &ChatMessage, key: &str) -> bool {
    message.others.get(key).is_some_and(|value| !value.is_null())
}

fn of_message(message: &ChatMessage, added: &Added, values: Values<'_>) -> Result<Value> {
    let mut entries = Dict(Vec::with_capacity(4 + message.others.len()));
    // Transformers gives reasoning under each name that templates know.
    let reasoning = REASONING.iter().find_map(|name| message.others.get(*name).filter(|value| !value.is_null()));
    if let Some(reasoning) = reasoning.filter(|_| !has(message, "thinking")) {
        entries.insert("thinking", values.of(reasoning));
    }
    let role =
        if is_known_role(&message.role) { Value::from(message.role.as_str()) } else { values.text(&message.role) };
    entries.insert("role", role);
    let content = match &message.content {
        Content::Text(text) => Some(values.text(text)),
        Content::Parts(parts) if parts.iter().any(|part| matches!(part, ContentPart::Ids(_))) => {
            let text = parts.iter().map(|part| match part {
                ContentPart::Text(part) => values.marked(&part.text),
                ContentPart::Ids(ids) => ids.iter().filter_map(|id| added.get(id)).map(String::as_str).collect(),
                ContentPart::Media(_) | ContentPart::Other(_) => String::new(),
            });
            Some(Value::from(text.collect::<String>()))
        }
        Content::Parts(parts) => {
            let json = serde_json::to_value(parts).map_err(|error| ErrorKind::Conversation(error.to_string()))?;
            Some(values.of(&json))
        }
        Content::Null => None,
    };
    if let Some(content) = content {
        entries.insert("content", content);
    }
    // As in transformers, which leaves out what is null.
    for (key, value) in message.others.iter().filter(|(_, value)| !value.is_null()) {
        let value = reasoning.filter(|_| key == "reasoning_content").unwrap_or(value);
        entries.0.push((key.as_str().into(), values.text(key), values.of(value)));
    }
    if let Some(reasoning) = reasoning.filter(|_| !has(message, "reasoning_content")) {
        entries.insert("reasoning_content", values.of(reasoning));
    }
    Ok(Value::from_object(entries))
}

/// Roles that templates write as a part of control tokens, such as `<|user|>`. Another role is data like any content.
fn is_known_role(role: &str) -> bool {
    matches!(
        role,
        "system"
            | "user"
            | "assistant"
            | "tool"
            | "developer"
            | "function"
            | "ipython"
            | "observation"
            | "model"
            | "tool_response"
            | "tool_call"
            | "environment"
            | "human"
            | "gpt"
            | "bot"
            | "documents"
            | "document"
            | "context"
            | "critic"
            | "root"
            | "latest_reminder"
    )
}
