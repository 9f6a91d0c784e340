//! Rows as chats: OpenCompass's `ChatInferencer`, which generates the model's turns one by one.

use crate::conversation::{ChatMessage, ContentRef, Conversation, Item, Message, openai_role};
use crate::dataset::prompter::Task;
use crate::dataset::rows::{Row, Value, listed};
use crate::dataset::template::{TemplateInput, give_sources, message};
use crate::dataset::{dataset_error, row_error};
use crate::error::{At, Result};

impl Task {
    /// The chat of a row, with the model's own turns filled with the row's answers. Only the input and output columns
    /// of the row count. If all of them are lists, it is one exchange after the other, as many as the shortest list
    /// has.
    ///
    /// ```
    /// use metatok::{Dataset, Row};
    ///
    /// let dataset = Dataset::parse("x.toml", br#"
    ///     reader_cfg = { input_columns = ["question"], output_column = "answer" }
    ///     infer_cfg = { inferencer = { type = "ChatInferencer" } }
    /// "#)?;
    /// let row = Row::from_json(r#"{"question": ["1+1=?", "and 1 more?"], "answer": ["2", "3"]}"#)?;
    /// let chat = dataset.task.chat(&row)?;
    /// assert_eq!(chat.iter().map(|message| &*message.role).collect::<Vec<_>>(), ["user", "assistant", "user", "assistant"]);
    /// assert_eq!(chat[2].content, "and 1 more?");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] if the columns contain neither strings, nor lists of strings, nor a chat;
    /// [`crate::ErrorKind::Row`] for an item of a list that is no turn.
    pub fn chat(&self, row: &Row) -> Result<Vec<ChatMessage>> {
        let is_used = |name: &str| {
            self.input_columns.iter().any(|column| column == name) || self.output_column.as_deref() == Some(name)
        };
        let used: Vec<(&str, &Value)> = row.iter().filter(|(name, _)| is_used(name)).collect();
        if used.iter().all(|(_, value)| matches!(value, Value::Text(_))) {
            return self.exchange(&owned(used.into_iter().map(|(name, value)| (name, value.clone()))));
        }
        if let Some(lists) = used.iter().map(|(name, value)| Some((*name, texts(value)?))).collect::<Option<Vec<_>>>() {
            let turns = lists.iter().map(|(_, list)| list.len()).min().unwrap_or(0);
            let exchange = |turn: usize| {
                let row = owned(lists.iter().map(|(name, list)| (*name, list[turn].clone())));
                self.exchange(&row).at(format_args!("turn {turn}"))
            };
            return Ok((0..turns).map(exchange).collect::<Result<Vec<_>>>()?.concat());
        }
        let column = match &self.input_columns[..] {
            [column] if matches!(row.get(column), Some(Value::List(_))) => column,
            columns if columns.iter().any(|column| column == "dialogue") => "dialogue",
            _ => {
                return Err(dataset_error(
                    "this row cannot become a chat: its input columns and its output_column must all be strings, or all lists of strings, or a single input column or one named \"dialogue\" must list {role, content} messages",
                ));
            }
        };
        let Some(Value::List(list)) = row.get(column) else {
            return Err(row_error(&format!("column {column:?} is not a list of {{role, content}} messages")));
        };
        if let [Value::Text(_), ..] = list[..] {
            strings_only(&used)?;
        }
        let messages =
            list.iter().enumerate().map(|(i, value)| message(value).at(format_args!("column {column:?}[{i}]")));
        let mut messages = messages.collect::<Result<Vec<_>>>()?;
        if !self.compat {
            give_sources(&mut messages, row)?;
        }
        Ok(messages)
    }

    /// A warning about a row whose turns are in lists of different lengths, because the longer ones lose some.
    pub fn uneven_turns(&self, row: &Row) -> Option<String> {
        let columns: Vec<&str> = match self.prompt_template.as_ref().and_then(|template| template.turn_columns()) {
            Some(columns) => columns.into(),
            None => self.input_columns.iter().chain(&self.output_column).map(String::as_str).collect(),
        };
        let length = |column: &str| match row.get(column) {
            Some(Value::List(list)) => Some((column.to_owned(), list.len())),
            _ => None,
        };
        // A list of messages is the whole chat.
        let is_message = |value: &Value| matches!(value, Value::Dict(_));
        let is_chat = |column: &&str| matches!(row.get(column), Some(Value::List(list)) if list.iter().any(is_message));
        if columns.iter().any(is_chat) {
            return None;
        }
        let lengths: Vec<(String, usize)> = columns.into_iter().filter_map(length).collect();
        if lengths.iter().all(|(_, length)| *length == lengths[0].1) {
            return None;
        }
        let listed: Vec<String> = lengths.iter().map(|(column, length)| format!("{column} {length}")).collect();
        Some(format!(
            "the lists of the turns differ in length ({}); the rest of the longer ones is left out",
            listed.join(", ")
        ))
    }

    /// A warning about a row of several turns without answers, for prompts whose earlier turns have the dataset's.
    pub fn no_answers(&self, row: &Row) -> Option<String> {
        let (question, answer) = match (&self.prompt_template, &self.ice_template, &self.input_columns[..]) {
            (Some(template), ..) => match template.turn_columns() {
                Some([question, answer]) => (question, Some(answer)),
                None => (self.input_columns.first()?.as_str(), self.output_column.as_deref()),
            },
            (None, None, [question]) => (question.as_str(), self.output_column.as_deref()),
            _ => return None,
        };
        let has_turns = matches!(row.get(question), Some(Value::List(turns))
            if turns.len() > 1 && turns.iter().all(|turn| turn.as_text().is_some()));
        let lacking = match answer {
            _ if !has_turns => return None,
            Some(answer) if row.get(answer).is_some() => return None,
            Some(answer) => format!("there is no column {answer:?} (columns: {})", listed(row.names())),
            None => "reader_cfg names no output_column".to_owned(),
        };
        Some(format!("{lacking}, so the answers in earlier turns are empty"))
    }

    /// A question and its answer.
    fn exchange(&self, row: &Row) -> Result<Vec<ChatMessage>> {
        let answer = || {
            let answer = self.output_column.as_deref().and_then(|column| row.get(column));
            ChatMessage::new("assistant", answer.map(|answer| answer.text().into_owned()).unwrap_or_default())
        };
        let Some(template) = &self.prompt_template else {
            let [column] = &self.input_columns[..] else {
                return Err(dataset_error(&format!(
                    "without a prompt_template there must be one input column, the user's text, but there are {}",
                    self.input_columns.len()
                )));
            };
            let question = row.get(column).ok_or_else(|| row.no_column(column))?;
            return Ok(vec![ChatMessage::new("user", question.text()), answer()]);
        };
        let none = Conversation::Text(String::new());
        // Not masked, as in the reference: the answer is the model's earlier turn.
        let prompt = template.fill(&TemplateInput { row, examples: &none, masked: None, compat: self.compat })?;
        let mut chat = prompt.to_chat();
        if chat.last().is_none_or(|message| message.role != "assistant") {
            chat.push(answer());
        }
        Ok(chat)
    }
}

impl Conversation {
    /// The conversation as OpenAI-style messages, as OpenCompass's `ChatInferencer` creates them: strings are the
    /// user's, SYSTEM, HUMAN and BOT become system, user and assistant, and other roles are left out.
    pub fn to_chat(&self) -> Vec<ChatMessage> {
        let items = match self {
            Self::Text(text) => return vec![ChatMessage::new("user", text.as_str())],
            Self::Messages(messages) => return messages.clone(),
            Self::Chat(chat) => return chat.messages.clone(),
            Self::List(items) => items,
        };
        let message = |item: &Item| match item {
            Item::Text(text) if !text.is_empty() => Some(ChatMessage::new("user", text.as_str())),
            Item::Message(Message { role, prompt, .. }) => {
                let role = openai_role(role)?;
                Some(ChatMessage::new(role, prompt.content_ref().map_or_else(|| "".into(), ContentRef::to_content)))
            }
            Item::Text(_) | Item::Marker(_) => None,
        };
        items.iter().filter_map(message).collect()
    }
}

fn owned<'r>(columns: impl Iterator<Item = (&'r str, Value)>) -> Row {
    Row::new(columns.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The items of a list of strings.
fn texts(value: &Value) -> Option<&[Value]> {
    match value {
        Value::List(list) if list.iter().all(|item| matches!(item, Value::Text(_))) => Some(list),
        _ => None,
    }
}

/// Names the value that keeps columns from being lists of strings, the turns of a chat.
fn strings_only(columns: &[(&str, &Value)]) -> Result<()> {
    for (column, value) in columns {
        let Value::List(items) = value else {
            let what = format!("column {column:?} must be a list of strings, as another one of the chat is, not");
            return Err(row_error(&format!("{what} {}", value.shown())));
        };
        if let Some(i) = items.iter().position(|item| item.as_text().is_none()) {
            let what = format!("a turn must be a string, as the first one is, not {}", items[i].shown());
            return Err(row_error(&what)).at(format_args!("column {column:?}[{i}]"));
        }
    }
    Ok(())
}
