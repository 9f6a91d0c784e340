//! Few-shot prompts from structs of one's own: rows come from serde, and examples are dropped until the prompt fits.

use std::error::Error;

use metatok::dataset::RowPrompter;
use metatok::{Conversation, Dataset, PromptBuilder, Row};
use serde::Serialize;

#[derive(Serialize)]
struct Question {
    question: &'static str,
    answer: &'static str,
}

const DATASET: &str = r#"
    [reader_cfg]
    input_columns = ["question"]
    output_column = "answer"

    [infer_cfg.ice_template]
    template = { round = [{ role = "HUMAN", prompt = "{question}" }, { role = "BOT", prompt = "{answer}" }] }

    [infer_cfg.prompt_template]
    template = { begin = "</E>", round = [{ role = "HUMAN", prompt = "{question}" }, { role = "BOT" }] }
    ice_token = "</E>"

    [infer_cfg.inferencer]
    type = "GenInferencer"
"#;

fn row(question: &Question) -> Result<Row, Box<dyn Error>> {
    Ok(Row::from_json(&serde_json::to_string(question)?)?)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let train = [
        Question { question: "Which planet is red?", answer: "Mars" },
        Question { question: "What is the capital of France?", answer: "Paris." },
    ];
    let train = train.iter().map(row).collect::<Result<Vec<Row>, _>>()?;
    let asked = row(&Question { question: "1+1=?", answer: "" })?;

    let builder = PromptBuilder::demo()?;
    let mut prompter = RowPrompter::new(&Dataset::parse("questions", DATASET.as_bytes())?, train)?;
    let mut texts = Vec::new();
    for context in [200, 50, 20] {
        let excess = |prompt: &Conversation| Ok(builder.build(prompt)?.input_ids.len().saturating_sub(context));
        let prompts = prompter.prompts(&asked, vec![0, 1], excess)?;
        let prompt = builder.build(&prompts[0].conversation)?;
        assert!(prompt.input_ids.len() <= context);
        texts.push(builder.tokenizer().decode(&prompt.input_ids, false)?);
    }
    let examples: Vec<usize> = texts.iter().map(|text| text.matches("assistant\n").count() - 1).collect();
    assert_eq!(examples, [2, 1, 0]);
    Ok(())
}
