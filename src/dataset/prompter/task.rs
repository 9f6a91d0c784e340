//! A dataset's task: its templates and examples together make prompts of rows.

use crate::conversation::{Conversation, Item};
use crate::dataset::retriever::{RetrieverConfig, no_such_example};
use crate::dataset::rows::{Row, Value};
use crate::dataset::template::{AnyTemplate, Layout, MessageTemplate, QaTemplate, Room};
use crate::dataset::{row_error, template_error};
use crate::error::{At, Result, Setting, way_out};

/// How rows become prompts: `infer_cfg` and `reader_cfg` of OpenCompass, but for the rows themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The columns that a chat is made of; templates take every column.
    pub input_columns: Vec<String>,
    /// The column of the answer.
    pub output_column: Option<String>,
    /// How an example is written.
    pub ice_template: Option<AnyTemplate>,
    /// How the prompt is written.
    pub prompt_template: Option<AnyTemplate>,
    /// Where examples come from, and what stands between them.
    pub retriever: RetrieverConfig,
    /// What stands in the place of the answer where it is masked.
    pub gen_field_replace_token: String,
    /// Whether what AISBench loses silently is lost, and not an error: examples for a template that has no
    /// place for them, text outside the tags of a multimodal content, and its parts beside a prompt.
    pub compat: bool,
    /// How many bytes the texts of a row's prompts may have together; its templates have a limit of their own, see
    /// [`Dataset::set_max_row_bytes`](crate::Dataset::set_max_row_bytes).
    pub max_row_bytes: usize,
}

impl Task {
    /// The in-context examples of these rows of the training set, joined as the templates want it.
    /// OpenCompass: `generate_ice`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] without an `ice_template`, and for an example that does not exist.
    pub fn examples(&self, ids: &[i64], train: &[Row]) -> Result<Conversation> {
        if let Some(template @ (AnyTemplate::Turns(_) | AnyTemplate::Multimodal(_))) = &self.prompt_template
            && !ids.is_empty()
            && !self.compat
        {
            let what = format!("{} has no place for examples", template.describe());
            let way_out = way_out!["take ZeroRetriever (", Setting::COMPAT, " leaves them out, as AISBench does)"];
            return Err(template_error(&what).with_way_out(way_out));
        }
        if let Some(AnyTemplate::Qa(template)) = &self.prompt_template {
            return self.example_turns(template, ids, train);
        }
        let template = match &self.ice_template {
            Some(AnyTemplate::Messages(template)) => return self.example_messages(template, ids, train),
            Some(AnyTemplate::Prompt(template)) => template,
            Some(template @ (AnyTemplate::Turns(_) | AnyTemplate::Multimodal(_) | AnyTemplate::Qa(_))) => {
                let what =
                    format!("{} cannot be an ice_template; write the examples as a dialogue", template.describe());
                return Err(template_error(&what));
            }
            None if ids.is_empty() => return Ok(Conversation::Text(self.retriever.separators().1.to_owned())),
            None => return Err(template_error("there are examples to show and no ice_template that says how")),
        };
        let (separator, eos) = if template.is_dialogue() { ("", "") } else { self.retriever.separators() };
        let (mut examples, room) = (Vec::with_capacity(ids.len()), Room::new(self.max_row_bytes));
        for &id in ids {
            let row = row_of(id, train)?;
            let label = self.label(row).at(format_args!("example {id}"))?;
            let example = template.example(row, label).at(format_args!("ice_template: example {id}"))?;
            room.take_of(example.text_bytes(), "the examples")?;
            examples.push(example);
        }
        if !matches!(examples.first(), Some(Conversation::List(_))) {
            let texts = examples.iter().map(|example| match example {
                Conversation::Text(text) => Ok(text.as_str()),
                _ => Err(template_error("some examples are strings and some dialogues; make all the same")),
            });
            return Ok(Conversation::Text(texts.collect::<Result<Vec<_>>>()?.join(separator) + eos));
        }
        let mut list = Vec::new();
        for example in examples {
            match example {
                Conversation::List(items) => list.extend(items),
                Conversation::Text(text) if text.is_empty() => {}
                Conversation::Text(text) => list.push(Item::Text(text)),
                Conversation::Messages(_) => return Err(template_error("messages do not mix with dialogues")),
            }
            if !separator.is_empty() {
                list.push(Item::Text(separator.to_owned()));
            }
        }
        list.push(Item::Text(eos.to_owned()));
        Ok(Conversation::List(list))
    }

    fn example_messages(&self, template: &MessageTemplate, ids: &[i64], train: &[Row]) -> Result<Conversation> {
        let (mut messages, room) = (Vec::new(), Room::new(self.max_row_bytes));
        for &id in ids {
            let example = template.prompt(row_of(id, train)?, &Conversation::Messages(Vec::new()));
            let example = example.at(format_args!("ice_template: example {id}"))?;
            room.take_of(example.text_bytes(), "the examples")?;
            if let Conversation::Messages(example) = example {
                messages.extend(example);
            }
        }
        Ok(Conversation::Messages(messages))
    }

    /// Examples as the prompt's own template lays them out.
    fn example_turns(&self, template: &QaTemplate, ids: &[i64], train: &[Row]) -> Result<Conversation> {
        let (mut examples, room) = (Conversation::Text(String::new()), Room::new(self.max_row_bytes));
        for &id in ids {
            let example = template.example(row_of(id, train)?).at(format_args!("prompt_template: example {id}"))?;
            room.take_of(example.text_bytes(), "the examples")?;
            examples = examples.join(example)?;
        }
        Ok(examples)
    }

    /// A prompt to continue, the answer masked.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] where the templates do not fit together, or the row.
    pub fn prompt(&self, row: &Row, examples: &Conversation) -> Result<Conversation> {
        match self.template()? {
            AnyTemplate::Messages(template) => template.prompt(row, examples),
            AnyTemplate::Turns(template) => template.prompt(row),
            AnyTemplate::Multimodal(template) => template.prompt(row, self.compat),
            AnyTemplate::Qa(template) => template.prompt(row, examples),
            AnyTemplate::Prompt(template) => {
                let masked =
                    self.output_column.as_deref().map(|column| (column, self.gen_field_replace_token.as_str()));
                template.prompt(row, masked, examples)
            }
        }
    }

    /// A text to score for a label; nothing is masked.
    ///
    /// # Errors
    /// As [`Self::prompt`].
    pub fn label_prompt(
        &self,
        row: &Row,
        examples: &Conversation,
        label: &Value,
        keep_sep_token: bool,
    ) -> Result<Conversation> {
        match self.template()? {
            // The reference ignores examples and label here.
            AnyTemplate::Messages(template) => template.prompt(row, &Conversation::Text(String::new())),
            template @ (AnyTemplate::Turns(_) | AnyTemplate::Multimodal(_)) => {
                Err(template_error(&format!("{} has no labels; write a dialogue for each label", template.describe())))
            }
            AnyTemplate::Prompt(template) => template.label_prompt(row, examples, label, keep_sep_token),
            AnyTemplate::Qa(template) => template.label_prompt(row, examples, label),
        }
    }

    /// The labels of a scoring task: those of the templates, or the answers of the test set, each once.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] if the template is one dialogue, which has none: the reference then takes
    /// the names of its sections.
    pub fn labels(&self, test: &[Row]) -> Result<Vec<Value>> {
        let ice = self.ice_template.as_ref().filter(|template| template.ice_token().is_some());
        for template in self.prompt_template.iter().chain(ice) {
            if template.is_dialogue() {
                return Err(template_error(
                    "one dialogue for all has no labels; write a template for each label, or list the labels",
                ));
            }
            if let Some(labels) = template.labels() {
                return Ok(labels);
            }
        }
        let mut labels: Vec<Value> = Vec::new();
        let answers = test.iter().filter_map(|row| row.get(self.output_column.as_deref()?));
        for answer in answers {
            if matches!(answer, Value::List(_) | Value::Dict(_)) {
                return Err(row_error(&format!("{} is no label: it must be a string or a number", answer.repr())));
            }
            if !labels.iter().any(|label| label.equals(answer)) {
                labels.push(answer.clone());
            }
        }
        Ok(labels)
    }

    /// The template that prompts are made by.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] if there is none, or no place in it for the examples.
    pub fn template(&self) -> Result<&AnyTemplate> {
        let lacks = |name: &str| {
            template_error(&format!(
                "{name} has no ice_token, which says where the examples go; write ice_token = \"</E>\" and put </E> into the template"
            ))
        };
        match (&self.prompt_template, &self.ice_template) {
            (Some(AnyTemplate::Qa(_)), Some(_)) => {
                Err(template_error("QaTemplate writes examples itself, by doc_to_target; leave ice_template out"))
            }
            (Some(template), Some(_)) if template.ice_token().is_none() => Err(lacks("prompt_template")),
            (Some(template), _) => Ok(template),
            (None, Some(template)) if template.ice_token().is_none() => Err(lacks("ice_template")),
            (None, Some(template)) => Ok(template),
            (None, None) => Err(template_error("there is neither a prompt_template nor an ice_template")),
        }
    }

    /// Whether its questions can be laid out in several ways, see [`Layout`].
    pub(crate) fn has_layouts(&self) -> bool {
        matches!(self.prompt_template, Some(AnyTemplate::Qa(_)))
    }

    /// The template that lays out a chat of questions and answers, where there is one.
    pub(crate) fn qa_chat(&self) -> Option<&QaTemplate> {
        match &self.prompt_template {
            Some(AnyTemplate::Qa(template)) if template.layout != Layout::Text => Some(template),
            _ => None,
        }
    }

    /// What is scored for a label, where the template says so.
    pub(crate) fn continuation(&self, label: &Value) -> Option<String> {
        match &self.prompt_template {
            Some(AnyTemplate::Qa(template)) => Some(template.continuation(label)),
            _ => None,
        }
    }

    /// What parts a context from an answer.
    pub(crate) fn sep_token(&self) -> Option<&str> {
        self.prompt_template.iter().chain(&self.ice_template).find_map(|template| match template {
            AnyTemplate::Prompt(template) => template.sep_token.as_deref(),
            AnyTemplate::Messages(_) | AnyTemplate::Turns(_) | AnyTemplate::Multimodal(_) | AnyTemplate::Qa(_) => None,
        })
    }

    fn label<'r>(&self, row: &'r Row) -> Result<&'r Value> {
        let column = self.output_column.as_deref().ok_or_else(|| template_error("examples need an output_column"))?;
        row.get(column).ok_or_else(|| row.no_column(column)).at("output_column")
    }
}

/// A row by its number, from the end if that is negative.
fn row_of(id: i64, train: &[Row]) -> Result<&Row> {
    let at = if id < 0 { id + train.len() as i64 } else { id };
    usize::try_from(at).ok().and_then(|at| train.get(at)).ok_or_else(|| no_such_example(id, train.len()))
}
