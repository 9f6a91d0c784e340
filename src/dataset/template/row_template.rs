//! The trait of all dataset templates: filling a prompt with a row, and what else tasks need.

use std::any::Any;
use std::fmt::Debug;

use crate::conversation::Conversation;
use crate::dataset::dataset_error;
use crate::dataset::prompter::InferencerKind;
use crate::dataset::rows::{Row, Value};
use crate::dataset::template::fields::{TemplateField, TemplateText};
use crate::dataset::template::layout::Layout;
use crate::error::Result;

/// A dataset template: how a row becomes a prompt. Your own template can be used like the others:
///
/// ```
/// use metatok::dataset::template::{RowTemplate, TemplateInput};
/// use metatok::{Conversation, Dataset, Result, Row};
///
/// #[derive(Debug, Clone, PartialEq)]
/// struct Shouted;
///
/// impl RowTemplate for Shouted {
///     fn describe(&self) -> &'static str {
///         "a template that shouts"
///     }
///
///     fn fill(&self, input: &TemplateInput<'_>) -> Result<Conversation> {
///         let question = input.row.get("question").map(|question| question.text().to_uppercase());
///         Ok(Conversation::Text(question.unwrap_or_default()))
///     }
/// }
///
/// let mut dataset = Dataset::parse("d.toml", b"infer_cfg = {}")?;
/// dataset.task.prompt_template = Some(Shouted.into());
/// let row = Row::from_json(r#"{"question": "Is Mars red?"}"#)?;
/// let prompt = dataset.task.prompt(&row, &Conversation::Text(String::new()))?;
/// assert_eq!(prompt, Conversation::Text("IS MARS RED?".into()));
/// # Ok::<(), metatok::Error>(())
/// ```
pub trait RowTemplate: BoxedTemplate {
    /// What it is, with its article, for messages.
    fn describe(&self) -> &'static str;

    /// The prompt of a row.
    ///
    /// # Errors
    /// [`ErrorKind::Row`](crate::ErrorKind::Row) if the row does not fit.
    fn fill(&self, input: &TemplateInput<'_>) -> Result<Conversation>;

    /// The text of a row to score for a label. Nothing is masked. `keep_sep_token` leaves the separator of context and
    /// answer in.
    ///
    /// # Errors
    /// The same as for [`Self::fill`]; [`ErrorKind::Dataset`](crate::ErrorKind::Dataset) for a template without
    /// labels.
    fn fill_for_label(
        &self,
        _input: &TemplateInput<'_>,
        _label: &Value,
        _keep_sep_token: bool,
    ) -> Result<Conversation> {
        Err(dataset_error(&format!("{} has no labels; write a dialogue for each label", self.describe())))
    }

    /// What is scored for a label, if the template decides that.
    fn continuation(&self, _label: &Value) -> Option<String> {
        None
    }

    /// The labels, if it has a template for each.
    fn labels(&self) -> Option<Vec<Value>> {
        None
    }

    /// How it handles in-context examples.
    fn example_support(&self) -> ExampleSupport {
        ExampleSupport::None
    }

    /// Whether an example includes the answer of its row.
    fn example_needs_label(&self) -> bool {
        false
    }

    /// An in-context example of a row.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`](crate::ErrorKind::Dataset) for a template that does not write examples.
    fn example(&self, _row: &Row, _label: Option<&Value>) -> Result<Conversation> {
        Err(no_ice_template(self.describe()))
    }

    /// Examples side by side, with the retriever's separators: between texts, and after the last.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`](crate::ErrorKind::Dataset) for examples that cannot be combined.
    fn join_examples(&self, _examples: Vec<Conversation>, _separators: (&str, &str)) -> Result<Conversation> {
        Err(no_ice_template(self.describe()))
    }

    /// How many messages of a row's prompt come before those of its examples; none if its prompts have no messages of
    /// examples, or not in one place.
    ///
    /// # Errors
    /// The same as for [`Self::fill`].
    fn messages_before_examples(&self, _row: &Row) -> Result<Option<usize>> {
        Ok(None)
    }

    /// What marks the place of the examples; empty if the template needs no mark.
    fn ice_token(&self) -> Option<&str> {
        Some("")
    }

    /// Whether it has an `ice_token` though none is set, so that it needs no place for examples with a
    /// `ZeroRetriever`. Source: `RawPromptTemplate` of OpenCompass.
    fn has_default_ice_token(&self) -> bool {
        false
    }

    /// What separates a context from an answer.
    fn sep_token(&self) -> Option<&str> {
        None
    }

    /// Whether its prompts are strings.
    fn is_string(&self) -> bool {
        false
    }

    /// The first label whose template is a string, if those of others are dialogues.
    fn string_beside_dialogues(&self) -> Option<&Value> {
        None
    }

    /// Whether it is a single dialogue for all labels, whose examples are put side by side without separators.
    fn is_dialogue(&self) -> bool {
        false
    }

    /// Whether it replaces the answer's column.
    fn masks_answer(&self) -> bool {
        false
    }

    /// The columns of the questions and answers, if each lists those of several turns.
    fn turn_columns(&self) -> Option<[&str; 2]> {
        None
    }

    /// The fields that it fills.
    fn fields(&self) -> Vec<TemplateField> {
        Vec::new()
    }

    /// The columns whose lists become messages. A row may lack them.
    fn expanded(&self) -> Vec<TemplateField> {
        Vec::new()
    }

    /// The fields that it fills in examples.
    fn example_fields(&self) -> Vec<TemplateField> {
        self.fields()
    }

    /// Whether it fills fields that examples left, with the row that is asked.
    fn fills_examples(&self) -> bool {
        false
    }

    /// The texts in which fields are filled.
    fn texts(&self) -> Vec<TemplateText> {
        Vec::new()
    }

    /// The fields that are never filled, whatever columns the row has.
    fn unfilled(&self) -> Vec<TemplateField> {
        Vec::new()
    }

    /// What to do about [`Self::unfilled`] fields.
    fn unfilled_help(&self) -> Option<&'static str> {
        None
    }

    /// How it lays out questions and answers, if there are several ways.
    fn layout(&self) -> Option<Layout> {
        None
    }

    /// Sets the layout of questions and answers; does nothing if there is only one.
    fn set_layout(&mut self, _layout: Layout) {}

    /// From now on, only searches its own text for fields, and not the values of columns.
    fn set_single_pass(&mut self) {}

    /// Limits the bytes that the texts of a prompt may have after they are filled.
    fn set_max_row_bytes(&mut self, _bytes: usize) {}

    /// Rejects a template of which something would be lost.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`](crate::ErrorKind::Dataset) names it.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Rejects uses that it does not support: prompts of this kind, or examples.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`](crate::ErrorKind::Dataset) says what it is for.
    fn check_use(&self, _kind: InferencerKind, _has_examples: bool) -> Result<()> {
        Ok(())
    }
}

/// What a template builds a prompt from.
#[derive(Debug, Clone, Copy)]
pub struct TemplateInput<'r> {
    /// The row.
    pub row: &'r Row,
    /// The in-context examples, joined.
    pub examples: &'r Conversation,
    /// The column of the answer, and its replacement.
    pub masked: Option<(&'r str, &'r str)>,
    /// Whether to lose what AISBench loses silently, instead of an error.
    pub compat: bool,
}

/// How a template handles in-context examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExampleSupport {
    /// It has no place for them, and cannot write them.
    None,
    /// It has a place for them, and as `ice_template` writes them.
    Placed,
    /// It writes its own, and needs no `ice_template`, for this reason.
    Own(&'static str),
}

pub(crate) fn no_ice_template(describe: &str) -> crate::Error {
    dataset_error(&format!("{describe} cannot be an ice_template; write the examples as a dialogue"))
}

/// What a boxed template needs from its own type. Every type that is `Clone` and `PartialEq` has it.
pub trait BoxedTemplate: Any + Debug + Send + Sync {
    /// A copy.
    fn boxed(&self) -> Box<dyn RowTemplate>;

    /// Whether the other one is of the same type, and equal.
    fn equals(&self, other: &dyn RowTemplate) -> bool;
}

impl<T: RowTemplate + Clone + PartialEq> BoxedTemplate for T {
    fn boxed(&self) -> Box<dyn RowTemplate> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn RowTemplate) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }
}

impl dyn RowTemplate {
    /// The template as its own type, if it has that type.
    pub fn downcast_ref<T: RowTemplate>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    /// The template as its own type, if it has that type, to change it.
    pub fn downcast_mut<T: RowTemplate>(&mut self) -> Option<&mut T> {
        (self as &mut dyn Any).downcast_mut()
    }
}

impl Clone for Box<dyn RowTemplate> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl PartialEq for dyn RowTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl<T: RowTemplate> From<T> for Box<dyn RowTemplate> {
    fn from(template: T) -> Self {
        Box::new(template)
    }
}
