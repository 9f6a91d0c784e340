//! Whole inferencers: what the model would get, examples dropped until it fits.

use metatok::dataset::prompter::{InferMode, ScoredText, TurnPlan};
use metatok::dataset::{Inferencer, InferencerKind, RowPrompt, RowPrompter, Task, Value as Py};
use metatok::render::ApiPrompt;
use metatok::{Conversation, Dataset, ErrorKind, Row};
use serde_json::{Value, json};

use crate::chat;
use crate::dataset::{matches, plain, recorded as recorded_prompt, rows, task, with_end};
use crate::{Outcome, Replayer, api, conversation, show};

pub(crate) fn replay(replayer: &Replayer, case: &Value, job: &Py) -> Outcome {
    let kind = job.get("inferencer").and_then(|inferencer| inferencer.get("type")).map(plain);
    let kind =
        kind.as_ref().and_then(|kind| kind.get("$type").or(Some(kind))).and_then(Py::as_text).unwrap_or_default();
    let name = kind.rsplit('.').next().unwrap_or_default();
    let kind = match name {
        "GenInferencer" if case["job"]["inferencer"]["multiround"] == true => InferencerKind::Turns,
        "GenInferencer" | "SCInferencer" => InferencerKind::Generate,
        "PPLInferencer" => InferencerKind::Score,
        "LLInferencer" => InferencerKind::Continuation,
        "PPLOnlyInferencer" | "InferencePPLOnlyInferencer" => InferencerKind::ScoreOnly,
        "CLPInferencer" => InferencerKind::Choose,
        "ChatInferencer" => InferencerKind::Chat,
        other => return Outcome::Skipped(other.into()),
    };
    if kind == InferencerKind::Turns && case["job"]["batch_size"].as_u64().is_some_and(|size| size > 1) {
        return Outcome::Skipped("dialogues side by side, each as fast as it is answered".into());
    }
    let expected = &case["expect"];
    let calls = || expected["calls"].as_array().into_iter().flatten();
    // What the model gets one by one; how many at a time is the wrapper's business.
    let flat = |key: &str| -> Vec<Value> {
        calls().flat_map(|call| call[key].as_array().cloned().unwrap_or_default()).collect()
    };
    let inputs: Vec<Value> = flat("inputs").iter().map(api::without_api_role).collect();
    let error = expected.get("error").or(expected.get("build_error"));
    let inference = Replayed { replayer, case, job, kind };
    let found = match inference.prompts() {
        Ok(found) => found,
        Err(_) if error.is_some() => return Outcome::Passed,
        Err(error) => return inference.refused(&error, &inputs),
    };
    // Repeated sampling asks the same again, a batch at a time.
    let order: Vec<usize> = match name {
        "SCInferencer" => inference.sampled(found.len()),
        _ => (0..found.len()).collect(),
    };
    // The reference looks at all of them, also if it asks none.
    let all: Vec<&Input> = found.iter().collect();
    if error.is_some() && all.iter().any(|prompt| prompt.input.is_err()) {
        return Outcome::Passed;
    }
    let found: Vec<&Input> = order.into_iter().map(|i| all[i]).collect();
    let mut excepted = None;
    if found.len() < inputs.len() || (error.is_none() && found.len() > inputs.len()) {
        let rule = inputs.is_empty().then(|| inference.excepted(&found, &json!([]))).flatten();
        return match rule {
            Some(rule) => Outcome::Excepted(rule),
            None => Outcome::Failed(format!("{} prompts, recorded {inputs:?}", found.len())),
        };
    }
    // Also before an error.
    for (prompt, recorded) in found.iter().zip(&inputs) {
        if matches(&prompt.input, recorded) {
            continue;
        }
        match inference.excepted(&[prompt], recorded) {
            Some(rule) => excepted = Some(rule),
            None => return Outcome::Failed(show(&prompt.input, recorded)),
        }
    }
    if let Some(error) = error {
        return match inference.excepted(&all, error) {
            Some(rule) => Outcome::Excepted(rule),
            None => Outcome::Failed(format!("{} prompts, recorded {error}", found.len())),
        };
    }
    let masks: Vec<Value> = found.iter().filter_map(|prompt| inference.mask_length(prompt)).collect();
    let recorded = flat("mask_length");
    if !recorded.is_empty() && masks != recorded {
        return Outcome::Failed(format!("contexts of {masks:?}, recorded {recorded:?}"));
    }
    // The recorded tokenizer takes characters for tokens.
    let ids = |prompt: &Input| -> Value {
        prompt.prompt.choices.iter().flat_map(|choice| choice.chars().map(u32::from)).collect()
    };
    let choices: Vec<&Value> = calls().filter_map(|call| call.get("choice_ids")).collect();
    for (prompt, recorded) in found.iter().zip(choices) {
        if ids(prompt) == *recorded {
            continue;
        }
        // Only the first row's may stand for another's.
        match inference.excepted(&[prompt], recorded).filter(|_| ids(found[0]) == *recorded) {
            Some(rule) => excepted = Some(rule),
            None => return Outcome::Failed(format!("choices {}, recorded {recorded}", ids(prompt))),
        }
    }
    excepted.map_or(Outcome::Passed, Outcome::Excepted)
}

struct Replayed<'a> {
    replayer: &'a Replayer,
    case: &'a Value,
    job: &'a Py,
    kind: InferencerKind,
}

/// A prompt, and what the model gets of it.
struct Input {
    prompt: RowPrompt,
    /// What the row's template makes, if that is not the prompt: a chat is made of it.
    template: Option<Conversation>,
    input: metatok::Result<Value>,
}

impl Replayed<'_> {
    /// What became of a case for which the reference has inputs, but here nothing is asked.
    fn refused(&self, error: &metatok::Error, inputs: &[Value]) -> Outcome {
        let mut job = self.case["job"].clone();
        job["refused"] = true.into();
        let nothing = [json!([])];
        let inputs = if inputs.is_empty() { &nothing } else { inputs };
        let rules: Option<Vec<String>> = inputs.iter().map(|recorded| self.replayer.excepted(&job, recorded)).collect();
        match rules.and_then(|mut rules| rules.pop()) {
            Some(rule) => Outcome::Excepted(rule),
            None => Outcome::Failed(show(&Err(crate::dataset::copy(error)), &json!(inputs))),
        }
    }

    /// The rule by which one of these prompts may differ from what is recorded.
    fn excepted(&self, prompts: &[&Input], recorded: &Value) -> Option<String> {
        prompts.iter().find_map(|prompt| {
            let mut job = self.case["job"].clone();
            let conversation = prompt.template.as_ref().unwrap_or(&prompt.prompt.conversation);
            job["prompt"] = with_end(&recorded_prompt(conversation), "end");
            job["refused"] = prompt.input.is_err().into();
            self.replayer.excepted(&job, recorded)
        })
    }

    /// The order in which so many prompts are asked: each batch of them as often as is sampled.
    fn sampled(&self, len: usize) -> Vec<usize> {
        let number = |value: &Value| value.as_u64().unwrap_or(1) as usize;
        let (batch, samples) =
            (number(&self.case["job"]["batch_size"]), number(&self.case["job"]["inferencer"]["sc_size"]));
        let prompts: Vec<usize> = (0..len).collect();
        prompts.chunks(batch.max(1)).flat_map(|batch| batch.repeat(samples)).collect()
    }

    /// In the reference's order: of each label all rows.
    fn prompts(&self) -> metatok::Result<Vec<Input>> {
        let task = task(self.job, self.job)?;
        let inferencer = self.job.get("inferencer").expect("it has one");
        if inferencer.get("fix_id_list").is_some() {
            // As in a dataset file.
            return Err(ErrorKind::Template("fix_id_list belongs to the retriever".into()).into());
        }
        let (train, test) = (rows(self.job.get("train")), rows(self.job.get("test")));
        if self.kind == InferencerKind::Chat {
            return self.chats(&task, &test);
        }
        let ids = self.ids(&task, &train, &test)?;
        let labels = match (self.kind, inferencer.get("labels")) {
            (_, Some(Py::List(labels))) => Some(labels.iter().map(plain).collect()),
            (InferencerKind::Score | InferencerKind::Continuation, _) => Some(task.labels(&test)?),
            _ => None,
        };
        let text = |key: &str| inferencer.get(key).and_then(Py::as_text).map(str::to_owned);
        let inferencer = Inferencer {
            kind: self.kind,
            labels,
            normalizing_str: text("normalizing_str"),
            infer_mode: InferMode::EveryEmpty,
            ..Inferencer::default()
        };
        let dataset = Dataset {
            name: String::new(),
            abbr: None,
            task,
            test_range: None,
            train_range: None,
            inferencer,
            derived_columns: metatok::dataset::rows::DerivedColumns::default(),
            repeats: metatok::dataset::rows::Repeats::default(),
            eval_cfg: None,
            infer_order: None,
            key_path: "infer_cfg",
            unread_keys: Vec::new(),
            names_retriever: true,
        };
        let (counted, rendered) = match self.kind {
            InferencerKind::Score | InferencerKind::Continuation => ("ppl", "ppl"),
            InferencerKind::ScoreOnly => ("gen", "ppl"),
            _ => ("gen", "gen"),
        };
        let mut inference = RowPrompter::new(&dataset, &train[..])?;
        if self.kind == InferencerKind::Turns {
            return self.rounds(&mut inference, &test, ids);
        }
        let mut all = Vec::new();
        for (row, ids) in test.iter().zip(ids) {
            let prompts = inference.prompts(row, ids, |prompt| self.excess(prompt, counted))?;
            all.push(prompts.into_iter().map(Some).collect::<Vec<_>>());
        }
        let mut inputs = Vec::new();
        for i in 0..all.iter().map(Vec::len).max().unwrap_or(0) {
            for prompt in all.iter_mut().filter_map(|prompts| prompts.get_mut(i)?.take()) {
                let input = self.parsed(&prompt.conversation, rendered);
                inputs.push(Input { prompt, template: None, input });
            }
        }
        Ok(inputs)
    }

    /// The empty turns of every dialogue, answered as the recorded model does.
    fn rounds(&self, inference: &mut RowPrompter, test: &[Row], ids: Vec<Vec<i64>>) -> metatok::Result<Vec<Input>> {
        let mut inputs: Vec<Input> = Vec::new();
        for (row, ids) in test.iter().zip(ids) {
            let mut plan = inference.plan(row, ids, |prompt| self.excess(prompt, "gen"))?;
            while let Some(prompt) = plan.prompt() {
                let input = self.parsed(&prompt, "gen");
                plan.answer(format!("<reply {}>", inputs.len()));
                inputs.push(Input { prompt: prompt.into(), template: None, input });
            }
        }
        Ok(inputs)
    }

    /// By how much a prompt is too long.
    fn excess(&self, prompt: &Conversation, mode: &str) -> metatok::Result<usize> {
        let Some(longest) = self.case["job"]["max_seq_len"].as_u64() else { return Ok(0) };
        let len = self.len(&self.parsed(prompt, mode)?) + self.kind.room();
        Ok(len.saturating_sub(longest as usize))
    }

    /// The turns of every chat, answered as the recorded model does.
    fn chats(&self, task: &Task, test: &[Row]) -> metatok::Result<Vec<Input>> {
        let mode = self.case["job"]["inferencer"]["infer_mode"].as_str().unwrap_or("last").parse()?;
        let mut inputs: Vec<Input> = Vec::new();
        for row in test {
            let template = task.prompt(row, &crate::dataset::none()).ok();
            let mut plan = TurnPlan::new(Conversation::Messages(task.chat(row)?), mode)?;
            while let Some(Conversation::Messages(messages)) = plan.prompt() {
                let meta = &self.case["job"]["meta"];
                let input = match self.is_api() {
                    true => chat::api(meta, &messages)?,
                    false => chat::text(self.replayer, meta, &messages)?,
                };
                plan.answer(format!("<reply {}>", inputs.len()));
                let prompt = Conversation::Messages(messages).into();
                inputs.push(Input { prompt, template: template.clone(), input: Ok(input) });
            }
        }
        Ok(inputs)
    }

    /// How long the context is, where only what follows is scored.
    fn mask_length(&self, prompt: &Input) -> Option<Value> {
        let (ScoredText::After(bytes), Conversation::Text(text)) = (&prompt.prompt.scored, &prompt.prompt.conversation)
        else {
            return None;
        };
        Some(self.len(&json!(text[..*bytes])).into())
    }

    /// The examples of each row.
    fn ids(&self, task: &Task, train: &[Row], test: &[Row]) -> metatok::Result<Vec<Vec<i64>>> {
        let Some(listed) = self.job.get("ice_ids") else {
            let mut retriever = task.retriever.open(train, &task.input_columns)?;
            return test.iter().enumerate().map(|(i, row)| retriever.retrieve(i)?.of(row, train)).collect();
        };
        let Py::List(all) = listed else { return Ok(vec![Vec::new(); test.len()]) };
        let ids = |index: usize| match all.get(index) {
            Some(Py::List(ids)) => ids.iter().map(|id| id.text().parse().expect("it is one")).collect(),
            _ => Vec::new(),
        };
        Ok((0..test.len()).map(ids).collect())
    }

    fn is_api(&self) -> bool {
        let meta = &self.case["job"]["meta"];
        let roles = meta["round"].as_array().into_iter().flatten();
        let is_api = meta.is_array() || roles.into_iter().any(|role| role.get("api_role").is_some());
        self.case["job"]["parser"].as_str().map_or(is_api, |parser| parser == "api")
    }

    fn parsed(&self, prompt: &Conversation, mode: &str) -> metatok::Result<Value> {
        let meta = &self.case["job"]["meta"];
        let prompt = recorded_prompt(prompt);
        if self.is_api() {
            return self.replayer.api(meta, &prompt, mode);
        }
        conversation(&prompt)?;
        self.replayer.parsed(&json!({ "meta": meta }), &prompt, mode)
    }

    /// The length of what the model gets, in the unit of the case.
    fn len(&self, input: &Value) -> usize {
        let text: String = match input {
            Value::String(text) => text.clone(),
            // OpenAI-style messages are a batch of Python's dicts.
            Value::Array(messages) => {
                let dict = |message: &Value| Py::from_json(&message.to_string()).expect("it is JSON").repr();
                return messages.iter().map(|message| self.len(&dict(message).into())).sum();
            }
            other => {
                let turns = other["$pl"].as_array().into_iter().flatten();
                turns.map(|turn| turn["prompt"].as_str().unwrap_or_default()).collect()
            }
        };
        match self.case["job"]["token_len"].as_str() {
            Some("bytes") => text.len(),
            Some("words") => text.split(is_python_space).filter(|word| !word.is_empty()).count(),
            Some("api") => ApiPrompt::Text(text).estimated_tokens(),
            _ => text.chars().count(),
        }
    }
}

/// What Python's `split` takes for white space: four controls more than Rust.
pub(crate) fn is_python_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}
