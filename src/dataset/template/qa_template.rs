//! A question and its answer as text, as one message or as turns of a chat: lm-evaluation-harness's way of laying out
//! prompts.

use serde::Deserialize;

use crate::conversation::is_space;
use crate::conversation::{ChatMessage, Conversation};
use crate::dataset::dataset_error;
use crate::dataset::prompter::InferencerKind;
use crate::dataset::rows::{Fields, Row, Value};
use crate::dataset::template::qa_turn::{QaMessage, begun, text, touch};
use crate::dataset::template::row_template::{ExampleSupport, RowTemplate, TemplateInput};
use crate::dataset::template::template_kind::{TemplateKeys, TemplateKind};
use crate::dataset::template::{
    Filler, Layout, MAX_ROW_BYTES, Room, Substitution, TemplateField, TemplateText, fields,
};
use crate::error::Result;

/// A row's question and answer, and what separates them. Its keys are those of lm-evaluation-harness's tasks, with
/// fields such as `{question}` instead of Jinja. Values are never searched for fields.
///
/// ```
/// use metatok::dataset::template::{Layout, QaTemplate};
/// use metatok::dataset::Value;
/// use metatok::{Conversation, Row};
///
/// let template = r#"{"doc_to_text": "Q: {question}\nA:", "doc_to_target": "{answer}"}"#;
/// let mut template = QaTemplate::new(&Value::from_json(template)?)?;
/// let row = |json: &str| Row::from_json(json);
/// let example = template.example(&row(r#"{"question": "1+1=?", "answer": "2"}"#)?)?;
/// let text = template.prompt(&row(r#"{"question": "2+2=?"}"#)?, &example)?;
/// assert_eq!(text, Conversation::Text("Q: 1+1=?\nA: 2\n\nQ: 2+2=?\nA:".into()));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QaTemplate {
    /// The question.
    pub doc_to_text: String,
    /// The answer, in examples.
    #[serde(default)]
    pub doc_to_target: String,
    /// What comes before everything; in a chat it is the system message.
    #[serde(default)]
    pub description: String,
    /// What each answer begins with; the model continues after it.
    #[serde(default)]
    pub gen_prefix: String,
    /// What separates a question from its answer, in a text.
    #[serde(default = "space")]
    pub target_delimiter: String,
    /// What follows an example, in a text.
    #[serde(default = "empty_line")]
    pub fewshot_delimiter: String,
    /// How all of it is laid out.
    #[serde(default)]
    pub layout: Layout,
    /// How many bytes the texts of a prompt may have after they are filled.
    #[serde(skip, default = "max_row_bytes")]
    pub max_row_bytes: usize,
}

impl QaTemplate {
    /// Reads a dict of its keys.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] for something that is not a dict, and for unknown keys.
    pub fn new(template: &Value) -> Result<Self> {
        serde_json::from_value(template.to_json()).map_err(|error| dataset_error(&error.to_string()))
    }

    fn own_texts(&self) -> [TemplateText; 4] {
        [
            TemplateText::new("template.description", &self.description),
            TemplateText::new("template.doc_to_text", &self.doc_to_text),
            TemplateText::new("template.gen_prefix", &self.gen_prefix),
            TemplateText::new("template.doc_to_target", &self.doc_to_target),
        ]
    }

    /// The fields of a row that is asked.
    pub fn fields(&self) -> Vec<TemplateField> {
        fields::of_texts(&self.own_texts()[..3])
    }

    /// An example of a row, to put before a prompt: messages with [`Layout::Turns`], else text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::RowTooLong`].
    pub fn example(&self, row: &Row) -> Result<Conversation> {
        let room = Room::new(self.max_row_bytes);
        let messages = self.turn(&self.filler(row, &room), true)?;
        Ok(match self.layout {
            Layout::Turns => Conversation::Messages(messages.into_iter().map(QaMessage::into_message).collect()),
            Layout::Text | Layout::Chat => Conversation::Text(text(&messages)),
        })
    }

    /// A prompt to continue, after [examples](Self::example).
    ///
    /// # Errors
    /// [`crate::ErrorKind::RowTooLong`], and [`crate::ErrorKind::Dataset`] for examples with another layout.
    pub fn prompt(&self, row: &Row, examples: &Conversation) -> Result<Conversation> {
        let room = Room::new(self.max_row_bytes);
        let filler = self.filler(row, &room);
        let description = filler.fill(self.description.clone())?;
        let mut turn = self.turn(&filler, false)?;
        let mut messages = Vec::new();
        match (self.layout, examples) {
            (Layout::Text, Conversation::Text(examples)) => {
                return Ok(Conversation::Text(description + examples + &text(&turn)));
            }
            (Layout::Chat, Conversation::Text(examples)) => turn[0].content.insert_str(0, examples),
            (Layout::Turns, Conversation::Messages(examples)) => messages.extend(examples.iter().cloned()),
            (Layout::Turns, examples) if examples.is_empty() => {}
            _ => return Err(dataset_error("the examples have a different layout from the prompt")),
        }
        if !description.is_empty() {
            messages.insert(0, ChatMessage::new("system", description));
        }
        messages.extend(turn.into_iter().map(QaMessage::into_message));
        Ok(Conversation::Messages(messages))
    }

    /// A text to score: a prompt, and then a [continuation](Self::continuation).
    ///
    /// # Errors
    /// The same as for [`Self::prompt`].
    pub fn label_prompt(&self, row: &Row, examples: &Conversation, label: &Value) -> Result<Conversation> {
        let mut prompt = self.prompt(row, examples)?;
        let continuation = self.continuation(label);
        match &mut prompt {
            Conversation::Text(text) => text.push_str(&continuation),
            Conversation::Messages(messages) => match messages.last_mut() {
                Some(last) if last.role == "assistant" => {
                    let begun = last.content.texts().collect::<String>();
                    last.content = (begun + &continuation).into();
                }
                _ => messages.push(ChatMessage::new("assistant", continuation)),
            },
            Conversation::List(_) | Conversation::Chat(_) => {}
        }
        Ok(prompt)
    }

    /// What is scored for a label: the label, after the delimiter if there is one.
    pub fn continuation(&self, label: &Value) -> String {
        let begins_answer =
            self.layout != Layout::Text && (self.gen_prefix.is_empty() || self.gen_prefix.ends_with(is_space));
        let delimiter = if begins_answer { "" } else { &self.target_delimiter };
        format!("{delimiter}{}", label.text())
    }

    fn filler<'r>(&self, row: &'r Row, room: &'r Room) -> Filler<'r> {
        Filler { fields: Fields::new(row), how: Substitution::SinglePass, room }
    }

    /// A question, and its answer if it is an example: `build_qa_turn`.
    fn turn(&self, filler: &Filler<'_>, is_example: bool) -> Result<Vec<QaMessage<'_>>> {
        let question = filler.fill(self.doc_to_text.clone())?;
        let answer = if is_example { filler.fill(self.doc_to_target.clone())? } else { String::new() };
        let prefix = filler.fill(self.gen_prefix.clone())?;
        let has_delimiter = match prefix.is_empty() {
            true => !answer.is_empty(),
            false => !question.is_empty() && touch(&question, &prefix),
        };
        let delimiter = if has_delimiter { self.target_delimiter.as_str() } else { "" };
        let mut messages = vec![QaMessage { role: "user", content: question, delimiter }];
        if !answer.is_empty() {
            let delimiter = self.fewshot_delimiter.as_str();
            messages.push(QaMessage { role: "assistant", content: begun(prefix, &answer), delimiter });
        } else if !prefix.is_empty() {
            messages.push(QaMessage { role: "assistant", content: prefix, delimiter: "" });
        }
        Ok(messages)
    }
}

impl RowTemplate for QaTemplate {
    fn describe(&self) -> &'static str {
        "a template of questions and answers"
    }

    fn fill(&self, input: &TemplateInput<'_>) -> Result<Conversation> {
        self.prompt(input.row, input.examples)
    }

    fn fill_for_label(&self, input: &TemplateInput<'_>, label: &Value, _: bool) -> Result<Conversation> {
        self.label_prompt(input.row, input.examples, label)
    }

    fn continuation(&self, label: &Value) -> Option<String> {
        Some(Self::continuation(self, label))
    }

    fn example_support(&self) -> ExampleSupport {
        ExampleSupport::Own("QaTemplate writes examples itself, with doc_to_target; remove ice_template")
    }

    fn example(&self, row: &Row, _: Option<&Value>) -> Result<Conversation> {
        Self::example(self, row)
    }

    fn join_examples(&self, examples: Vec<Conversation>, _: (&str, &str)) -> Result<Conversation> {
        examples.into_iter().try_fold(Conversation::Text(String::new()), Conversation::join)
    }

    fn messages_before_examples(&self, row: &Row) -> Result<Option<usize>> {
        if self.layout != Layout::Turns {
            return Ok(None);
        }
        let room = Room::new(self.max_row_bytes);
        let description = self.filler(row, &room).fill(self.description.clone())?;
        Ok(Some(usize::from(!description.is_empty())))
    }

    fn is_string(&self) -> bool {
        self.layout == Layout::Text
    }

    fn fields(&self) -> Vec<TemplateField> {
        Self::fields(self)
    }

    fn example_fields(&self) -> Vec<TemplateField> {
        fields::of_texts(&self.own_texts()[1..])
    }

    fn texts(&self) -> Vec<TemplateText> {
        self.own_texts().into()
    }

    fn layout(&self) -> Option<Layout> {
        Some(self.layout)
    }

    fn set_layout(&mut self, layout: Layout) {
        self.layout = layout;
    }

    fn set_max_row_bytes(&mut self, bytes: usize) {
        self.max_row_bytes = bytes;
    }

    fn check_use(&self, kind: InferencerKind, has_examples: bool) -> Result<()> {
        if !matches!(kind, InferencerKind::Generate | InferencerKind::Score) {
            let what = "QaTemplate is for GenInferencer, and for PPLInferencer, which scores the answer";
            return Err(dataset_error(what));
        }
        if has_examples && self.doc_to_target.is_empty() {
            let what = "there are examples, but no doc_to_target for their answers";
            return Err(dataset_error(what));
        }
        Ok(())
    }
}

pub(super) const KIND: TemplateKind = TemplateKind { class: "QaTemplate", keys: &[], read };

fn read(template: &Value, keys: &mut TemplateKeys) -> Result<Box<dyn RowTemplate>> {
    // It fills in one pass anyway.
    keys.substitution.take_if(|how| *how == Substitution::SinglePass);
    Ok(QaTemplate::new(template)?.into())
}

fn space() -> String {
    " ".into()
}

fn empty_line() -> String {
    "\n\n".into()
}

fn max_row_bytes() -> usize {
    MAX_ROW_BYTES
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(question: &str, answer: &str) -> Row {
        Row::new(vec![("q".to_owned(), question.into()), ("a".to_owned(), answer.into())])
    }

    /// The contents of a prompt in a layout: each message, or the single text.
    fn messages(template: &QaTemplate, layout: Layout, example: &Row, asked: &Row) -> Vec<String> {
        let template = QaTemplate { layout, ..template.clone() };
        let prompt = template.example(example).and_then(|example| template.prompt(asked, &example));
        match prompt.unwrap_or_else(|error| panic!("{error}")) {
            Conversation::Text(text) => vec![text],
            Conversation::Messages(messages) => {
                messages.iter().map(|message| message.content.texts().collect()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn layouts_have_the_same_text(question in "[a{}q \n]{0,8}", answer in "[a{}q \n]{1,8}", begins: bool) {
            let prefix = if begins { "So" } else { "" };
            let template = format!(r#"{{"description": "D", "doc_to_text": "{{q}}:", "doc_to_target": "{{a}}", "gen_prefix": "{prefix}"}}"#);
            let template = Value::from_json(&template).and_then(|template| QaTemplate::new(&template));
            let template = template.unwrap_or_else(|error| panic!("{error}"));
            let messages = |layout| messages(&template, layout, &row(&question, &answer), &row(&question, ""));
            let (text, chat, turns) = (messages(Layout::Text).concat(), messages(Layout::Chat), messages(Layout::Turns));
            let delimiter = if begins { " " } else { "" };
            prop_assert_eq!(&text, &chat.join("|").replacen("D|", "D", 1).replace("|So", &format!("{delimiter}So")));
            let examples = format!("{} {}\n\n", turns[1], turns[2]);
            prop_assert_eq!(&chat[1], &(examples + &turns[3]));
            prop_assert_eq!(chat.len() + 2, turns.len());
        }
    }
}
