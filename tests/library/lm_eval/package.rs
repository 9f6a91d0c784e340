//! What lm-evaluation-harness's package makes of rows and texts, as reference.py and encode.py write it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::root::root;

/// As it is written: the order of keys counts.
pub(crate) type Json = Box<RawValue>;

/// What Python writes of the tasks.
#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) rows: BTreeMap<String, Rows>,
    pub(crate) asked: Vec<Asked>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Asked(Asked),
    Rows(Rows),
}

/// The rows that are asked, and those that examples come from.
#[derive(Deserialize)]
pub(crate) struct Rows {
    source: String,
    pub(crate) train: Vec<Json>,
    pub(crate) rows: Vec<Json>,
}

/// A way to ask rows, and what is asked of each.
#[derive(Deserialize)]
pub(crate) struct Asked {
    pub(crate) task: String,
    pub(crate) dataset: String,
    pub(crate) source: String,
    pub(crate) layout: String,
    pub(crate) num_fewshot: usize,
    pub(crate) others: BTreeMap<String, String>,
    pub(crate) made: Vec<Vec<Made>>,
}

/// A text or messages, whether the model's answer begins there, and what is scored or how the answer is generated.
#[derive(Deserialize)]
pub(crate) struct Made(pub(crate) Value, pub(crate) bool, pub(crate) Value);

/// The tokens of a text, of its context, and of what is scored.
#[derive(Deserialize)]
pub(crate) struct Encoded(pub(crate) Vec<u32>, pub(crate) Vec<u32>, pub(crate) Vec<u32>);

fn python() -> String {
    std::env::var("METATOK_PYTHON").unwrap_or_else(|_| "python3".into())
}

/// What all tasks ask; nothing, and that is said, without the package.
pub(crate) fn lines() -> Option<&'static Lines> {
    static LINES: OnceLock<Option<Lines>> = OnceLock::new();
    let read = || {
        let folder = root().join("datasets");
        let mut lines = Lines::default();
        for line in run("lm_eval", "reference.py", &folder)? {
            match line {
                Line::Asked(asked) => lines.asked.push(asked),
                Line::Rows(rows) => drop(lines.rows.insert(rows.source.clone(), rows)),
            }
        }
        Some(lines)
    };
    LINES.get_or_init(read).as_ref()
}

/// How its models part contexts and continuations, each with a tokenizer's file.
pub(crate) fn encoded(pairs: &[(PathBuf, String, String)]) -> Option<Vec<Encoded>> {
    let file = tempfile::NamedTempFile::new().expect("a file can be made");
    let lines = pairs.iter().map(|pair| serde_json::to_string(pair).expect("it is JSON") + "\n");
    std::fs::write(file.path(), lines.collect::<String>()).expect("it can be written");
    run("lm_eval, tokenizers", "encode.py", file.path())
}

/// The lines that a program prints; nothing, and that is said, where no Python has the modules.
fn run<T: DeserializeOwned>(modules: &str, program: &str, argument: &Path) -> Option<Vec<T>> {
    let has_modules = Command::new(python()).args(["-c", &format!("import {modules}")]).output();
    if !has_modules.is_ok_and(|ran| ran.status.success()) {
        println!("skipped: there is no Python with {modules}; METATOK_PYTHON may name one");
        return None;
    }
    let program = root().join("tests/lm_eval").join(program);
    let ran = Command::new(python()).arg("-B").arg(program).arg(argument).output().expect("Python runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).expect("it is UTF-8");
    let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:.300}"));
    Some(text.lines().map(line).collect())
}
