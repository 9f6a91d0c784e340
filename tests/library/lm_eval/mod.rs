//! lm-evaluation-harness's own code: what its tasks ask is what the dataset files ask, and the tokens that it scores are those of
//! the labels.
//!
//! Skipped, and that is said, where no Python has its package; METATOK_PYTHON names one. `pip install lm_eval` brings all that is
//! needed for the prompts, and `pip install tokenizers` for the tokens.

mod package;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use metatok::dataset::prompter::ScoredText;
use metatok::dataset::template::{Layout, QaTemplate};
use metatok::dataset::{RowPrompt, RowPrompter};
use metatok::{
    BuilderOptions, ChatMessage, ContentTrust, Conversation, Dataset, Mode, Model, PromptBuilder, Row, Tokenizer,
};
use package::{Asked, Encoded, Made, Rows, encoded, lines};
use serde_json::json;

use crate::harness::{Tests, tests};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![prompts_are_those_of_its_tasks, scored_tokens_are_those_of_its_models]
}

fn qa(dataset: &mut Dataset) -> &mut QaTemplate {
    let template = dataset.task.prompt_template.as_mut().and_then(|template| template.downcast_mut());
    template.expect("its template is of questions and answers")
}

/// The dataset file with what the task changes.
fn dataset(asked: &Asked) -> Dataset {
    let file = root().join(format!("datasets/{}.toml", asked.dataset));
    let mut dataset = Dataset::load(&file).unwrap_or_else(|error| panic!("{error}"));
    dataset.set_layout(asked.layout.parse().expect("it is one")).expect("it has layouts");
    dataset.task.retriever.set_count(asked.num_fewshot).expect("there are examples");
    let template = qa(&mut dataset);
    for (key, value) in &asked.others {
        let place = match key.as_str() {
            "gen_prefix" => &mut template.gen_prefix,
            "target_delimiter" => &mut template.target_delimiter,
            "fewshot_delimiter" => &mut template.fewshot_delimiter,
            "description" => &mut template.description,
            other => panic!("{other}"),
        };
        place.clone_from(value);
    }
    dataset
}

fn prompts(dataset: &Dataset, rows: &Rows) -> metatok::Result<Vec<Vec<RowPrompt>>> {
    let read =
        |rows: &[package::Json]| rows.iter().map(|row| dataset.row(row.get())).collect::<metatok::Result<Vec<Row>>>();
    let (train, rows) = (read(&rows.train)?, read(&rows.rows)?);
    let mut retriever = dataset.task.retriever.open(&train, &[])?;
    let mut inference = RowPrompter::new(dataset, &train[..])?;
    let prompts = |(i, row): (usize, &Row)| inference.prompts(row, retriever.retrieve(i)?.of(row, &train)?, |_| Ok(0));
    rows.iter().enumerate().map(prompts).collect()
}

/// The conversation that a task asks, with its continuation.
fn conversation(made: &Made) -> Conversation {
    let Made(context, opens_answer, continuation) = made;
    let continuation = continuation.as_str().unwrap_or_default();
    let mut conversation: Conversation = serde_json::from_value(context.clone()).expect("it is a text or messages");
    match &mut conversation {
        Conversation::Text(text) => text.push_str(continuation),
        Conversation::Messages(messages) if *opens_answer && !continuation.is_empty() => {
            messages.push(ChatMessage::new("assistant", continuation));
        }
        Conversation::Messages(messages) if !opens_answer => {
            let begun = serde_json::to_value(&messages.pop().expect("it has begun").content).expect("it is JSON");
            let begun = begun.as_str().expect("it is a text").to_owned();
            messages.push(ChatMessage::new("assistant", begun + continuation));
        }
        _ => {}
    }
    conversation
}

/// What the task says about answers is what the dataset file says.
fn check_answers(dataset: &Dataset, made: &Made, prompt: &RowPrompt) {
    match &made.2 {
        serde_json::Value::String(continuation) => {
            assert_eq!(prompt.scored, ScoredText::Continuation(continuation.len()))
        }
        kwargs => {
            assert_eq!(kwargs["until"], json!(dataset.inferencer.stopping_criteria));
            assert_eq!(kwargs["temperature"], json!(dataset.inferencer.sampling_params.temperature));
            assert_eq!(prompt.max_out_len, Some(256));
        }
    }
}

fn prompts_are_those_of_its_tasks() {
    let Some(lines) = lines() else { return };
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for asked in &lines.asked {
        let place = format!("{} {} {} {:?}", asked.source, asked.layout, asked.num_fewshot, asked.others);
        let dataset = dataset(asked);
        let built = prompts(&dataset, &lines.rows[&asked.source]).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(built.len(), asked.made.len(), "{place}");
        for (number, (built, made)) in built.iter().zip(&asked.made).enumerate() {
            assert_eq!(built.len(), made.len(), "{place}: row {number}");
            for (prompt, made) in built.iter().zip(made) {
                assert_eq!(prompt.conversation, conversation(made), "{place}: row {number}");
                check_answers(&dataset, made, prompt);
                *counts.entry((&asked.task, &asked.layout)).or_default() += 1;
            }
        }
    }
    for ((task, layout), prompts) in &counts {
        println!("lm_eval: {task} {layout}: {prompts} prompts are equal");
    }
    println!("lm_eval: {} prompts of {} ways to ask are equal", counts.values().sum::<usize>(), lines.asked.len());
    assert_eq!(counts.len(), 21, "seven tasks in three layouts");
}

/// A model and its tokenizer.
const MODELS: [(&str, &str); 4] =
    [("qwen3", "qwen3"), ("llama-3", "llama3_1"), ("llama-2-chat", "llama2"), ("gemma-2", "gemma2")];

/// Builds as the program does for the dataset.
fn builder(model: &Model, tokenizer: &Arc<Tokenizer>, dataset: &mut Dataset) -> PromptBuilder {
    let template = qa(dataset);
    let is_chat = template.layout != Layout::Text;
    let options = BuilderOptions {
        mode: Mode::Score,
        // The reference reads control tokens in what rows say.
        content: ContentTrust::Trusted,
        continue_final_message: is_chat && !template.gen_prefix.is_empty(),
        open_answer: is_chat,
        text: true,
        ..BuilderOptions::default()
    };
    let model = if is_chat { model.clone() } else { Model::default() };
    PromptBuilder::new(&model, Arc::clone(tokenizer), &options).unwrap_or_else(|error| panic!("{error}"))
}

fn scored_tokens_are_those_of_its_models() {
    let folder = std::env::var("METATOK_TOKENIZERS").unwrap_or_else(|_| "../shared/tokenizers".into());
    if !Path::new(&folder).is_dir() {
        println!("skipped: there is no {folder}");
        return;
    }
    let Some(lines) = lines() else { return };
    let (mut pairs, mut built) = (Vec::new(), Vec::new());
    for (model, tokenizer) in MODELS {
        let file = Path::new(&folder).join(tokenizer).join("tokenizer.json");
        let tokenizer = Arc::new(Tokenizer::load(&file.to_string_lossy()).unwrap_or_else(|error| panic!("{error}")));
        let model = Model::load(model).unwrap_or_else(|error| panic!("{error}"));
        for asked in lines.asked.iter().filter(|asked| asked.made[0][0].2.is_string() && asked.num_fewshot < 2) {
            let mut dataset = dataset(asked);
            let builder = builder(&model, &tokenizer, &mut dataset);
            let prompts = prompts(&dataset, &lines.rows[&asked.source]).expect("they are built above");
            for prompt in prompts.into_iter().take(4).flatten() {
                let ScoredText::Continuation(bytes) = prompt.scored else { panic!("{:?}", prompt.scored) };
                let tokens = builder.build(&prompt.conversation).unwrap_or_else(|error| panic!("{error}"));
                let context = builder.context_tokens(&prompt.conversation, bytes).expect("it ends so");
                let text = tokens.text.as_deref().expect("it was asked for");
                let (before, continuation) = text.split_at(text.len() - bytes);
                pairs.push((file.clone(), before.to_owned(), continuation.to_owned()));
                built.push((tokens.labels_after_context(context).ok(), tokens.input_ids, asked.others.is_empty()));
            }
        }
    }
    let Some(encoded) = encoded(&pairs) else { return };
    assert_eq!(encoded.len(), built.len());
    let (mut over_the_seam, mut of_its_own) = (0, 0);
    for ((Encoded(whole, context, continuation), (labels, ids, is_own)), pair) in encoded.iter().zip(&built).zip(&pairs)
    {
        assert_eq!(ids, whole, "{pair:?}");
        let is_over_the_seam = !ids.starts_with(context);
        over_the_seam += usize::from(is_over_the_seam);
        of_its_own += usize::from(is_over_the_seam && *is_own);
        // Its models refuse to score nothing, too.
        let Some(labels) = labels else {
            assert!(continuation.is_empty(), "{pair:?}");
            continue;
        };
        let scored: Vec<i64> = continuation.iter().map(|&id| id.into()).collect();
        assert_eq!(labels[context.len()..], scored, "{pair:?}");
        assert!(labels[..context.len()].iter().all(|&label| label == -100), "{pair:?}");
    }
    println!(
        "lm_eval: of {} texts the same tokens are scored; in {over_the_seam} one stands over the seam, in {of_its_own} of the tasks as they are",
        built.len()
    );
}
