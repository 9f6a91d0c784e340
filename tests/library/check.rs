//! Every lint, by cases: what triggers it, and a near miss that does not.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use libtest_mimic::Completion;
use metatok::check::{Finding, LINTS, Level};
use metatok::dataset::records::Record;
use metatok::dataset::retriever::RetrieverKind;
use metatok::dataset::{InferencerKind, RowPrompter};
use metatok::dialect::ChatTemplate;
use metatok::tokenizer::TokenizerFiles;
use metatok::{BuilderOptions, Checker, ContentTrust, Dataset, Model, Row, Tokenizer};
use serde::Deserialize;
use serde_json::Value;

use crate::case_files::{self, CaseFile};
use crate::harness::{Tests, tests};
use crate::loaded;
use crate::root::root;

pub(crate) fn tests() -> Tests {
    let mut tests = case_files::each("tests/cases/check", run);
    tests.extend(tests![
        every_lint_has_a_case,
        an_unknown_code_is_refused,
        built_in_models_pass,
        shipped_datasets_pass
    ]);
    tests
}

/// A file of `cases/check/`. Its name begins with the lint's code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[allow(dead_code, reason = "for readers")]
    about: String,
    trigger: Side,
    near_miss: Side,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Side {
    model: String,
    /// JSON: what the demo's tokenizer has beside its own added tokens.
    #[serde(default)]
    added_tokens: Option<String>,
    /// JSON: what differs in the demo's `tokenizer.json`.
    #[serde(default)]
    patch: Option<String>,
    /// JSON: another `tokenizer_config.json`.
    #[serde(default)]
    config: Option<String>,
    /// The tokenizer's chat template.
    #[serde(default)]
    chat_template: Option<String>,
    /// JSON: a `generation_config.json`.
    #[serde(default)]
    generation: Option<String>,
    #[serde(default)]
    conversations: String,
    /// A dataset file, and its rows.
    #[serde(default)]
    dataset: Option<String>,
    #[serde(default)]
    rows: String,
    #[serde(default)]
    options: Options,
    /// `level place: message` of every finding of the lint.
    #[serde(default)]
    findings: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    content: ContentTrust,
    #[serde(default)]
    reserve: Vec<String>,
    #[serde(default)]
    stop_token_ids: Vec<i64>,
}

/// The lint of a case: the longest code that its name begins with. `allow` is about all of them.
fn code(name: &str) -> Option<&'static str> {
    LINTS.iter().map(|lint| lint.code).filter(|code| name.starts_with(code)).max_by_key(|code| code.len())
}

fn run(file: &CaseFile, case: &Case) -> Completion {
    let code = code(&case_files::stem(&file.path));
    let found = |side: &Side| -> Vec<String> {
        let of_this = check(side).into_iter().filter(|finding| code.is_none_or(|code| finding.code == code));
        of_this.map(|finding| format!("{} {}: {}", finding.level, finding.place, finding.message)).collect()
    };
    assert!(!case.trigger.findings.is_empty(), "nothing is expected");
    file.value(&["trigger", "findings"], &found(&case.trigger), &case.trigger.findings);
    assert_eq!(found(&case.near_miss), [""; 0], "the near miss");
    Completion::Completed
}

fn every_lint_has_a_case() {
    let cases = case_files::files("tests/cases/check", "toml");
    let have: BTreeSet<_> = cases.iter().filter_map(|path| code(&case_files::stem(path))).collect();
    // Building warns of nothing today that has no lint of its own; the lint's own tests show what it says then.
    let missing = LINTS.iter().map(|lint| lint.code).filter(|code| !have.contains(code) && *code != "build-warning");
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn an_unknown_code_is_refused() {
    let model = Model::parse("x.toml", br#"allow = ["no-such"]"#).unwrap_or_else(|error| panic!("{error}"));
    let tokenizer = Tokenizer::demo().unwrap_or_else(|error| panic!("{error}"));
    let checker = Checker::new(&model, tokenizer, &BuilderOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let error = checker.finish().expect_err("there is none");
    assert!(error.to_string().starts_with("x.toml: allow[0]: unknown lint \"no-such\"; choose one of "), "{error}");
}

/// The built-in models with their own tokenizers, and all that may be found there.
fn built_in_models_pass() {
    let expected: [(&str, &str, &[&str]); 19] = [
        ("demo", "demo", &[]),
        ("alpaca", "llama2", &["speaker-in-text", "no-pad"]),
        ("chatml", "qwen3", &[]),
        ("chatglm3", "chatglm3", &["build-warning"]),
        ("gemma-2", "gemma2", &["special-token-left-out"]),
        ("internlm2-chat", "internlm2", &[]),
        ("llama-2-chat", "llama2", &["speaker-in-text", "special-token-left-out", "no-pad"]),
        ("llama-3", "llama3_1", &["special-token-left-out", "no-pad"]),
        ("llama-3.1", "llama3_1", &["no-pad"]),
        ("mistral-instruct-v1", "llama2", &["speaker-in-text", "special-token-left-out", "no-pad"]),
        ("mixtral", "llama2", &["speaker-in-text", "special-token-left-out", "no-pad"]),
        ("qwen2.5", "qwen3", &[]),
        ("qwen3", "qwen3", &[]),
        ("qwen3-instruct", "qwen3", &[]),
        ("qwen3-no-think", "qwen3", &[]),
        ("qwen3-thinking", "qwen3", &[]),
        ("qwen3-vl", "qwen3", &[]),
        ("vicuna", "llama2", &["speaker-in-text", "no-pad"]),
        ("zephyr", "llama2", &["no-pad"]),
    ];
    for (name, tokenizer, codes) in expected {
        let Some(tokenizer) = loaded::tokenizer(tokenizer) else {
            println!("skipped: the tokenizer of {name} is not here");
            continue;
        };
        let model = Model::load(name).unwrap_or_else(|error| panic!("{error}"));
        let options = BuilderOptions::default();
        let findings = Checker::new(&model, tokenizer, &options)
            .and_then(Checker::finish)
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(findings.iter().all(|finding| finding.level < Level::Error), "{name}: {findings:#?}");
        assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), codes, "{name}: {findings:#?}");
    }
}

fn check(side: &Side) -> Vec<Finding> {
    let model = Model::parse("model.toml", side.model.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let dataset = side
        .dataset
        .as_ref()
        .map(|dataset| Dataset::parse("d.toml", dataset.as_bytes()).unwrap_or_else(|error| panic!("{error}")));
    let options = BuilderOptions {
        each_message: dataset.as_ref().is_some_and(|dataset| dataset.inferencer.kind == InferencerKind::Chat),
        content: side.options.content,
        reserve: side.options.reserve.clone(),
        stop_token_ids: side.options.stop_token_ids.clone(),
        ..BuilderOptions::default()
    };
    let checker = Checker::new(&model, tokenizer(side), &options);
    let mut checker = checker.unwrap_or_else(|error| panic!("{error}"));
    if let Some(source) = &side.chat_template {
        checker.compare_with(ChatTemplate::new("a tokenizer's", source));
    }
    for (i, line) in side.conversations.lines().enumerate() {
        let record = Record::parse(line).unwrap_or_else(|error| panic!("{error}"));
        checker.see(&record.conversation, &format!("line {}", i + 1));
    }
    if let Some(dataset) = &dataset {
        see_rows(dataset, &side.rows, &mut checker);
    }
    checker.finish().unwrap_or_else(|error| panic!("{error}"))
}

/// The shipped datasets with models of either kind: nothing is wrong, and a note says where strings pass a
/// template by.
fn shipped_datasets_pass() {
    let folder = root().join("datasets");
    let paths = std::fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
    let shapes: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    assert!(shapes.len() >= 10);
    for (name, tokenizer) in [("demo", "demo"), ("plain", "demo"), ("qwen3", "qwen3"), ("llama-3", "llama3_1")] {
        let Some(tokenizer) = loaded::tokenizer(tokenizer) else {
            println!("skipped: the tokenizer of {name} is not here");
            continue;
        };
        let model = Model::load(name).unwrap_or_else(|error| panic!("{error}"));
        for shape in &shapes {
            let dataset = Dataset::load(shape).unwrap_or_else(|error| panic!("{error}"));
            let rows = std::fs::read_to_string(shape.with_extension("jsonl")).expect("rows stand beside it");
            let options = BuilderOptions { mode: dataset.inferencer.kind.mode(), ..BuilderOptions::default() };
            let checker = Checker::new(&model, Arc::clone(&tokenizer), &options);
            let mut checker = checker.unwrap_or_else(|error| panic!("{error}"));
            see_rows(&dataset, &rows, &mut checker);
            let findings = checker.finish().unwrap_or_else(|error| panic!("{error}"));
            let of_rows: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
            let of_model = ["no-pad", "special-token-left-out", "boundary-moves"];
            let of_rows: Vec<&str> = of_rows.into_iter().filter(|code| !of_model.contains(code)).collect();
            let is_text = !std::fs::read_to_string(shape).expect("it can be read").contains("role = ");
            let expected: &[&str] = if is_text && name != "plain" { &["string-prompts"] } else { &[] };
            assert_eq!(of_rows, expected, "{name}, {}: {findings:#?}", shape.display());
        }
    }
}

/// Each row has the examples that the retriever finds, or all rows where nobody says which.
fn see_rows(dataset: &Dataset, rows: &str, checker: &mut Checker) {
    let rows = rows.lines().map(|line| dataset.row(line).unwrap_or_else(|error| panic!("{error}")));
    let rows: Vec<Row> = rows.collect();
    let single_pass = dataset.single_pass();
    let inference = |dataset| RowPrompter::new(dataset, &rows[..]).unwrap_or_else(|error| panic!("{error}"));
    let (mut inference, mut other) = (inference(dataset), inference(&single_pass));
    let task = &dataset.task;
    let all = task.ice_template.is_some() && matches!(task.retriever.kind, RetrieverKind::Zero);
    let mut retriever = task.retriever.open(&rows, &task.input_columns).unwrap_or_else(|error| panic!("{error}"));
    checker.see_dataset(dataset, if task.ice_template.is_some() { &rows } else { &[] });
    for (i, row) in rows.iter().enumerate() {
        let examples = match all {
            true => (0..rows.len() as i64).collect(),
            false => retriever
                .retrieve(i)
                .and_then(|examples| examples.of(row, &rows))
                .unwrap_or_else(|error| panic!("{error}")),
        };
        let prompts = inference.prompts(row, examples.clone(), |_| Ok(0));
        checker.see_row(row, prompts, other.prompts(row, examples, |_| Ok(0)), &format!("line {}", i + 1));
    }
}

fn tokenizer(side: &Side) -> Arc<Tokenizer> {
    if [&side.patch, &side.added_tokens, &side.config, &side.generation].into_iter().all(Option::is_none) {
        return loaded::demo();
    }
    Arc::new(Tokenizer::new(&files(side)).unwrap_or_else(|error| panic!("{error}")))
}

fn files(side: &Side) -> TokenizerFiles {
    let mut files = Tokenizer::files("demo").expect("the demo is there");
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut json: Value = serde_json::from_slice(&files.tokenizer_json).expect("it is JSON");
    if let Some(patch) = &side.patch {
        merge(&mut json, parse(patch));
    }
    if let Some(Value::Array(tokens)) = side.added_tokens.as_deref().map(parse) {
        json["added_tokens"].as_array_mut().expect("it is a list").extend(tokens);
    }
    files.tokenizer_json = json.to_string().into_bytes();
    if let Some(config) = &side.config {
        files.tokenizer_config = Some(config.clone().into_bytes());
        files.generation_config = None;
    }
    if let Some(generation) = &side.generation {
        files.generation_config = Some(generation.clone().into_bytes());
    }
    files
}

/// Objects are merged, lists extended, all else is replaced.
fn merge(to: &mut Value, patch: Value) {
    match (to, patch) {
        (Value::Object(to), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(to.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(to), Value::Array(patch)) => to.extend(patch),
        (to, patch) => *to = patch,
    }
}
