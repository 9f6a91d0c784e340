//! Runs the files of `tests/files/`, in the formats in which data really comes, through `build` with several models.
//!
//! A case is a file of data and `NAME.toml` beside it, which says what must come of it.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use libtest_mimic::Completion;
use serde::Deserialize;
use serde_json::Value;

use crate::case_files::{self, CaseFile};
use crate::harness::Tests;
use crate::program::{METATOK, json_lines};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    let tests = case_files::each("tests/files", run);
    assert!(tests.len() >= 20);
    tests
}

/// What must come of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[allow(dead_code, reason = "for readers")]
    about: String,
    /// The file of data.
    file: String,
    /// Further arguments.
    #[serde(default)]
    args: Vec<String>,
    /// A dataset file, if the data is rows.
    dataset: Option<String>,
    /// The ids that prompts have, where they are not their numbers.
    ids: Option<Vec<Value>>,
    /// The text of each prompt, by the model; all read it with the demo's tokenizer.
    #[serde(default)]
    texts: BTreeMap<String, Vec<String>>,
    /// Lines of standard error, without `metatok: `.
    #[serde(default)]
    notes: Vec<String>,
    /// The error, without its file.
    error: Option<String>,
}

fn run(file: &CaseFile, case: &Case) -> Completion {
    if cfg!(not(feature = "compression")) && [".gz", ".zst"].iter().any(|ending| case.file.ends_with(ending)) {
        return Completion::ignored_with("this metatok does not decompress");
    }
    match &case.error {
        Some(expected) => refused(file, case, expected),
        None => {
            assert!(case.texts.len() >= 2, "two models at least");
            case.texts.iter().for_each(|(model, expected)| built(file, case, model, expected));
        }
    }
    Completion::Completed
}

fn refused(file: &CaseFile, case: &Case, expected: &String) {
    let (code, stdout, stderr) = build(case, "demo");
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    let start = format!("metatok: {}: ", case.file);
    let error = stderr.lines().next().and_then(|line| line.strip_prefix(&*start));
    file.value(&["error"], &error.unwrap_or_else(|| panic!("{start} is not the start of {stderr}")).into(), expected);
}

fn built(file: &CaseFile, case: &Case, model: &str, expected: &Vec<String>) {
    let (code, stdout, stderr) = build(case, model);
    assert_eq!(code, Some(0), "{model}: {stderr}");
    let prompts: Vec<Value> = json_lines(&stdout);
    let texts = prompts.iter().filter_map(|prompt| prompt["text"].as_str().map(str::to_owned)).collect();
    file.value(&["texts", model], &texts, expected);
    let ids: Vec<Value> = prompts.iter().map(|prompt| prompt["id"].clone()).collect();
    let numbers = || (0..prompts.len()).map(Value::from).collect();
    file.value(&["ids"], &ids, &case.ids.clone().unwrap_or_else(numbers));
    let notes = case.notes.iter().map(|note| nearest(note, &stderr)).collect();
    file.value(&["notes"], &notes, &case.notes);
}

/// The line of standard error that is a note, or else the one that begins most like it.
fn nearest(note: &str, stderr: &str) -> String {
    let lines = stderr.lines().filter_map(|line| line.strip_prefix("metatok: "));
    let common = |line: &&str| note.chars().zip(line.chars()).take_while(|(a, b)| a == b).count();
    lines.max_by_key(|line| (*line == note, common(line))).unwrap_or_default().to_owned()
}

/// The exit code, and what was written where.
fn build(case: &Case, model: &str) -> (Option<i32>, String, String) {
    let dataset = tempfile::tempdir().expect("a folder can be made");
    let mut command = Command::new(METATOK);
    command.current_dir(root().join("tests/files")).args(["build", "--model", model, "--tokenizer", "demo", "--text"]);
    if let Some(text) = &case.dataset {
        let path = dataset.path().join("d.toml");
        std::fs::write(&path, text).expect("files can be written");
        command.arg("--dataset").arg(path);
    }
    let output = command.args(&case.args).arg(&case.file).stdin(Stdio::null()).output().expect("the program runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}
