//! A dataset's task: its templates and examples together turn rows into prompts.

use crate::conversation::Conversation;
use crate::dataset::prompter::MaxOutLen;
use crate::dataset::retriever::{RetrieverConfig, RetrieverKind, no_such_example};
use crate::dataset::rows::{Row, Value};
use crate::dataset::template::{ExampleSupport, Layout, QaTemplate, Room, RowTemplate, TemplateInput, no_ice_template};
use crate::dataset::{dataset_error, row_error};
use crate::error::{At, Result, Setting, way_out};

const ICE_TEMPLATE: &str = "ice_template";

/// How rows become prompts: `infer_cfg` and `reader_cfg` of OpenCompass, except for the rows themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The columns that a chat is built from. Templates use every column.
    pub input_columns: Vec<String>,
    /// The column of the answer.
    pub output_column: Option<String>,
    /// How an example is written.
    pub ice_template: Option<Box<dyn RowTemplate>>,
    /// How the prompt is written.
    pub prompt_template: Option<Box<dyn RowTemplate>>,
    /// Where examples come from, and what separates them.
    pub retriever: RetrieverConfig,
    /// What replaces the answer when it is masked.
    pub gen_field_replace_token: String,
    /// Whether to lose what AISBench loses silently, instead of an error: examples for a template that has no place for
    /// them, text outside the tags of a multimodal content, and its parts next to a prompt.
    pub compat: bool,
    /// How many bytes the texts of a row's prompts may have together. Its templates have their own limit, see
    /// [`Dataset::set_max_row_bytes`](crate::Dataset::set_max_row_bytes).
    pub max_row_bytes: usize,
}

/// In-context examples side by side.
#[derive(Debug, Clone)]
pub(super) struct JoinedExamples {
    pub(super) joined: Conversation,
    /// How many messages each has.
    pub(super) messages: Vec<usize>,
}

impl Task {
    pub(crate) fn templates_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn RowTemplate>> {
        self.ice_template.iter_mut().chain(&mut self.prompt_template)
    }

    /// The in-context examples from these rows of the training set, joined as the templates require. OpenCompass:
    /// `generate_ice`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] without an `ice_template`, and for an example that does not exist.
    pub fn examples(&self, ids: &[i64], train: &[Row]) -> Result<Conversation> {
        Ok(self.joined_examples(ids, train)?.joined)
    }

    /// The in-context examples from these rows, joined, and how many messages each has.
    pub(super) fn joined_examples(&self, ids: &[i64], train: &[Row]) -> Result<JoinedExamples> {
        self.check_place_for_examples(ids)?;
        let Some((name, template)) = self.example_template() else {
            if ids.is_empty() {
                let joined = Conversation::Text(self.retriever.separators().1.to_owned());
                return Ok(JoinedExamples { joined, messages: Vec::new() });
            }
            return Err(dataset_error("there are examples, but no ice_template to write them with"));
        };
        if name == ICE_TEMPLATE && template.example_support() != ExampleSupport::Placed {
            return Err(no_ice_template(template.describe()));
        }
        let (mut examples, room) = (Vec::with_capacity(ids.len()), Room::new(self.max_row_bytes));
        for &id in ids {
            let row = row_of(id, train)?;
            let label = template.example_needs_label().then(|| self.label(row));
            let label = label.transpose().at(format_args!("example {id}"))?;
            let example = template.example(row, label).at(format_args!("{name}: example {id}"))?;
            room.take_of(example.bytes(), "the examples")?;
            examples.push(example);
        }
        let messages = examples.iter().map(|example| example.messages().map_or(0, <[_]>::len)).collect();
        Ok(JoinedExamples { joined: template.join_examples(examples, self.retriever.separators())?, messages })
    }

    fn check_place_for_examples(&self, ids: &[i64]) -> Result<()> {
        let has_no_place = |template: &&dyn RowTemplate| template.example_support() == ExampleSupport::None;
        match self.prompt_template.as_deref().filter(has_no_place) {
            Some(template) if !ids.is_empty() && !self.compat => {
                let way_out = way_out!["use ZeroRetriever (", Setting::COMPAT, " leaves them out, as AISBench does)"];
                let what = format!("{} has no place for examples", template.describe());
                Err(dataset_error(&what).with_way_out(way_out))
            }
            _ => Ok(()),
        }
    }

    /// The template of the examples, and its key.
    pub(crate) fn example_template(&self) -> Option<(&'static str, &dyn RowTemplate)> {
        let writes_own = |template: &&dyn RowTemplate| matches!(template.example_support(), ExampleSupport::Own(_));
        match self.prompt_template.as_deref().filter(writes_own) {
            Some(own) => Some(("prompt_template", own)),
            None => Some((ICE_TEMPLATE, self.ice_template.as_deref()?)),
        }
    }

    /// A prompt to continue, the answer masked.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] if the templates do not fit together; an error of the row if it does not fit them.
    pub fn prompt(&self, row: &Row, examples: &Conversation) -> Result<Conversation> {
        let masked = self.output_column.as_deref().map(|column| (column, self.gen_field_replace_token.as_str()));
        self.template()?.fill(&TemplateInput { row, examples, masked, compat: self.compat })
    }

    /// A text to score for a label. Nothing is masked.
    ///
    /// # Errors
    /// The same as for [`Self::prompt`].
    pub fn label_prompt(
        &self,
        row: &Row,
        examples: &Conversation,
        label: &Value,
        keep_sep_token: bool,
    ) -> Result<Conversation> {
        let input = TemplateInput { row, examples, masked: None, compat: self.compat };
        self.template()?.fill_for_label(&input, label, keep_sep_token)
    }

    /// The labels of a scoring task: those of the templates, or the distinct answers of the test set.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] if the template is a single dialogue, which has no labels. The reference uses the
    /// names of its sections.
    pub fn labels(&self, test: &[Row]) -> Result<Vec<Value>> {
        let ice = self.ice_template.as_ref().filter(|template| template.ice_token().is_some());
        for template in self.prompt_template.iter().chain(ice) {
            if template.is_dialogue() {
                return Err(dataset_error(
                    "a single dialogue has no labels; write a template for each label, or list the labels",
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
                return Err(row_error(&format!("{} is not a label: it must be a string or a number", answer.shown())));
            }
            if !labels.iter().any(|label| label.equals(answer)) {
                labels.push(answer.clone());
            }
        }
        Ok(labels)
    }

    /// The template of the prompts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] if there is none, or if it has no place for the examples.
    pub fn template(&self) -> Result<&dyn RowTemplate> {
        let lacks = |name: &str| {
            dataset_error(&format!(
                "{name} has no ice_token, which marks where the examples go; set ice_token = \"</E>\" and put </E> in the template, as an item of its own in a list of messages"
            ))
        };
        match (self.prompt_template.as_deref(), self.ice_template.as_deref()) {
            (Some(template), Some(_)) => match (template.example_support(), template.ice_token()) {
                (ExampleSupport::Own(why), _) => Err(dataset_error(why)),
                // As AISBench; with a token, the examples are what cannot be placed.
                (ExampleSupport::None, None) => Err(dataset_error(&format!(
                    "{} has no place for the examples of ice_template; remove ice_template",
                    template.describe()
                ))),
                _ if self.has_examples_place(template) => Ok(template),
                _ => Err(lacks("prompt_template")),
            },
            (Some(template), None) => Ok(template),
            (None, Some(template)) if template.example_support() == ExampleSupport::None => {
                Err(no_ice_template(template.describe()))
            }
            (None, Some(template)) if self.has_examples_place(template) => Ok(template),
            (None, Some(_)) => Err(lacks("ice_template")),
            (None, None) => Err(dataset_error("there is neither a prompt_template nor an ice_template")),
        }
    }

    /// Whether a template has a place for the examples, or needs none because there are none.
    fn has_examples_place(&self, template: &dyn RowTemplate) -> bool {
        template.ice_token().is_some() || template.has_default_ice_token() && self.retriever.kind == RetrieverKind::Zero
    }

    /// Whether its questions can be laid out in several ways, see [`Layout`].
    pub(crate) fn has_layouts(&self) -> bool {
        self.prompt_template.as_ref().is_some_and(|template| template.layout().is_some())
    }

    /// The template that lays out a chat of questions and answers, if there is one.
    pub(crate) fn qa_chat(&self) -> Option<&QaTemplate> {
        let template = self.prompt_template.as_ref()?.downcast_ref::<QaTemplate>();
        template.filter(|template| template.layout != Layout::Text)
    }

    /// What is scored for a label, if the template decides that.
    pub(crate) fn continuation(&self, label: &Value) -> Option<String> {
        self.prompt_template.as_ref()?.continuation(label)
    }

    /// What separates a context from an answer.
    pub(crate) fn sep_token(&self) -> Option<&str> {
        self.prompt_template.iter().chain(&self.ice_template).find_map(|template| template.sep_token())
    }

    /// How long the answers of a row may be. The column only counts if it is an input column. Values that are false in
    /// Python set no limit.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Row`] if it is neither a number nor a list of numbers.
    pub fn max_out_len(&self, row: &Row) -> Result<MaxOutLen> {
        MaxOutLen::of_row(row, &self.input_columns)
    }

    fn label<'r>(&self, row: &'r Row) -> Result<&'r Value> {
        let column = self.output_column.as_deref().ok_or_else(|| dataset_error("examples need an output_column"))?;
        row.get(column).ok_or_else(|| row.no_column(column)).at("output_column")
    }
}

/// A row by its number, which counts from the end if it is negative.
fn row_of(id: i64, train: &[Row]) -> Result<&Row> {
    let at = if id < 0 { id + train.len() as i64 } else { id };
    usize::try_from(at).ok().and_then(|at| train.get(at)).ok_or_else(|| no_such_example(id, train.len()))
}
