//! Runs the files of `tests/files/`, in the formats in which data really comes, through `build` with several models.
//!
//! A case is a file of data and `NAME.toml` beside it, which says what must come of it.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::Value;

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

#[test]
fn files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("the folder is there").flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    assert!(paths.len() >= 20);
    let failed: Vec<_> = paths
        .iter()
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(path).expect("a case can be read");
            let case: Case = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            println!("{name}");
            std::panic::catch_unwind(|| check(&case, &folder)).is_err()
        })
        .collect();
    assert!(failed.is_empty(), "failed: {failed:#?}");
}

fn check(case: &Case, folder: &Path) {
    if cfg!(not(feature = "compression")) && [".gz", ".zst"].iter().any(|ending| case.file.ends_with(ending)) {
        println!("skipped: this metatok does not decompress");
        return;
    }
    if let Some(expected) = &case.error {
        let (code, stdout, stderr) = build(case, folder, "demo");
        let first = stderr.lines().next().unwrap_or_default();
        assert_eq!(first, format!("metatok: {}: {expected}", case.file));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        return;
    }
    assert!(case.texts.len() >= 2, "two models at least");
    for (model, expected) in &case.texts {
        let (code, stdout, stderr) = build(case, folder, model);
        assert_eq!(code, Some(0), "{model}: {stderr}");
        let prompts: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
        let texts: Vec<&str> = prompts.iter().filter_map(|prompt| prompt["text"].as_str()).collect();
        assert_eq!(texts, *expected, "{model}");
        let ids: Vec<Value> = prompts.iter().map(|prompt| prompt["id"].clone()).collect();
        let numbers = || (0..prompts.len()).map(Value::from).collect();
        assert_eq!(ids, case.ids.clone().unwrap_or_else(numbers), "{model}");
        for note in &case.notes {
            assert!(stderr.lines().any(|line| line == format!("metatok: {note}")), "{note}\nis not in\n{stderr}");
        }
    }
}

/// The exit code, and what was written where.
fn build(case: &Case, folder: &Path, model: &str) -> (Option<i32>, String, String) {
    let dataset = tempfile::tempdir().expect("a folder can be made");
    let mut command = Command::new(env!("CARGO_BIN_EXE_metatok"));
    command.current_dir(folder).args(["build", "--model", model, "--tokenizer", "demo", "--text"]);
    if let Some(text) = &case.dataset {
        let path = dataset.path().join("d.toml");
        std::fs::write(&path, text).expect("files can be written");
        command.arg("--dataset").arg(path);
    }
    let output = command.args(&case.args).arg(&case.file).stdin(Stdio::null()).output().expect("the program runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}
