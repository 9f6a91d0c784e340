//! The templates of a dataset file, with the keys that OpenCompass's and AISBench's take.

use serde::Deserialize;

use crate::dataset::config::class_name;
use crate::dataset::rows::Value;
use crate::dataset::template::{
    AnyTemplate, MessageTemplate, MultimodalTemplate, PromptTemplate, Substitution, TurnTemplate,
};
use crate::error::{ErrorKind, Result};

/// A template as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TemplateFile {
    template: Option<Value>,
    messages: Option<Vec<Value>>,
    ice_token: Option<String>,
    sep_token: Option<String>,
    column_token_map: Option<Value>,
    format_variables: Option<bool>,
    #[serde(default)]
    substitution: Substitution,
    #[serde(default, rename = "type", deserialize_with = "class_name::variant")]
    kind: TemplateKind,
    /// Of a template of several turns: the columns of its questions and answers.
    question_column: Option<String>,
    answer_column: Option<String>,
    /// Of a multimodal template, see [`MultimodalTemplate`].
    content_column: Option<String>,
    all_columns: Option<bool>,
    keep_urls: Option<bool>,
}

/// Which of the references' templates it is, where its keys do not tell.
#[derive(Default, Clone, Copy, PartialEq, Deserialize)]
#[allow(clippy::enum_variant_names, reason = "four of these are the references' names")]
enum TemplateKind {
    #[default]
    PromptTemplate,
    RawPromptTemplate,
    MultiTurnPromptTemplate,
    MMPromptTemplate,
    QaTemplate,
}

impl TemplateFile {
    pub(crate) fn read(self) -> Result<AnyTemplate> {
        use TemplateKind::{MMPromptTemplate, MultiTurnPromptTemplate, QaTemplate};
        for (key, is_given, kind, of) in [
            ("question_column", self.question_column.is_some(), MultiTurnPromptTemplate, "MultiTurnPromptTemplate"),
            ("answer_column", self.answer_column.is_some(), MultiTurnPromptTemplate, "MultiTurnPromptTemplate"),
            ("content_column", self.content_column.is_some(), MMPromptTemplate, "MMPromptTemplate"),
            ("all_columns", self.all_columns.is_some(), MMPromptTemplate, "MMPromptTemplate"),
            ("keep_urls", self.keep_urls.is_some(), MMPromptTemplate, "MMPromptTemplate"),
        ] {
            if is_given && self.kind != kind {
                let what = format!("{key} is for type = {of:?}, and says nothing here; leave it out");
                return Err(ErrorKind::Dataset(what).into());
            }
        }
        match (self.template, self.messages) {
            (Some(template), None) if self.kind == MultiTurnPromptTemplate => {
                let mut read = TurnTemplate::new(&template)?;
                read.substitution = self.substitution;
                read.question = self.question_column.unwrap_or(read.question);
                read.answer = self.answer_column.unwrap_or(read.answer);
                Ok(AnyTemplate::Turns(read))
            }
            (Some(template), None) if self.kind == MMPromptTemplate => {
                let mut read = MultimodalTemplate::new(&template)?;
                read.content = self.content_column.unwrap_or(read.content);
                read.all_columns = self.all_columns.unwrap_or_default();
                read.keep_urls = self.keep_urls.unwrap_or_default();
                Ok(AnyTemplate::Multimodal(read))
            }
            (Some(template), None) if self.kind == QaTemplate => {
                Ok(AnyTemplate::Qa(crate::dataset::template::QaTemplate::new(&template)?))
            }
            (Some(template), None) => {
                let mut read = PromptTemplate::new(&template, self.ice_token.as_deref(), self.sep_token.as_deref())?;
                read.substitution = self.substitution;
                // Keys of files are strings, whatever the labels of the rows are.
                read.labels_by_text = true;
                if let Some(Value::Dict(map)) = self.column_token_map {
                    let pairs = map.into_iter().map(|(column, token)| (column.text().into(), token.text().into()));
                    read = read.with_column_token_map(pairs.collect())?;
                }
                Ok(AnyTemplate::Prompt(read))
            }
            (None, Some(messages)) => {
                let mut read = MessageTemplate::new(&messages)?;
                read.substitution = self.substitution;
                read.format_variables = self.format_variables.unwrap_or(true);
                read.ice_token = self.ice_token.unwrap_or(read.ice_token);
                Ok(AnyTemplate::Messages(read))
            }
            _ => Err(ErrorKind::Dataset("write either \"template\" or \"messages\"".into()).into()),
        }
    }
}
