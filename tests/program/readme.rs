//! Runs the examples of the README and of `docs/`: each `$` line of a console block must print what
//! stands below it. Files come from the page too: a block whose first line is `# my.toml`, and what
//! `$ cat my.jsonl` shows.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use metatok::{BuilderOptions, Mode, Model, PromptBuilder};

use crate::case_files::{CASE, files, stem};
use crate::harness::Tests;
use crate::program::METATOK;
use crate::root::root;
use crate::{accept, lines};

pub(crate) fn tests() -> Tests {
    let pages = files("docs", "md").into_iter().chain([root().join("README.md")]);
    let trial = |page: PathBuf| {
        Trial::test(format!("readme/{}", stem(&page)), move || {
            examples(&page);
            Ok(())
        })
        .with_kind(CASE)
    };
    pages.map(trial).collect()
}

/// The address of llama.cpp's server with the demo's weights, if there is one.
fn server() -> Option<String> {
    std::env::var("METATOK_LLAMA_CPP").ok()
}

fn examples(page: &Path) {
    let text = std::fs::read_to_string(page).expect("it is there");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut parts: Vec<String> = text.split("```").map(str::to_owned).collect();
    assert!(parts.len() % 2 == 1, "a block has no end");
    let mut ran = 0;
    for part in parts.iter_mut().skip(1).step_by(2) {
        let (language, block) = part.split_once('\n').expect("a block has lines");
        match language {
            "toml" => model(block, folder.path()),
            // Without a server, or the engine, there is nothing to run.
            "console" if block.contains("$URL") && server().is_none() => ran += 1,
            "console" if block.contains("metatok run") && !cfg!(feature = "candle") => ran += 1,
            "console" => {
                ran += 1;
                *part = format!("{language}\n{}", console(block, folder.path()));
            }
            // Python's own tests run them.
            "python" => ran += 1,
            "" | "sh" | "rust" | "json" => {}
            other => panic!("nobody runs a block of {other:?}"),
        }
    }
    assert!(ran > 0, "it shows no example");
    let found = parts.join("```");
    if found != text {
        std::fs::write(page, found).expect("it can be written");
        println!("accepted: {}", page.display());
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

/// Runs the commands of a block; gives the block with what they print, where that was accepted.
fn console(block: &str, folder: &Path) -> String {
    let mut starts: Vec<usize> = block.match_indices("\n$ ").map(|(at, _)| at + 1).collect();
    assert!(block.starts_with("$ "), "a console block begins with a command");
    starts.insert(0, 0);
    let ends = starts.iter().copied().skip(1).chain([block.len()]);
    starts.iter().zip(ends).map(|(&start, end)| command(&block[start..end], folder)).collect()
}

/// Runs a command, and gives it with what is to be expected below it.
fn command(shown: &str, folder: &Path) -> String {
    let (prompt, expected) = shown.split_once('\n').expect("a command ends its line");
    let command = prompt.trim_start_matches("$ ");
    if let Some(name) = command.strip_prefix("cat ").filter(|name| !folder.join(name).exists()) {
        std::fs::write(folder.join(name), expected).expect("files can be written");
    }
    let found = output(command, folder);
    let (found_lines, expected_lines): (Vec<&str>, Vec<&str>) = (found.lines().collect(), expected.lines().collect());
    if matches(&found_lines, &expected_lines) {
        return shown.to_owned();
    }
    // How much of the output a line that is … should stand for from now on, nobody knows.
    let may_accept = accept::is_on() && !expected_lines.contains(&"…");
    assert!(may_accept, "{command}\nfound\n{found}\nexpected\n{expected}");
    format!("{prompt}\n{}", lines::to_expect(&found, expected, '…'))
}

/// What a command prints where the program is to be found.
fn output(command: &str, folder: &Path) -> String {
    let program = Path::new(METATOK).parent().expect("it is in a folder").to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([program].into_iter().chain(std::env::split_paths(&others)));
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}; }} 2>&1")])
        .env("PATH", path.expect("folders can be joined"))
        .env("URL", server().unwrap_or_default())
        .current_dir(folder)
        .output()
        .expect("there is a shell");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A line that ends in … is shown up to there, and one that is … stands for any number: times differ, and not everything
/// is worth showing.
fn matches(found: &[&str], expected: &[&str]) -> bool {
    match (found, expected) {
        (found, ["…", rest @ ..]) => (0..=found.len()).any(|skipped| matches(&found[skipped..], rest)),
        ([found, more @ ..], [expected, rest @ ..]) => lines::line_fits(found, expected, '…') && matches(more, rest),
        ([], []) => true,
        _ => false,
    }
}
