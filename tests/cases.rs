//! Runs the cases of `tests/cases/`: one file each, and the file says all there is to it.
//!
//! `prompts/` holds models, conversations and the texts they must give, or the error; the ids must be
//! those of the text. `rows/` holds datasets with their rows and the prompts before any model. `cli/` holds command lines with the files they read and what must come of them.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

#[path = "common/case_files.rs"]
mod case_files;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use case_files::{assert_matches, without_times};
use metatok::dataset::RowPrompter;
use metatok::dataset::prompter::TurnPlan;
use metatok::{
    AddSpecialTokens, BuilderOptions, ContentTrust, Conversation, Dataset, Mode, Model, PromptBuilder, Row, Tokenizer,
};
use serde::Deserialize;

/// A model, a conversation, and what must come of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptCase {
    #[allow(dead_code, reason = "for readers")]
    about: String,
    /// A model file. Without one, there is no template.
    model: Option<String>,
    /// The ending of the model file's name.
    #[serde(default = "toml_file")]
    model_file: String,
    conversation: Option<Conversation>,
    #[serde(default)]
    round_fallback: bool,
    #[serde(default)]
    continue_final_message: bool,
    #[serde(default)]
    open_answer: bool,
    #[serde(default)]
    content: ContentTrust,
    /// The prompt to continue.
    r#gen: Option<String>,
    /// The text to score.
    ppl: Option<String>,
    /// The error, whatever the mode.
    error: Option<String>,
    /// The error where the prompt is to be continued.
    gen_error: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
    stop_token_ids: Option<Vec<u32>>,
}

fn toml_file() -> String {
    "model.toml".into()
}

#[test]
fn prompts() {
    let tokenizer = Arc::new(Tokenizer::demo().expect("the demo loads"));
    case_files::each("tests/cases/prompts", |case: PromptCase| {
        for (mode, expected) in [(Mode::Generate, &case.r#gen), (Mode::Score, &case.ppl)] {
            let built = build(&case, mode, &tokenizer);
            let error = case.gen_error.as_ref().filter(|_| mode == Mode::Generate).or(case.error.as_ref());
            match (error, expected, built) {
                (Some(expected), _, Err(error)) => assert_eq!(error.to_string(), *expected),
                (Some(_), _, Ok((_, text))) => panic!("there is no error but {text:?}"),
                (None, Some(expected), built) => {
                    let (ids, text) = built.unwrap_or_else(|error| panic!("{error}"));
                    assert_eq!(text, *expected, "{mode}");
                    if case.content == ContentTrust::Trusted {
                        assert_eq!(ids, tokenizer.encode(&text).expect("it encodes"), "{mode}");
                    }
                }
                (None, None, _) => {}
            }
        }
    });
}

fn build(case: &PromptCase, mode: Mode, tokenizer: &Arc<Tokenizer>) -> metatok::Result<(Vec<u32>, String)> {
    let model = match &case.model {
        Some(text) => Model::parse(&case.model_file, text.as_bytes())?,
        None => Model::default(),
    };
    let options = BuilderOptions {
        mode,
        content: case.content,
        round_fallback: case.round_fallback,
        continue_final_message: case.continue_final_message,
        open_answer: case.open_answer,
        special_tokens: Some(AddSpecialTokens::Never),
        text: true,
        ..BuilderOptions::default()
    };
    let builder = PromptBuilder::new(&model, Arc::clone(tokenizer), &options)?;
    let warnings: Vec<String> = builder.warnings().map(ToString::to_string).collect();
    assert_eq!(warnings, case.warnings);
    if let Some(expected) = &case.stop_token_ids {
        assert_eq!(builder.stop().stop_token_ids().collect::<Vec<_>>(), *expected);
    }
    let Some(conversation) = &case.conversation else { return Ok(Default::default()) };
    let prompt = builder.build(conversation)?;
    Ok((prompt.input_ids, prompt.text.expect("it was asked for")))
}

/// A dataset file, its rows, and the prompts that they must give.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowCase {
    #[allow(dead_code, reason = "for readers")]
    about: String,
    dataset: String,
    rows: String,
    #[serde(default)]
    train: String,
    /// What the model says in one turn after the other.
    answers: Option<Vec<String>>,
    /// Before any meta template.
    prompts: Option<Vec<Conversation>>,
    /// With the template of `model`.
    texts: Option<Vec<String>>,
    model: Option<String>,
    error: Option<String>,
}

#[test]
fn rows() {
    let tokenizer = Arc::new(Tokenizer::demo().expect("the demo loads"));
    case_files::each("tests/cases/rows", |case: RowCase| {
        let built = conversations(&case);
        if let Some(expected) = &case.error {
            assert_eq!(built.map_err(|error| error.to_string()), Err(expected.clone()));
            return;
        }
        let (mode, prompts) = built.unwrap_or_else(|error| panic!("{error}"));
        if let Some(expected) = &case.prompts {
            assert_eq!(prompts, *expected);
        }
        if let Some(expected) = &case.texts {
            let model = case.model.as_ref().map_or_else(Model::default, |text| {
                Model::parse("model.toml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
            });
            let options = BuilderOptions { mode, text: true, ..BuilderOptions::default() };
            let builder = PromptBuilder::new(&model, Arc::clone(&tokenizer), &options).expect("the model fits");
            let text = |prompt| builder.build(prompt).unwrap_or_else(|error| panic!("{error}")).text;
            assert_eq!(prompts.iter().filter_map(text).collect::<Vec<_>>(), *expected);
        }
    });
}

fn conversations(case: &RowCase) -> metatok::Result<(Mode, Vec<Conversation>)> {
    let dataset = Dataset::parse("d.toml", case.dataset.as_bytes())?;
    let rows = |text: &str| text.lines().map(Row::from_json).collect::<metatok::Result<Vec<_>>>();
    let train = rows(&case.train)?;
    let mut retriever = dataset.task.retriever.open(&train, &dataset.task.input_columns)?;
    let mut inference = RowPrompter::new(&dataset, &train[..])?;
    let mut all = Vec::new();
    for (i, row) in rows(&case.rows)?.iter().enumerate() {
        let examples = retriever.retrieve(i)?.of(row, &train)?;
        let Some(answers) = &case.answers else {
            let prompts = inference.prompts(row, examples, |_| Ok(0))?;
            all.extend(prompts.into_iter().map(|prompt| prompt.conversation));
            continue;
        };
        let prompt = dataset.task.prompt(row, &dataset.task.examples(&examples, &train)?)?;
        let mut plan = TurnPlan::new(prompt, dataset.inferencer.infer_mode)?;
        let mut answers = answers.iter();
        while let (Some(prompt), Some(answer)) = (plan.prompt(), answers.next()) {
            all.push(prompt);
            plan.answer(answer);
        }
    }
    Ok((dataset.inferencer.kind.mode(), all))
}

/// A command line in a folder of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CliCase {
    #[allow(dead_code, reason = "for readers")]
    about: String,
    args: Vec<String>,
    /// Files to be there, as text, or as bytes.
    #[serde(default)]
    files: BTreeMap<String, Contents>,
    #[serde(default)]
    stdin: String,
    stdout: Option<String>,
    /// What standard error holds, times left out. In it, and in files, `*` at the end of a line stands for anything.
    stderr: Option<String>,
    exit: i32,
    /// Files that must be there afterwards, and what they hold.
    #[serde(default)]
    written: BTreeMap<String, String>,
    /// Files that must not be there afterwards.
    #[serde(default)]
    absent: Vec<String>,
    /// It cannot be so on this system, which lacks a device.
    needs: Option<PathBuf>,
    /// It is so only where Parquet cannot be read.
    #[serde(default)]
    without_parquet: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Contents {
    Text(String),
    Bytes(Vec<u8>),
}

#[test]
fn cli() {
    case_files::each("tests/cases/cli", |case: CliCase| {
        if case.without_parquet && cfg!(feature = "parquet") {
            println!("skipped: this metatok reads Parquet");
            return;
        }
        if case.needs.as_ref().is_some_and(|path| !path.exists()) {
            println!("skipped: there is no {}", case.needs.as_deref().unwrap_or(Path::new("")).display());
            return;
        }
        let folder = tempfile::tempdir().expect("a folder can be made");
        for (name, contents) in &case.files {
            let bytes = match contents {
                Contents::Text(text) => text.as_bytes(),
                Contents::Bytes(bytes) => bytes,
            };
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("it is below the folder")).expect("folders can be made");
            std::fs::write(path, bytes).expect("files can be written");
        }
        let mut child = Command::new(env!("CARGO_BIN_EXE_metatok"))
            .args(&case.args)
            .current_dir(folder.path())
            .stdin(if case.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // It may have ended before it reads.
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(case.stdin.as_bytes());
        }
        let output = child.wait_with_output().expect("the program ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let stderr = text(&output.stderr);
        if let Some(expected) = &case.stderr {
            assert_matches(&without_times(&stderr), expected);
        }
        if let Some(expected) = &case.stdout {
            assert_matches(&text(&output.stdout), expected);
        }
        assert_eq!(output.status.code(), Some(case.exit), "{stderr}");
        for (name, expected) in &case.written {
            let found = std::fs::read(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_matches(&text(&found), expected);
        }
        for name in &case.absent {
            assert!(!folder.path().join(name).exists(), "{name} is there");
        }
        let left = std::fs::read_dir(folder.path()).expect("the folder can be listed").flatten();
        let partial: Vec<_> =
            left.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("partial")).collect();
        assert!(partial.is_empty(), "{partial:?} are left over");
    });
}
