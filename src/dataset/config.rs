//! Dataset files: OpenCompass's `reader_cfg` and `infer_cfg` as TOML or JSON.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::dataset::fill::{MAX_ROW_BYTES, Substitution};
use crate::dataset::inferencer::Inferencer;
use crate::dataset::message_template::MessageTemplate;
use crate::dataset::multimodal_template::MultimodalTemplate;
use crate::dataset::prompt_template::PromptTemplate;
use crate::dataset::retriever::{RetrieverConfig, RetrieverKind};
use crate::dataset::split::SplitRange;
use crate::dataset::task::{AnyTemplate, Task};
use crate::dataset::turn_template::TurnTemplate;
use crate::dataset::value::Value;
use crate::dialect::parse_file;
use crate::error::{At, ErrorKind, Result};

/// A dataset: which rows are used, and how they become prompts.
///
/// ```
/// use metatok::{Conversation, Dataset, Row};
///
/// let dataset = Dataset::parse("x.toml", br#"
///     [reader_cfg]
///     output_column = "answer"
///     [infer_cfg]
///     prompt_template = { template = "Q: {question}\nA: {answer}" }
/// "#)?;
/// let row = Row::from_json(r#"{"question": "1+1=?", "answer": "2"}"#)?;
/// let prompt = dataset.task.prompt(&row, &Conversation::Text(String::new()))?;
/// assert_eq!(prompt, Conversation::Text("Q: 1+1=?\nA: ".into()));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// The file.
    pub name: String,
    /// The short name that it gives itself.
    pub abbr: Option<String>,
    /// How rows become prompts.
    pub task: Task,
    /// Which rows of the test set are used; all, if nothing is said.
    pub test_range: Option<SplitRange>,
    /// Which rows of the training set are used.
    pub train_range: Option<SplitRange>,
    /// What is done with the prompts.
    pub inferencer: Inferencer,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    abbr: Option<String>,
    #[serde(default)]
    reader_cfg: Reader,
    infer_cfg: Infer,
    // Keys of OpenCompass's configurations that say nothing about prompts.
    #[serde(default, rename = "type")]
    _type: IgnoredAny,
    #[serde(default, rename = "path")]
    _path: IgnoredAny,
    #[serde(default, rename = "name")]
    _name: IgnoredAny,
    #[serde(default, rename = "eval_cfg")]
    _eval_cfg: IgnoredAny,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reader {
    #[serde(default)]
    input_columns: Columns,
    output_column: Option<String>,
    test_range: Option<SplitRange>,
    train_range: Option<SplitRange>,
    // The splits are the files that are given.
    #[serde(default, rename = "train_split")]
    _train_split: IgnoredAny,
    #[serde(default, rename = "test_split")]
    _test_split: IgnoredAny,
}

/// Names of columns: a list, or a string with white space between them.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a list of column names, or one string of them")]
enum Columns {
    List(Vec<String>),
    Text(String),
}

impl Default for Columns {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl From<Columns> for Vec<String> {
    fn from(columns: Columns) -> Self {
        match columns {
            Columns::List(list) => list,
            Columns::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Infer {
    ice_template: Option<Config>,
    prompt_template: Option<Config>,
    #[serde(default)]
    retriever: RetrieverConfig,
    #[serde(default)]
    inferencer: Inferencer,
}

/// A template as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    template: Option<Value>,
    messages: Option<Vec<Value>>,
    ice_token: Option<String>,
    sep_token: Option<String>,
    column_token_map: Option<Value>,
    format_variables: Option<bool>,
    #[serde(default)]
    substitution: Substitution,
    #[serde(default, rename = "type")]
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
enum TemplateKind {
    MultiTurnPromptTemplate,
    MMPromptTemplate,
    #[default]
    #[serde(other)]
    Other,
}

impl Config {
    fn read(self) -> Result<AnyTemplate> {
        use TemplateKind::{MMPromptTemplate, MultiTurnPromptTemplate};
        for (key, is_given, kind, of) in [
            ("question_column", self.question_column.is_some(), MultiTurnPromptTemplate, "MultiTurnPromptTemplate"),
            ("answer_column", self.answer_column.is_some(), MultiTurnPromptTemplate, "MultiTurnPromptTemplate"),
            ("content_column", self.content_column.is_some(), MMPromptTemplate, "MMPromptTemplate"),
            ("all_columns", self.all_columns.is_some(), MMPromptTemplate, "MMPromptTemplate"),
            ("keep_urls", self.keep_urls.is_some(), MMPromptTemplate, "MMPromptTemplate"),
        ] {
            if is_given && self.kind != kind {
                let what = format!("{key} is for type = {of:?}, and says nothing here; leave it out");
                return Err(ErrorKind::Template(what).into());
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
            _ => Err(ErrorKind::Template("write either \"template\" or \"messages\"".into()).into()),
        }
    }
}

impl Dataset {
    /// Reads a dataset file, or the built-in one of that name. A file of neighbours that it names stands beside it.
    ///
    /// # Errors
    /// Names the file, the key path, and the line.
    pub fn load(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let mut dataset = Self::parse(&name, &Self::read_file(path)?)?;
        if let RetrieverKind::TopK { neighbours, .. } = &mut dataset.task.retriever.kind {
            *neighbours = path.parent().unwrap_or(Path::new("")).join(&neighbours);
        }
        Ok(dataset)
    }

    /// Reads a dataset file from its bytes; `name` is for messages, and its ending tells TOML from JSON.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        let dataset = Self::read(parse_file(name, bytes)?).at(name)?;
        Ok(Self { name: name.to_owned(), ..dataset })
    }

    /// The short name that it gives itself, or its file's.
    pub fn abbr(&self) -> &str {
        let stem = || Path::new(&self.name).file_stem().and_then(|stem| stem.to_str());
        self.abbr.as_deref().or_else(stem).unwrap_or_default()
    }

    /// The same, with templates that search their own text only for fields, see
    /// [`Substitution::SinglePass`].
    #[must_use]
    pub fn single_pass(&self) -> Self {
        let mut dataset = self.clone();
        for template in dataset.task.ice_template.iter_mut().chain(&mut dataset.task.prompt_template) {
            match template {
                AnyTemplate::Prompt(template) => template.substitution = Substitution::SinglePass,
                AnyTemplate::Messages(template) => template.substitution = Substitution::SinglePass,
                AnyTemplate::Turns(template) => template.substitution = Substitution::SinglePass,
                // It is so already.
                AnyTemplate::Multimodal(_) => {}
            }
        }
        dataset
    }

    /// Says how many bytes the texts of a row's prompts may have once they are filled: 16 MiB where nobody says.
    pub fn set_max_row_bytes(&mut self, bytes: usize) {
        self.task.max_row_bytes = bytes;
        for template in self.task.ice_template.iter_mut().chain(&mut self.task.prompt_template) {
            match template {
                AnyTemplate::Prompt(template) => template.max_row_bytes = bytes,
                AnyTemplate::Messages(template) => template.max_row_bytes = bytes,
                AnyTemplate::Turns(template) => template.max_row_bytes = bytes,
                AnyTemplate::Multimodal(template) => template.max_row_bytes = bytes,
            }
        }
    }

    fn read(file: File) -> Result<Self> {
        let File { abbr, reader_cfg: reader, infer_cfg: infer, .. } = file;
        let template = |config: Option<Config>, name: &str| {
            config.map(Config::read).transpose().at(format_args!("infer_cfg.{name}"))
        };
        Ok(Self {
            name: String::new(),
            abbr,
            task: Task {
                input_columns: reader.input_columns.into(),
                output_column: reader.output_column.filter(|column| !column.is_empty()),
                ice_template: template(infer.ice_template, "ice_template")?,
                prompt_template: template(infer.prompt_template, "prompt_template")?,
                retriever: infer.retriever,
                gen_field_replace_token: infer.inferencer.gen_field_replace_token.clone(),
                compat: false,
                max_row_bytes: MAX_ROW_BYTES,
            },
            test_range: reader.test_range,
            train_range: reader.train_range,
            inferencer: infer.inferencer,
        })
    }
}
