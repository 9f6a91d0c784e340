//! A package as reference.py reads it: its configurations with rows, and what its own code makes of them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use metatok::{Conversation, Mode};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::judges::JudgeLine;

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
    /// What the model says, turn by turn.
    #[serde(default)]
    pub(crate) answers: Vec<String>,
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
    pub(crate) tools: Option<Value>,
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

/// One of this many files is looked at.
pub(crate) fn every() -> usize {
    std::env::var("METATOK_PACKAGES_EVERY").map_or(10, |every| every.parse().expect("it is a number"))
}

/// A package of PyPI.
pub(crate) struct Package {
    /// As the Python side and the environment call it.
    pub(crate) name: &'static str,
    /// The folder that Python imports.
    pub(crate) folder: &'static str,
    /// What pip installs.
    pub(crate) pip: &'static str,
    /// What differs from it and is meant to, see [`crate::datasets::Known`].
    pub(crate) known: &'static str,
}

impl Package {
    /// The folder that holds the package; nothing, and that is said, where there is none.
    pub(crate) fn root(&self) -> Option<PathBuf> {
        let variable = format!("METATOK_{}", self.name.to_uppercase());
        let found = std::env::var_os(&variable).map(PathBuf::from).or_else(|| self.installed());
        if found.is_none() {
            println!(
                "skipped: there is no Python with {0} (pip install --no-deps {0}); METATOK_PYTHON may name one, {variable} the package's folder",
                self.pip
            );
        }
        found
    }

    /// Where Python has it. Nothing of it is imported.
    fn installed(&self) -> Option<PathBuf> {
        let program = format!(
            "import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec('{}').origin).parent.parent)",
            self.folder
        );
        let ran = Command::new(python()).args(["-c", &program]).output().ok()?;
        let path = String::from_utf8(ran.stdout).ok().filter(|_| ran.status.success())?;
        Some(PathBuf::from(path.trim()))
    }
}

fn python() -> String {
    std::env::var("METATOK_PYTHON").unwrap_or_else(|_| "python3".into())
}

pub(crate) fn reference(package: &Package, root: &Path) -> (Child, impl Iterator<Item = Line>) {
    let here = crate::root::root();
    let mut child = Command::new(python())
        .arg("-B")
        .arg(here.join("tests/packages/reference.py"))
        .arg(package.name)
        .arg(here.join("examples/opencompass_export.py"))
        .arg(root)
        .arg(every().to_string())
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
