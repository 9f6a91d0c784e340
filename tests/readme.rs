//! Runs the examples of the README and of `docs/`: each `$` line of a console block must print what
//! stands below it. Files come from the page too: a block whose first line is `# my.toml`, and what
//! `$ cat my.jsonl` shows.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use metatok::{BuilderOptions, Mode, Model, PromptBuilder};

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_dir(root.join("docs")).expect("there is a folder docs").flatten();
    let pages = docs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "md"));
    std::iter::once(root.join("README.md")).chain(pages).collect()
}

/// The blocks of a page in order, each with its language.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = text.split("```").collect();
    assert!(parts.len() % 2 == 1, "a block has no end");
    parts.iter().skip(1).step_by(2).map(|block| block.split_once('\n').expect("a block has lines")).collect()
}

#[test]
fn examples() {
    for page in pages() {
        println!("{}", page.display());
        let text = std::fs::read_to_string(&page).expect("it is there");
        let folder = tempfile::tempdir().expect("a folder can be made");
        let mut ran = 0;
        for (language, block) in blocks(&text) {
            match language {
                "toml" => model(block, folder.path()),
                // Without the engine there is nothing to run.
                "console" if block.contains("metatok run") && !cfg!(feature = "candle") => ran += 1,
                "console" => ran += console(block, folder.path()),
                "" | "sh" | "rust" | "json" => {}
                other => panic!("{}: nobody runs a block of {other:?}", page.display()),
            }
        }
        assert!(ran > 0, "{} shows no example", page.display());
    }
}

/// A block of TOML is a model that builds and gives what its example states; its first line may name the file it is.
fn model(block: &str, folder: &Path) {
    let name = block.lines().next().and_then(|line| line.strip_prefix("# ")).filter(|name| name.ends_with(".toml"));
    let model = Model::parse(name.unwrap_or("block.toml"), block.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(model.tokenizer.as_deref(), Some("demo"), "examples need no network");
    let tokenizer = Arc::new(model.load_tokenizer().unwrap_or_else(|error| panic!("{error}")));
    let built = |mode| {
        let options = BuilderOptions { mode, text: true, ..BuilderOptions::default() };
        let builder = PromptBuilder::new(&model, Arc::clone(&tokenizer), &options);
        let builder = builder.unwrap_or_else(|error| panic!("{error}"));
        let example = model.example.as_ref()?;
        let prompt = builder.build(&example.conversation).unwrap_or_else(|error| panic!("{error}"));
        Some((prompt.text.unwrap_or_default(), Some(prompt.input_ids)))
    };
    let generate = model.example.as_ref().map(|example| (example.generate.clone(), example.gen_ids.clone()));
    assert_eq!(built(Mode::Generate), generate);
    let score = model.example.as_ref().map(|example| (example.score.clone(), example.ppl_ids.clone()));
    assert_eq!(built(Mode::Score), score);
    if let Some(name) = name {
        std::fs::write(folder.join(name), block).expect("files can be written");
    }
}

/// Runs the commands of a block; gives how many there were.
fn console(block: &str, folder: &Path) -> usize {
    let program = Path::new(env!("CARGO_BIN_EXE_metatok"));
    let path = std::env::join_paths(
        std::iter::once(program.parent().expect("it is in a folder").to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )
    .expect("folders can be joined");
    let starts: Vec<usize> = block.match_indices("$ ").map(|(at, _)| at).filter(|&at| starts_line(block, at)).collect();
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(block.len());
        let (command, expected) = block[start + 2..end].split_once('\n').expect("a command ends its line");
        if let Some(name) = command.strip_prefix("cat ").filter(|name| !folder.join(name).exists()) {
            std::fs::write(folder.join(name), expected).expect("files can be written");
        }
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}; }} 2>&1")])
            .env("PATH", &path)
            .current_dir(folder)
            .output()
            .expect("there is a shell");
        let found = String::from_utf8_lossy(&output.stdout);
        // A line that ends in … is shown up to there, and one that is … stands for any number: times
        // differ, and not everything is worth showing.
        let (found, expected): (Vec<&str>, Vec<&str>) = (found.lines().collect(), expected.lines().collect());
        assert!(
            matches(&found, &expected),
            "{command}\nfound\n{}\nexpected\n{}",
            found.join("\n"),
            expected.join("\n")
        );
    }
    starts.len()
}

fn starts_line(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes()[at - 1] == b'\n'
}

fn matches(found: &[&str], expected: &[&str]) -> bool {
    match (found, expected) {
        (found, ["…", rest @ ..]) => (0..=found.len()).any(|skipped| matches(&found[skipped..], rest)),
        ([found, more @ ..], [expected, rest @ ..]) => {
            let fits = match expected.strip_suffix('…') {
                Some(start) => found.starts_with(start),
                None => found == expected,
            };
            fits && matches(more, rest)
        }
        ([], []) => true,
        _ => false,
    }
}
