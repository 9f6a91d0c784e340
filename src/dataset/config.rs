//! Dataset files: OpenCompass's `reader_cfg` and `infer_cfg` as TOML or JSON.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::conversation::Mode;
use crate::dataset::fill::Substitution;
use crate::dataset::message_template::MessageTemplate;
use crate::dataset::prompt_template::PromptTemplate;
use crate::dataset::retriever::{RetrieverConfig, RetrieverKind};
use crate::dataset::split::SplitRange;
use crate::dataset::task::{AnyTemplate, Task};
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
    /// How rows become prompts.
    pub task: Task,
    /// Which rows of the test set are used; all, if nothing is said.
    pub test_range: Option<SplitRange>,
    /// Which rows of the training set are used.
    pub train_range: Option<SplitRange>,
    /// What is done with the prompts.
    pub inferencer: Inferencer,
}

/// What is done with a dataset's prompts, as far as it changes them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "InferencerFile")]
pub struct Inferencer {
    /// Which kind of prompts.
    pub kind: InferencerKind,
    /// The labels to score, instead of those of the templates.
    pub labels: Option<Vec<Value>>,
    /// Where answers end, beside what the model says.
    pub stopping_criteria: Vec<String>,
    /// What stands in the place of the answer where it is masked.
    pub gen_field_replace_token: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InferencerFile {
    #[serde(default, rename = "type")]
    kind: InferencerKind,
    labels: Option<Vec<Value>>,
    #[serde(default)]
    stopping_criteria: Vec<String>,
    #[serde(default)]
    gen_field_replace_token: String,
    // Of the model's run, not of its prompts. OpenCompass overwrites max_seq_len by the model's.
    #[serde(default, rename = "max_out_len")]
    _max_out_len: IgnoredAny,
    #[serde(default, rename = "min_out_len")]
    _min_out_len: IgnoredAny,
    #[serde(default, rename = "max_seq_len")]
    _max_seq_len: IgnoredAny,
    #[serde(default, rename = "batch_size")]
    _batch_size: IgnoredAny,
    #[serde(default, rename = "generation_kwargs")]
    _generation_kwargs: IgnoredAny,
}

impl From<InferencerFile> for Inferencer {
    fn from(file: InferencerFile) -> Self {
        let InferencerFile { kind, labels, stopping_criteria, gen_field_replace_token, .. } = file;
        Self { kind, labels, stopping_criteria, gen_field_replace_token }
    }
}

/// The kinds of prompts that OpenCompass's inferencers make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum InferencerKind {
    /// Prompts to continue, the answer masked.
    #[default]
    #[serde(rename = "GenInferencer", alias = "gen")]
    Generate,
    /// A text to score for each label.
    #[serde(rename = "PPLInferencer", alias = "ppl")]
    Score,
    /// Texts to score without labels, the answer masked.
    #[serde(rename = "PPLOnlyInferencer", alias = "ppl-only")]
    ScoreOnly,
}

impl InferencerKind {
    /// How its prompts are rendered.
    pub fn mode(self) -> Mode {
        match self {
            Self::Generate => Mode::Generate,
            Self::Score | Self::ScoreOnly => Mode::Score,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    reader_cfg: Reader,
    infer_cfg: Infer,
    // Keys of OpenCompass's configurations that say nothing about prompts.
    #[serde(default, rename = "abbr")]
    _abbr: IgnoredAny,
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
    output_column: Option<String>,
    test_range: Option<SplitRange>,
    train_range: Option<SplitRange>,
    // Every column can be filled in, and the splits are the files that are given.
    #[serde(default, rename = "input_columns")]
    _input_columns: IgnoredAny,
    #[serde(default, rename = "train_split")]
    _train_split: IgnoredAny,
    #[serde(default, rename = "test_split")]
    _test_split: IgnoredAny,
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
    _type: IgnoredAny,
}

impl Config {
    fn read(self) -> Result<AnyTemplate> {
        match (self.template, self.messages) {
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
    /// Reads a dataset file. A file of neighbours that it names stands beside it.
    ///
    /// # Errors
    /// Names the file, the key path, and the line.
    pub fn load(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).at(&name)?;
        let mut dataset = Self::parse(&name, &bytes)?;
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

    fn read(file: File) -> Result<Self> {
        let File { reader_cfg: reader, infer_cfg: infer, .. } = file;
        let template = |config: Option<Config>, name: &str| {
            config.map(Config::read).transpose().at(format_args!("infer_cfg.{name}"))
        };
        Ok(Self {
            name: String::new(),
            task: Task {
                output_column: reader.output_column.filter(|column| !column.is_empty()),
                ice_template: template(infer.ice_template, "ice_template")?,
                prompt_template: template(infer.prompt_template, "prompt_template")?,
                retriever: infer.retriever,
                gen_field_replace_token: infer.inferencer.gen_field_replace_token.clone(),
            },
            test_range: reader.test_range,
            train_range: reader.train_range,
            inferencer: infer.inferencer,
        })
    }
}
