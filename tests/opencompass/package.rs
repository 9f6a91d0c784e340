//! OpenCompass's package as reference.py reads it: its configurations with rows, and what its own code makes of them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use metatok::{Conversation, Mode};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::judges::JudgeLine;

/// As it is written: the order of keys counts.
pub(crate) type Json = Box<RawValue>;

/// What the Python side writes.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Line {
    Template {
        name: String,
        template: Value,
    },
    Dataset(DatasetLine),
    Judge(JudgeLine),
    File {
        file: String,
        error: Option<String>,
        #[serde(default)]
        datasets: Vec<usize>,
    },
    Model {
        file: String,
        model: Json,
        made: Option<Vec<MadeByModel>>,
    },
}

#[derive(Deserialize)]
pub(crate) struct DatasetLine {
    pub(crate) number: usize,
    pub(crate) dataset: Json,
    #[serde(default)]
    pub(crate) rows: Vec<Json>,
    #[serde(default)]
    pub(crate) train: Vec<Json>,
    #[serde(default)]
    pub(crate) ids: Vec<Vec<i64>>,
    #[serde(default)]
    pub(crate) made: Vec<Outcome<Vec<Made>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome<T> {
    Ok(T),
    Error(String),
}

/// A prompt of a row.
#[derive(Deserialize)]
pub(crate) struct Made {
    pub(crate) label: Option<Value>,
    pub(crate) mode: Mode,
    pub(crate) r#as: BTreeMap<String, Outcome<Value>>,
}

/// What a model's own parser makes of a conversation.
#[derive(Deserialize)]
pub(crate) struct MadeByModel {
    pub(crate) conversation: Conversation,
    pub(crate) mode: Mode,
    pub(crate) is_api: bool,
    #[serde(flatten)]
    pub(crate) made: Outcome<Value>,
}

/// One of so many files is looked at.
pub(crate) fn every() -> usize {
    std::env::var("METATOK_OPENCOMPASS_EVERY").map_or(10, |every| every.parse().expect("it is a number"))
}

pub(crate) fn python() -> String {
    std::env::var("METATOK_PYTHON").unwrap_or_else(|_| "python3".into())
}

/// The folder that holds the package; nothing, and that is said, where there is none.
pub(crate) fn package() -> Option<PathBuf> {
    let found = std::env::var_os("METATOK_OPENCOMPASS").map(PathBuf::from).or_else(installed);
    if found.is_none() {
        println!(
            "skipped: there is no Python with OpenCompass's package (pip install --no-deps opencompass); METATOK_PYTHON may name one, METATOK_OPENCOMPASS the package's folder"
        );
    }
    found
}

/// Where Python has it. Nothing of it is imported.
pub(crate) fn installed() -> Option<PathBuf> {
    let program = "import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec('opencompass').origin).parent.parent)";
    let ran = Command::new(python()).args(["-c", program]).output().ok()?;
    let path = String::from_utf8(ran.stdout).ok().filter(|_| ran.status.success())?;
    Some(PathBuf::from(path.trim()))
}

pub(crate) fn reference(root: &Path, every: usize) -> (Child, impl Iterator<Item = Line>) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut child = Command::new(python())
        .arg("-B")
        .arg(here.join("tests/opencompass/reference.py"))
        .arg(here.join("examples/opencompass_export.py"))
        .arg(root)
        .arg(every.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Python runs");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let line = |line: std::io::Result<String>| {
        let line = line.expect("it is UTF-8");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {}", &line[..line.len().min(300)]))
    };
    (child, lines.map(line))
}
