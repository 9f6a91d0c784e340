//! The shipped dataset shapes give what stands in `cases/datasets/`, for the demo model.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

mod common;

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
        let output = Command::new(env!("CARGO_BIN_EXE_metatok"))
            .args(["build", "--model", "demo", "--text", "--strict", "-d"])
            .args([shape.as_path(), Path::new("--train"), &rows, &rows])
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

/// Every shape with models of either kind: nothing is wrong, and a note says where strings pass a template by.
#[test]
fn shapes_pass_the_check() {
    let models = [("demo", "demo"), ("plain", "demo"), ("qwen3", "qwen3"), ("llama-3", "llama3_1")];
    for (model, tokenizer) in models {
        let folder = if tokenizer == "demo" { Some("demo".into()) } else { common::real(tokenizer) };
        let Some(folder) = folder else {
            println!("skipped: the tokenizer of {model} is not here");
            continue;
        };
        for shape in files("datasets", "toml") {
            let rows = shape.with_extension("jsonl");
            let output = Command::new(env!("CARGO_BIN_EXE_metatok"))
                .args(["check", "--json", "--deny", "warnings", "--model", model, "--tokenizer"])
                .args([folder.as_path(), Path::new("--dataset"), &shape, Path::new("--train"), &rows, &rows])
                .output()
                .expect("the program runs");
            let found: Vec<Value> = serde_json::from_slice(&output.stdout).expect("it is a list");
            let codes: Vec<&str> = found.iter().filter_map(|finding| finding["code"].as_str()).collect();
            let of_rows = ["string-prompts"];
            let of_model = ["no-pad", "special-token-left-out", "boundary-moves"];
            let is_known = |code: &&str| of_rows.contains(code) || of_model.contains(code);
            assert!(codes.iter().all(is_known) && output.status.success(), "{model}, {}: {found:#?}", shape.display());
            // What a shape gives is text or a dialogue, whatever the model.
            let is_text = !std::fs::read_to_string(&shape).expect("it can be read").contains("role = ");
            assert_eq!(codes.contains(&"string-prompts"), is_text && model != "plain", "{model}, {}", shape.display());
        }
    }
}
