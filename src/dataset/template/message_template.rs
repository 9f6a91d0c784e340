//! Templates of OpenAI-style messages: OpenCompass's `RawPromptTemplate`.

use crate::conversation::{ChatMessage, Content, Conversation};
use crate::dataset::rows::{Fields, Row, Value};
use crate::dataset::template::row_template::{ExampleSupport, RowTemplate, TemplateInput};
use crate::dataset::template::template_kind::TemplateKeys;
use crate::dataset::template::{
    Filler, MAX_ROW_BYTES, Room, Substitution, TemplateField, TemplateText, fields, give_sources,
};
use crate::dataset::{dataset_error, row_error};
use crate::error::{At, Error, Result};

/// Messages with fields. The answer is never masked in them.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageTemplate {
    items: Vec<MessageItem>,
    /// Whether fields are filled.
    pub format_variables: bool,
    /// The string that marks the place of the examples' messages.
    pub ice_token: String,
    /// How fields are filled.
    pub substitution: Substitution,
    /// How many bytes the texts of a prompt may have after they are filled.
    pub max_row_bytes: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum MessageItem {
    Message(ChatMessage),
    /// The messages that a column lists.
    Expand(String),
    Text(String),
}

impl MessageTemplate {
    /// A template of messages, strings, and `{expand_column: name}`.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`](crate::ErrorKind::Dataset) for anything else, and for a role other than system, user or
    /// assistant.
    pub fn new(messages: &[Value]) -> Result<Self> {
        let entry = |(i, value): (usize, &Value)| entry(value).at(format_args!("messages[{i}]"));
        Ok(Self {
            items: messages.iter().enumerate().map(entry).collect::<Result<_>>()?,
            format_variables: true,
            ice_token: "</E>".into(),
            substitution: Substitution::default(),
            max_row_bytes: MAX_ROW_BYTES,
        })
    }

    /// The messages for a row. If `examples` are not messages, they are ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Row`](crate::ErrorKind::Row) if a column to expand contains something other than messages, or a column
    /// in a source is none; [`ErrorKind::Conversation`](crate::ErrorKind::Conversation) if the columns `images`, `videos` or
    /// `audios` have more or fewer sources than the messages need; [`ErrorKind::RowTooLong`](crate::ErrorKind::RowTooLong).
    pub fn prompt(&self, row: &Row, examples: &Conversation) -> Result<Conversation> {
        self.filled(row, examples, true)
    }

    /// The messages for a row. `has_sources` says whether media get the sources that other columns list: in the reference,
    /// none do.
    fn filled(&self, row: &Row, examples: &Conversation, has_sources: bool) -> Result<Conversation> {
        let room = Room::new(self.max_row_bytes);
        let filler = Filler { fields: Fields::new(row), how: self.substitution, room: &room };
        let (mut messages, mut places) = (Vec::new(), Vec::new());
        for item in &self.items {
            match item {
                item if self.is_place(item) => places.push(messages.len()),
                // A string that is not a token is left out, as in the reference.
                MessageItem::Text(_) => {}
                MessageItem::Expand(column) => {
                    if let Some(Value::List(list)) = row.get(column) {
                        for (i, value) in list.iter().enumerate() {
                            messages.push(message(value).at(format_args!("column {column:?}[{i}]"))?);
                        }
                    }
                }
                MessageItem::Message(message) => {
                    let content = match self.format_variables {
                        true => message.content.clone().map_texts(|text, medium| filler.fill_part(text, medium))?,
                        false => message.content.clone(),
                    };
                    messages.push(ChatMessage { content, ..message.clone() });
                }
            }
        }
        if has_sources {
            give_sources(&mut messages, row)?;
        }
        if let Conversation::Messages(examples) = examples {
            for place in places.into_iter().rev() {
                messages.splice(place..place, examples.iter().cloned());
            }
        }
        Ok(Conversation::Messages(messages))
    }

    /// Whether the examples go here.
    fn is_place(&self, item: &MessageItem) -> bool {
        matches!(item, MessageItem::Text(text) if *text == self.ice_token)
    }
}

impl RowTemplate for MessageTemplate {
    fn describe(&self) -> &'static str {
        "a template of messages"
    }

    fn fill(&self, input: &TemplateInput<'_>) -> Result<Conversation> {
        self.filled(input.row, input.examples, !input.compat)
    }

    /// The reference ignores examples and label here.
    fn fill_for_label(&self, input: &TemplateInput<'_>, _: &Value, _: bool) -> Result<Conversation> {
        self.filled(input.row, &Conversation::Text(String::new()), !input.compat)
    }

    fn example_support(&self) -> ExampleSupport {
        ExampleSupport::Placed
    }

    fn example(&self, row: &Row, _: Option<&Value>) -> Result<Conversation> {
        self.prompt(row, &Conversation::Messages(Vec::new()))
    }

    fn join_examples(&self, examples: Vec<Conversation>, _: (&str, &str)) -> Result<Conversation> {
        let messages = examples.into_iter().map(|example| match example {
            Conversation::Messages(messages) => messages,
            Conversation::Text(_) | Conversation::List(_) | Conversation::Chat(_) => Vec::new(),
        });
        Ok(Conversation::Messages(messages.flatten().collect()))
    }

    fn messages_before_examples(&self, row: &Row) -> Result<Option<usize>> {
        let mut parts = self.items.split(|item| self.is_place(item));
        let (Some(before), Some(_), None) = (parts.next(), parts.next(), parts.next()) else { return Ok(None) };
        let messages = |item: &MessageItem| match item {
            MessageItem::Message(_) => 1,
            MessageItem::Expand(column) => match row.get(column) {
                Some(Value::List(list)) => list.len(),
                _ => 0,
            },
            MessageItem::Text(_) => 0,
        };
        Ok(Some(before.iter().map(messages).sum()))
    }

    fn ice_token(&self) -> Option<&str> {
        self.items.iter().any(|item| self.is_place(item)).then_some(&self.ice_token)
    }

    fn has_default_ice_token(&self) -> bool {
        true
    }

    fn fields(&self) -> Vec<TemplateField> {
        fields::of_texts(&self.texts())
    }

    fn expanded(&self) -> Vec<TemplateField> {
        let field = |(i, item): (usize, &MessageItem)| match item {
            MessageItem::Expand(column) => {
                Some(TemplateField { place: format!("messages[{i}].expand_column").into(), column: column.clone() })
            }
            MessageItem::Message(_) | MessageItem::Text(_) => None,
        };
        self.items.iter().enumerate().filter_map(field).collect()
    }

    fn texts(&self) -> Vec<TemplateText> {
        let mut texts = Vec::new();
        for (i, item) in self.items.iter().enumerate() {
            if let MessageItem::Message(message) = item
                && self.format_variables
            {
                let text = |text| TemplateText::new(format!("messages[{i}].content"), text);
                texts.extend(message.content.texts_and_sources().map(text));
            }
        }
        texts
    }

    fn set_single_pass(&mut self) {
        self.substitution = Substitution::SinglePass;
    }

    fn set_max_row_bytes(&mut self, bytes: usize) {
        self.max_row_bytes = bytes;
    }
}

/// Reads the key `messages` and the other keys.
pub(super) fn read(messages: &[Value], keys: &mut TemplateKeys) -> Result<Box<dyn RowTemplate>> {
    let mut read = MessageTemplate::new(messages)?;
    read.substitution = keys.substitution();
    read.format_variables = keys.flag("format_variables").unwrap_or(true);
    read.ice_token = keys.text("ice_token").unwrap_or(read.ice_token);
    Ok(read.into())
}

fn entry(value: &Value) -> Result<MessageItem> {
    if let Value::Text(text) = value {
        return Ok(MessageItem::Text(text.clone()));
    }
    if let Some(Value::Text(column)) = value.get("expand_column") {
        return Ok(MessageItem::Expand(column.clone()));
    }
    let message = message_or(value, dataset_error)?;
    match message.role.as_str() {
        "system" | "user" | "assistant" => Ok(MessageItem::Message(message)),
        role => Err(dataset_error(&format!("role {role:?} is not system, user or assistant"))),
    }
}

/// A message in a column. Null content counts as empty.
pub(crate) fn message(value: &Value) -> Result<ChatMessage> {
    message_or(value, row_error)
}

fn message_or(value: &Value, error: fn(&str) -> Error) -> Result<ChatMessage> {
    let content = match value.get("content") {
        Some(Value::Null) => Some("".into()),
        Some(Value::Text(text)) => Some(text.as_str().into()),
        Some(parts @ Value::List(_)) => {
            let content: Content =
                serde_json::from_value(parts.to_json()).map_err(|error| crate::wording::in_file(&error))?;
            Some(content)
        }
        _ => None,
    };
    match (value.get("role").and_then(Value::as_text), content) {
        (Some(role), Some(content)) => Ok(ChatMessage { others: others(value), ..ChatMessage::new(role, content) }),
        _ => {
            Err(error(&format!("a message must be {{\"role\": \"user\", \"content\": \"…\"}}, not {}", value.shown())))
        }
    }
}

/// The entries other than role and content.
fn others(value: &Value) -> serde_json::Map<String, serde_json::Value> {
    let Value::Dict(entries) = value else { return serde_json::Map::new() };
    let entries = entries.iter().map(|(key, value)| (key.text(), value));
    let others = entries.filter(|(key, _)| !matches!(&**key, "role" | "content"));
    others.map(|(key, value)| (key.into_owned(), value.to_json())).collect()
}
