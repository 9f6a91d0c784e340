//! Dataset files: OpenCompass's `reader_cfg` and `infer_cfg` as TOML or JSON, alone or in a whole dataset dict.

mod class_name;
mod inferencer;
mod judge;
mod retriever;
mod several;
mod template;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::dataset::any_template::AnyTemplate;
use crate::dataset::config::inferencer::InferencerFile;
use crate::dataset::config::retriever::RetrieverFile;
pub use crate::dataset::config::several::DatasetSource;
use crate::dataset::config::template::TemplateFile;
use crate::dataset::derived_columns::DerivedColumns;
use crate::dataset::fill::{MAX_ROW_BYTES, Substitution};
use crate::dataset::inferencer::{Inferencer, InferencerKind};
use crate::dataset::qa_template::Layout;
use crate::dataset::repeats::Repeats;
use crate::dataset::retriever::RetrieverKind;
use crate::dataset::split::SplitRange;
use crate::dataset::task::Task;
use crate::dataset::value::Value;
use crate::dialect::{is_misspelt, parse_file};
use crate::error::{At, ErrorKind, Fault, Place, Result, Warning};

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
    /// The columns that are made of those that a row has.
    pub derived_columns: DerivedColumns,
    /// How often each row of the test set is asked.
    pub repeats: Repeats,
    /// What is done with the prompts.
    pub inferencer: Inferencer,
    /// How answers are evaluated, as it is written: of it [`Self::judge`] reads who judges them.
    pub eval_cfg: Option<Value>,
    /// In which order a judge that compares models sees their answers, as it is written.
    pub infer_order: Option<String>,
    /// The key path of the templates: `infer_cfg`, or where the file describes a judge.
    pub key_path: &'static str,
    /// The keys of the file that say nothing about prompts, but for those that all of OpenCompass's datasets have.
    pub unread_keys: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    abbr: Option<String>,
    #[serde(rename = "type")]
    class: Option<Value>,
    n: Option<Value>,
    num_repeats: Option<Value>,
    #[serde(default)]
    reader_cfg: Reader,
    infer_cfg: Infer,
    eval_cfg: Option<Value>,
    infer_order: Option<Value>,
}

/// Where prompts are described.
const INFER_CFG: &str = "infer_cfg";

/// The keys that are read, and those of OpenCompass's configurations that say nothing about prompts.
const READ: [&str; 5] = ["abbr", "reader_cfg", "infer_cfg", "n", "num_repeats"];
const OF_EVALUATION: [&str; 5] = ["eval_cfg", "k", "name", "path", "type"];

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reader {
    #[serde(default)]
    input_columns: Columns,
    output_column: Option<String>,
    test_range: Option<SplitRange>,
    train_range: Option<SplitRange>,
    columns: Option<Value>,
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
    ice_template: Option<TemplateFile>,
    prompt_template: Option<TemplateFile>,
    #[serde(default)]
    retriever: RetrieverFile,
    #[serde(default)]
    inferencer: InferencerFile,
    max_out_len: Option<u64>,
}

impl Dataset {
    /// Reads a dataset file, or the built-in one of that name. A file of neighbours that it names stands beside it.
    ///
    /// # Errors
    /// Names the file, the key path, and the line.
    pub fn load(path: &Path) -> Result<Self> {
        Self::parse_at(path, &Self::read_file(path)?)
    }

    /// As [`Self::load`], from the bytes that the file has.
    pub(crate) fn parse_at(path: &Path, bytes: &[u8]) -> Result<Self> {
        let mut dataset = Self::parse(&path.display().to_string(), bytes)?;
        if let RetrieverKind::TopK { neighbours, .. } = &mut dataset.task.retriever.kind {
            let beside = |file: &PathBuf| path.parent().unwrap_or(Path::new("")).join(file);
            *neighbours = neighbours.as_ref().map(beside);
        }
        Ok(dataset)
    }

    /// Reads a dataset file from its bytes; `name` is for messages, and its ending tells TOML from JSON.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        // Apart: a struct that takes in keys it does not know loses the places of errors.
        let keys: Value = parse_file(name, bytes).of_file(Fault::Dataset)?;
        let unread_keys = unread(&keys).at(Place::file(name)).of_file(Fault::Dataset)?;
        let file = parse_file(name, bytes).of_file(Fault::Dataset)?;
        let dataset = Self::read(file).at(Place::file(name)).of_file(Fault::Dataset)?;
        Ok(Self { name: name.to_owned(), unread_keys, ..dataset })
    }

    /// The short name that it gives itself, or its file's.
    pub fn abbr(&self) -> &str {
        let stem = || Path::new(&self.name).file_stem().and_then(|stem| stem.to_str());
        self.abbr.as_deref().or_else(stem).unwrap_or_default()
    }

    /// What people should know: keys that are not read, and what was decided where the file does not say.
    pub fn notes(&self) -> Vec<Warning> {
        let mut notes = Vec::new();
        if !self.unread_keys.is_empty() {
            let keys = self.unread_keys.join(", ");
            let note = Warning::new("unread-keys", "not read here")
                .with_way_out("the rows must be as the dataset's own loader makes them");
            notes.push(note.at(keys));
        }
        if self.inferencer.kind == InferencerKind::Chat && !self.inferencer.infer_mode_is_said {
            let what = "the last turn is asked for, as in OpenCompass, because infer_mode is not said; AISBench asks for every turn (infer_mode = \"every\")";
            notes.push(Warning::new("default-infer-mode", what).at(format_args!("{}.inferencer", self.key_path)));
        }
        if self.inferencer.kind == InferencerKind::FunctionCalls {
            let what = "only the first prompt of each row is built; the others stand on what its functions give, and metatok calls none";
            notes.push(Warning::new("first-prompt-only", what).at("infer_cfg.inferencer"));
        }
        notes.into_iter().map(|note| note.at(Place::file(&self.name))).collect()
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
                // They are so already.
                AnyTemplate::Multimodal(_) | AnyTemplate::Qa(_) => {}
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
                AnyTemplate::Qa(template) => template.max_row_bytes = bytes,
            }
        }
    }

    /// Lays its questions and answers out so.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] where its template is of another kind.
    pub fn set_layout(&mut self, layout: Layout) -> Result<()> {
        let Some(AnyTemplate::Qa(template)) = &mut self.task.prompt_template else {
            let what = "only a prompt_template of type = \"QaTemplate\" has layouts; leave it out";
            return Err(ErrorKind::Dataset(what.into()).into());
        };
        template.layout = layout;
        Ok(())
    }

    fn read(file: File) -> Result<Self> {
        let File { abbr, class, n, num_repeats, reader_cfg: reader, infer_cfg: infer, eval_cfg, infer_order } = file;
        let class = class.as_ref().and_then(Value::as_text).map(class_name::bare).unwrap_or_default();
        let template = |file: Option<TemplateFile>, name: &str| {
            file.map(TemplateFile::read).transpose().at(format_args!("infer_cfg.{name}"))
        };
        let derived_columns = reader.columns.as_ref().map(DerivedColumns::read).transpose();
        let inferencer = infer.inferencer.read(infer.max_out_len);
        Ok(Self {
            name: String::new(),
            abbr,
            task: Task {
                input_columns: reader.input_columns.into(),
                output_column: reader.output_column.filter(|column| !column.is_empty()),
                ice_template: template(infer.ice_template, "ice_template")?,
                prompt_template: template(infer.prompt_template, "prompt_template")?,
                retriever: infer.retriever.read().at("infer_cfg.retriever")?,
                gen_field_replace_token: inferencer.gen_field_replace_token.clone(),
                compat: false,
                max_row_bytes: MAX_ROW_BYTES,
            },
            test_range: reader.test_range,
            train_range: reader.train_range,
            derived_columns: derived_columns.at("reader_cfg.columns")?.unwrap_or_default(),
            repeats: Repeats::read(n.as_ref(), num_repeats.as_ref(), class)?,
            inferencer,
            eval_cfg,
            infer_order: infer_order.as_ref().and_then(Value::as_text).map(str::to_owned),
            key_path: INFER_CFG,
            unread_keys: Vec::new(),
        })
    }
}

/// The keys of a dataset dict that are not read.
///
/// # Errors
/// [`ErrorKind::Invalid`] for what is no dict, and for keys that are not what they were meant to be.
fn unread(file: &Value) -> Result<Vec<String>> {
    let Value::Dict(keys) = file else {
        if matches!(file, Value::List(_)) {
            let what = "a list of datasets, which only `build` takes; write the one into a file of its own";
            return Err(ErrorKind::Invalid(what.into()).into());
        }
        return Err(ErrorKind::Invalid("a dataset file is a dict with reader_cfg and infer_cfg".into()).into());
    };
    for part in ["retriever", "inferencer"] {
        let class = file.get("infer_cfg").and_then(|infer| infer.get(part)?.get("type"));
        if let Some(Value::Text(class)) = class {
            class_name::check(class).at(format_args!("infer_cfg.{part}"))?;
        }
    }
    let mut unread = Vec::new();
    for (key, value) in keys {
        let key = match key {
            Value::Text(key) => &**key,
            _ => continue,
        };
        match value {
            Value::List(list) if READ.contains(&key) && matches!(list[..], [Value::Dict(_)]) => {
                let what = "a list of one dict, which a comma after it makes in Python; give the dict itself";
                return Err(ErrorKind::Invalid(what.into())).at(key);
            }
            _ if READ.contains(&key) || OF_EVALUATION.contains(&key) => {}
            _ => match READ.iter().find(|read| read.len() > 1 && file.get(read).is_none() && is_misspelt(key, read)) {
                Some(near) => {
                    let what = format!("unknown key `{key}`; did you mean `{near}`?");
                    return Err(ErrorKind::Invalid(what).into());
                }
                None => unread.push(key.to_owned()),
            },
        }
    }
    Ok(unread)
}
