//! A judge's prompts are those of a plain dataset whose rows have the judge's columns written out.

use metatok::dataset::judge::Prediction;
use metatok::dataset::{RowPrompter, Value};
use metatok::{Conversation, Dataset, Row};
use proptest::prelude::*;
use serde_json::json;

use crate::harness::{Tests, tests};

pub(crate) fn tests() -> Tests {
    tests![prompts_are_those_of_rows_with_the_columns_written_out]
}

/// Texts of templates, rows and answers, which may bring in one another.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "Mars ",
        "火星",
        "\n",
        "{question}",
        "{answer}",
        "{prediction}",
        "{prediction2}",
        "{obj_gold}",
        "{reference}",
        "{prediction_en_word_count}",
        "{prediction2_cn_word_count}",
        "{none}",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..6).prop_map(|pieces| pieces.concat())
}

/// The evaluators, and how many models they compare.
fn evaluator() -> impl Strategy<Value = (&'static str, usize)> {
    prop::sample::select(vec![
        ("GenericLLMEvaluator", 1),
        ("CascadeEvaluator", 1),
        ("LMEvaluator", 1),
        ("LMEvaluator", 2),
    ])
}

fn dataset(keys: serde_json::Value) -> Dataset {
    Dataset::parse("d.json", keys.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn judged(evaluator: &str, template: &serde_json::Value) -> Dataset {
    let within = json!({"type": "GenericLLMEvaluator", "prompt_template": template});
    let evaluator = match evaluator {
        "CascadeEvaluator" => json!({"type": evaluator, "llm_evaluator": within}),
        _ => json!({"type": evaluator, "prompt_template": template}),
    };
    let eval_cfg = json!({"evaluator": evaluator});
    dataset(json!({"reader_cfg": {"output_column": "answer"}, "infer_cfg": {}, "eval_cfg": eval_cfg}))
}

/// The row with the judge's columns.
fn written_out(row: &Row, evaluator: &str, answer: &str, predictions: &[String]) -> Row {
    let mut columns: Vec<(String, Value)> = row.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let mut add = |name: String, value: Value| columns.push((name, value));
    for (model, prediction) in predictions.iter().enumerate() {
        let name = if model == 0 { "prediction" } else { "prediction2" };
        add(name.into(), prediction.as_str().into());
        if model == 0 && evaluator != "CascadeEvaluator" {
            add("obj_gold".into(), answer.into());
        }
        if evaluator == "LMEvaluator" {
            for (language, count) in counts(prediction) {
                add(format!("{name}_{language}_word_count"), Value::Int(count.to_string()));
            }
        }
    }
    add("reference".into(), answer.into());
    Row::new(columns)
}

/// Of the pieces above, what stands between characters that are no part of words.
fn counts(text: &str) -> [(&'static str, usize); 2] {
    let words = text.split([' ', '{', '}', '\n']);
    let english = words.filter(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic())).count();
    [("en", english), ("cn", text.matches(['火', '星']).count())]
}

fn prompt(dataset: &Dataset, row: &Row) -> Conversation {
    let mut inference = RowPrompter::new(dataset, []).unwrap_or_else(|error| panic!("{error}"));
    let prompts = inference.prompts(row, Vec::new(), |_| Ok(0)).unwrap_or_else(|error| panic!("{error}"));
    prompts.into_iter().next().unwrap_or_else(|| panic!("a row gives a prompt")).conversation
}

proptest! {
    fn prompts_are_those_of_rows_with_the_columns_written_out(
        (evaluator, models) in evaluator(),
        template in text(),
        is_messages: bool,
        question in text(),
        answer in text(),
        predictions in prop::collection::vec(text(), 2),
    ) {
        let predictions = &predictions[..models];
        let template = match is_messages {
            true => json!({"messages": [{"role": "user", "content": template}]}),
            false => json!({"template": {"round": [{"role": "HUMAN", "prompt": template}]}}),
        };
        let row = Row::new(vec![("question".into(), question.as_str().into()), ("answer".into(), answer.as_str().into())]);
        let plain = dataset(json!({"reader_cfg": {"output_column": "reference"}, "infer_cfg": {"prompt_template": template}}));
        let expected = prompt(&plain, &written_out(&row, evaluator, &answer, predictions));

        let judge = judged(evaluator, &template).judge().unwrap_or_else(|error| panic!("{error}"));
        let mut asked = row.clone();
        let said: Vec<Prediction> = predictions.iter().cloned().map(Prediction::Text).collect();
        judge.columns.add(&mut asked, &said).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(prompt(&judge.dataset, &asked), expected);
    }
}
