//! Reading a dataset file: OpenCompass's `reader_cfg` and `infer_cfg`, alone or in a whole dataset dict.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::dataset::config::dataset::MISPLACED_LIMIT;
use crate::dataset::config::inferencer::InferencerFile;
use crate::dataset::config::retriever::RetrieverFile;
use crate::dataset::config::{Dataset, class_name};
use crate::dataset::prompter::Task;
use crate::dataset::retriever::RetrieverKind;
use crate::dataset::rows::{DerivedColumns, Repeats, SplitRange, Value};
use crate::dataset::template::{MAX_ROW_BYTES, TemplateFile};
use crate::dialect::parse_file;
use crate::error::{At, ErrorKind, Fault, OfFile, Place, Result};
use crate::wording;

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

/// The keys that are read, and those of OpenCompass's configurations that do not affect prompts.
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
    // The user names the files of the splits.
    #[serde(default, rename = "train_split")]
    _train_split: IgnoredAny,
    #[serde(default, rename = "test_split")]
    _test_split: IgnoredAny,
}

/// Column names: a list, or a string with white space between them.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a list of column names, or a string of them")]
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
    retriever: Option<RetrieverFile>,
    #[serde(default)]
    inferencer: InferencerFile,
    // See `MISPLACED_LIMIT`.
    #[serde(default, rename = "max_out_len")]
    _max_out_len: IgnoredAny,
}

impl Dataset {
    /// Reads a dataset file, or the built-in one with that name. A file of neighbours that it names is relative to it.
    ///
    /// # Errors
    /// Names the file, the key path, and the line.
    pub fn load(path: &Path) -> Result<Self> {
        Self::parse_at(path, &Self::read_file(path)?)
    }

    /// Reads the bytes of a file as [`Self::load`] does.
    pub(crate) fn parse_at(path: &Path, bytes: &[u8]) -> Result<Self> {
        let mut dataset = Self::parse(&path.display().to_string(), bytes)?;
        if let RetrieverKind::TopK { neighbours, .. } = &mut dataset.task.retriever.kind {
            let in_same_folder = |file: &PathBuf| path.parent().unwrap_or(Path::new("")).join(file);
            *neighbours = neighbours.as_ref().map(in_same_folder);
        }
        Ok(dataset)
    }

    /// Reads a dataset file from its bytes. `name` is used in messages, and its extension distinguishes TOML from JSON.
    ///
    /// # Errors
    /// The same as for [`Self::load`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        // Separate, because a struct that also collects unknown keys loses the places of errors.
        let keys: Value = parse_file(name, bytes).of_file(Fault::Dataset)?;
        let unread_keys = unread(&keys).at(Place::file(name)).of_file(Fault::Dataset)?;
        let file = parse_file(name, bytes).of_file(Fault::Dataset)?;
        let dataset = Self::read(file).at(Place::file(name)).of_file(Fault::Dataset)?;
        Ok(Self { name: name.to_owned(), unread_keys, ..dataset })
    }

    fn read(file: File) -> Result<Self> {
        let File { abbr, class, n, num_repeats, reader_cfg: reader, infer_cfg: infer, eval_cfg, infer_order } = file;
        let class = class.as_ref().and_then(Value::as_text).unwrap_or_default();
        let template = |file: Option<TemplateFile>, name: &str| {
            file.map(TemplateFile::read).transpose().at(format_args!("infer_cfg.{name}"))
        };
        let derived_columns = reader.columns.as_ref().map(DerivedColumns::read).transpose();
        let repeats = Repeats::read(n.as_ref(), num_repeats.as_ref(), class, infer.inferencer.sc_size())?;
        let inferencer = infer.inferencer.read();
        let names_retriever = infer.retriever.is_some();
        Ok(Self {
            name: String::new(),
            abbr,
            task: Task {
                input_columns: reader.input_columns.into(),
                output_column: reader.output_column.filter(|column| !column.is_empty()),
                ice_template: template(infer.ice_template, "ice_template")?,
                prompt_template: template(infer.prompt_template, "prompt_template")?,
                retriever: infer.retriever.unwrap_or_default().read().at("infer_cfg.retriever")?,
                gen_field_replace_token: inferencer.gen_field_replace_token.clone(),
                compat: false,
                max_row_bytes: MAX_ROW_BYTES,
            },
            test_range: reader.test_range,
            train_range: reader.train_range,
            derived_columns: derived_columns.at("reader_cfg.columns")?.unwrap_or_default(),
            repeats,
            inferencer,
            names_retriever,
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
/// [`ErrorKind::Parse`] for something that is not a dict, and for keys that are not what they should be.
fn unread(file: &Value) -> Result<Vec<String>> {
    let Value::Dict(keys) = file else {
        if matches!(file, Value::List(_)) {
            let what = "a list of datasets, which only `build` accepts; put this one in its own file";
            return Err(ErrorKind::Invalid(what.into()).into());
        }
        return Err(ErrorKind::Invalid("a dataset file must be a dict with reader_cfg and infer_cfg".into()).into());
    };
    for part in ["retriever", "inferencer"] {
        let class = file.get("infer_cfg").and_then(|infer| infer.get(part)?.get("type"));
        if let Some(Value::Text(class)) = class {
            class_name::check(class).at(format_args!("infer_cfg.{part}"))?;
        }
    }
    let limit = file.get(INFER_CFG).and_then(|infer| infer.get("max_out_len")).filter(|limit| **limit != Value::Null);
    let mut unread: Vec<String> = limit.map(|_| MISPLACED_LIMIT.to_owned()).into_iter().collect();
    for (key, value) in keys {
        let Value::Text(key) = key else { continue };
        let key = &**key;
        match value {
            Value::List(list) if READ.contains(&key) && matches!(list[..], [Value::Dict(_)]) => {
                let what = "a list of one dict (in Python, from a comma after the dict); write the dict itself";
                return Err(ErrorKind::Invalid(what.into())).at(key);
            }
            _ if READ.contains(&key) || OF_EVALUATION.contains(&key) => {}
            _ => match READ
                .iter()
                .find(|read| read.len() > 1 && file.get(read).is_none() && wording::is_misspelt(key, read))
            {
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
