//! The shipped dataset shapes give what stands in `cases/datasets/`, for the demo model.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = std::fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == ending)).collect();
    files.sort();
    files
}

#[test]
fn shapes() {
    let shapes = files("datasets", "toml");
    assert!(shapes.len() >= 10);
    let stems =
        |files: &[PathBuf]| files.iter().filter_map(|path| path.file_stem().map(Into::into)).collect::<Vec<PathBuf>>();
    assert_eq!(stems(&shapes), stems(&files("tests/cases/datasets", "jsonl")), "each shape has a case");
    for (shape, case) in shapes.iter().zip(files("tests/cases/datasets", "jsonl")) {
        let rows = shape.with_extension("jsonl");
        let has_examples = metatok::Dataset::load(shape).expect("it can be read").task.retriever.count() > 0;
        let train: &[&Path] = if has_examples { &[Path::new("--train"), &rows] } else { &[] };
        let name = shape.file_stem().expect("it has a name");
        let built_in = metatok::Dataset::builtin_file(&name.to_string_lossy()).expect("each is built in");
        assert_eq!(built_in, std::fs::read_to_string(shape).expect("it can be read"));
        let output = Command::new(env!("CARGO_BIN_EXE_metatok"))
            .args(["build", "--model", "demo", "--text", "--strict", "-d"])
            .args([shape.as_path(), &rows])
            .args(train)
            .output()
            .expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = |text: &str| -> Vec<Value> {
            text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
        };
        let found = lines(std::str::from_utf8(&output.stdout).expect("it is UTF-8"));
        let expected = lines(&std::fs::read_to_string(&case).expect("it can be read"));
        assert_eq!(found.len(), expected.len(), "{}", case.display());
        for (found, expected) in found.iter().zip(&expected) {
            for (key, expected) in expected.as_object().expect("a case is an object") {
                assert_eq!(found[key], *expected, "{}: {key}", case.display());
            }
        }
    }
}

#[test]
fn examples_are_the_same_whatever_the_threads() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let rows = folder.path().join("rows.jsonl");
    let row = |number: usize| format!("{{\"question\": \"{number}+1=?\", \"answer\": \"{}\"}}\n", number + 1);
    std::fs::write(&rows, (0..3_000).map(row).collect::<String>()).expect("it can be written");
    let built = |threads: &str| {
        let args = ["build", "-q", "--format", "messages", "-d", "lm_eval_gsm8k", "--layout", "turns", "-j", threads];
        let program =
            Command::new(env!("CARGO_BIN_EXE_metatok")).args(args).arg("--train").args([&rows, &rows]).output();
        let output = program.expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let one = built("1");
    assert_eq!(one.iter().filter(|byte| **byte == b'\n').count(), 3_000);
    for threads in ["2", "5"] {
        assert!(built(threads) == one, "{threads} threads draw others");
    }
}
