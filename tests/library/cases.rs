//! Runs the cases of the library: one file each, and the file says all there is to it.
//!
//! `prompts/` holds models, conversations, and the texts and ids they must give, or the error. `rows/` holds datasets with
//! their rows and the prompts before any model.

use libtest_mimic::Completion;
use metatok::dataset::RowPrompter;
use metatok::dataset::prompter::TurnPlan;
use metatok::{AddSpecialTokens, BuilderOptions, ContentTrust, Conversation, Dataset, Mode, Model, PromptBuilder, Row};
use serde::Deserialize;

use crate::case_files::{self, CaseFile};
use crate::harness::Tests;
use crate::loaded;

pub(crate) fn tests() -> Tests {
    let mut tests = case_files::each("tests/cases/prompts", prompt_case);
    tests.extend(case_files::each("tests/cases/rows", row_case));
    tests
}

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
    /// Its ids, with the demo's tokenizer.
    gen_ids: Option<Vec<u32>>,
    /// The text to score.
    ppl: Option<String>,
    ppl_ids: Option<Vec<u32>>,
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

fn prompt_case(file: &CaseFile, case: &PromptCase) -> Completion {
    let modes = [(Mode::Generate, "gen", &case.r#gen, &case.gen_ids), (Mode::Score, "ppl", &case.ppl, &case.ppl_ids)];
    for (mode, key, text, ids) in modes {
        let gen_error = case.gen_error.as_ref().filter(|_| mode == Mode::Generate).map(|error| ("gen_error", error));
        let error = gen_error.or(case.error.as_ref().map(|error| ("error", error)));
        match (build(file, case, mode), error) {
            (Err(found), Some((key, expected))) => file.value(&[key], &found.to_string(), expected),
            (Ok((_, text)), Some(_)) => panic!("there is no error but {text:?}"),
            (Err(error), None) if text.is_some() => panic!("{error}"),
            (Ok(found), None) => {
                if let Some(text) = text {
                    let ids = ids.as_ref().unwrap_or_else(|| panic!("{key}_ids are missing beside {key}"));
                    prompt(file, key, found, (ids, text), case.content);
                }
            }
            (Err(_), None) => {}
        }
    }
    Completion::Completed
}

fn prompt(
    file: &CaseFile,
    key: &str,
    found: (Vec<u32>, String),
    expected: (&Vec<u32>, &String),
    content: ContentTrust,
) {
    file.value(&[key], &found.1, expected.1);
    file.value(&[&format!("{key}_ids")], &found.0, expected.0);
    assert_eq!(loaded::demo().decode(&found.0, false).expect("they are its ids"), found.1, "{key}");
    if content == ContentTrust::Trusted {
        assert_eq!(found.0, loaded::demo().encode(&found.1).expect("it encodes"), "{key}");
    }
}

fn build(file: &CaseFile, case: &PromptCase, mode: Mode) -> metatok::Result<(Vec<u32>, String)> {
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
    let builder = PromptBuilder::new(&model, loaded::demo(), &options)?;
    let warnings: Vec<String> = builder.warnings().map(ToString::to_string).collect();
    file.value(&["warnings"], &warnings, &case.warnings);
    if let Some(expected) = &case.stop_token_ids {
        file.value(&["stop_token_ids"], &builder.stop().stop_token_ids().collect(), expected);
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

fn row_case(file: &CaseFile, case: &RowCase) -> Completion {
    let built = conversations(case);
    if let Some(expected) = &case.error {
        let error = built.expect_err("the case expects an error");
        file.value(&["error"], &error.to_string(), expected);
        return Completion::Completed;
    }
    let (mode, prompts) = built.unwrap_or_else(|error| panic!("{error}"));
    if let Some(expected) = &case.prompts {
        file.value(&["prompts"], &prompts, expected);
    }
    if let Some(expected) = &case.texts {
        file.value(&["texts"], &texts(case, mode, &prompts), expected);
    }
    Completion::Completed
}

fn texts(case: &RowCase, mode: Mode, prompts: &[Conversation]) -> Vec<String> {
    let model = case.model.as_ref().map_or_else(Model::default, |text| {
        Model::parse("model.toml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
    });
    let options = BuilderOptions { mode, text: true, ..BuilderOptions::default() };
    let builder = PromptBuilder::new(&model, loaded::demo(), &options).expect("the model fits");
    let text = |prompt| builder.build(prompt).unwrap_or_else(|error| panic!("{error}")).text;
    prompts.iter().filter_map(text).collect()
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
