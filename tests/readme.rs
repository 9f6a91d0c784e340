//! Runs the README's examples: each `$` line of a console block must print what stands below it.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

use std::path::Path;
use std::process::Command;

#[test]
fn console_examples() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("it is there");
    let blocks: Vec<&str> = readme.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    let program = Path::new(env!("CARGO_BIN_EXE_metatok"));
    for block in blocks {
        for example in block.split("$ ").skip(1) {
            let (command, expected) = example.split_once('\n').expect("a command ends its line");
            let path = std::env::join_paths(
                std::iter::once(program.parent().expect("it is in a folder").to_owned())
                    .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
            );
            let output = Command::new("sh")
                .args(["-c", &format!("{{ {command}; }} 2>&1")])
                .env("PATH", path.expect("folders can be joined"))
                .output()
                .expect("there is a shell");
            let found = String::from_utf8_lossy(&output.stdout);
            // A line that ends in … is shown up to there: times differ.
            let found: Vec<&str> = found.lines().collect();
            let expected: Vec<&str> = expected.lines().collect();
            assert_eq!(found.len(), expected.len(), "{command}\n{found:#?}");
            for (found, expected) in found.iter().zip(expected) {
                match expected.strip_suffix('…') {
                    Some(start) => assert!(found.starts_with(start), "{command}\n{found}"),
                    None => assert_eq!(*found, expected, "{command}"),
                }
            }
        }
    }
}

#[test]
fn the_model_file_shown_is_a_model() {
    let readme = include_str!("../README.md");
    let block = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("there is one");
    let model = metatok::Model::parse("README.toml", block.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let tokenizer = std::sync::Arc::new(model.load_tokenizer().unwrap_or_else(|error| panic!("{error}")));
    metatok::PromptBuilder::new(&model, tokenizer, &metatok::BuilderOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
}
