//! The shipped dataset shapes give what stands in `cases/datasets/`, for the demo model.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::accept;
use crate::case_files::{CASE, files, stem};
use crate::harness::{Tests, tests};
use crate::program::{METATOK, json_lines, stderr, stdout};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    let mut tests = tests![each_shape_has_a_case, examples_are_the_same_whatever_the_threads];
    tests.extend(files("datasets", "toml").into_iter().map(|shape| {
        Trial::test(format!("datasets/{}", stem(&shape)), move || {
            compare(&shape);
            Ok(())
        })
        .with_kind(CASE)
    }));
    tests
}

fn each_shape_has_a_case() {
    let stems = |folder: &str, ending: &str| files(folder, ending).iter().map(|path| stem(path)).collect::<Vec<_>>();
    let shapes = stems("datasets", "toml");
    assert!(shapes.len() >= 10);
    assert_eq!(shapes, stems("tests/cases/datasets", "jsonl"));
}

fn compare(shape: &Path) {
    let built_in = metatok::Dataset::builtin_file(&stem(shape)).expect("each is built in");
    assert_eq!(built_in, std::fs::read_to_string(shape).expect("it can be read"));
    let case = root().join("tests/cases/datasets").join(stem(shape)).with_extension("jsonl");
    let text = std::fs::read_to_string(&case).expect("it can be read");
    let (found, expected) = (json_lines(build(shape)), json_lines(&text));
    assert_eq!(found.len(), expected.len());
    let as_expected = found.iter().zip(&expected).all(|(found, expected)| is_within(expected, found));
    if as_expected {
        return;
    }
    assert!(accept::is_on(), "found\n{found:#?}\nexpected\n{expected:#?}");
    let lines = found.iter().zip(&expected).map(|(found, expected)| line_of(found, expected) + "\n");
    std::fs::write(&case, lines.collect::<String>()).expect("it can be written");
    println!("accepted: {}", case.display());
}

/// What `build` gives for the rows beside a shape.
fn build(shape: &Path) -> String {
    let rows = shape.with_extension("jsonl");
    let has_examples = metatok::Dataset::load(shape).expect("it can be read").task.retriever.count() > 0;
    let train: &[&Path] = if has_examples { &[Path::new("--train"), &rows] } else { &[] };
    let output = Command::new(METATOK)
        .args(["build", "--model", "demo", "--text", "--strict", "-d"])
        .args([shape, &rows])
        .args(train)
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

/// Whether all keys of a case have its values.
fn is_within(expected: &Value, found: &Value) -> bool {
    expected.as_object().expect("a case is an object").iter().all(|(key, expected)| found[key] == *expected)
}

/// The keys that are expected, with the values that were found.
fn line_of(found: &Value, expected: &Value) -> String {
    let keys = expected.as_object().into_iter().flat_map(|expected| expected.keys());
    let pairs: Vec<String> = keys.map(|key| format!("{key:?}: {}", found[key])).collect();
    format!("{{{}}}", pairs.join(", "))
}

fn examples_are_the_same_whatever_the_threads() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let rows = folder.path().join("rows.jsonl");
    let row = |number: usize| format!("{{\"question\": \"{number}+1=?\", \"answer\": \"{}\"}}\n", number + 1);
    std::fs::write(&rows, (0..3_000).map(row).collect::<String>()).expect("it can be written");
    let built = |threads: &str| {
        let args = ["build", "-q", "--format", "messages", "-d", "lm_eval_gsm8k", "--layout", "turns", "-j", threads];
        let program = Command::new(METATOK).args(args).arg("--train").args([&rows, &rows]).output();
        let output = program.expect("the program runs");
        assert!(output.status.success(), "{}", stderr(&output));
        output.stdout
    };
    let one = built("1");
    assert_eq!(one.iter().filter(|byte| **byte == b'\n').count(), 3_000);
    for threads in ["2", "5"] {
        assert!(built(threads) == one, "{threads} threads draw others");
    }
}
