//! Whole inferencers: what the model would get, examples dropped until it fits.

use metatok::{Conversation, ErrorKind, Shots, Task, Value as Py};
use serde_json::{Value, json};

use crate::dataset::{matches, plain, rows, task};
use crate::{Outcome, Replayer, api, conversation, show};

pub(crate) fn replay(replayer: &Replayer, case: &Value, job: &Py) -> Outcome {
    let kind = job.get("inferencer").and_then(|inferencer| inferencer.get("type")).map(plain);
    let kind =
        kind.as_ref().and_then(|kind| kind.get("$type").or(Some(kind))).and_then(Py::as_text).unwrap_or_default();
    let kind = kind.rsplit('.').next().unwrap_or_default();
    if !matches!(kind, "GenInferencer" | "SCInferencer" | "PPLInferencer" | "LLInferencer" | "PPLOnlyInferencer")
        || job.get("inferencer").and_then(|inferencer| inferencer.get("normalizing_str")).is_some()
    {
        return Outcome::Skipped(kind.into());
    }
    let expected = &case["expect"];
    let calls = expected["calls"].as_array().into_iter().flatten();
    // What the model gets one by one; how many at a time is the wrapper's business.
    let inputs: Vec<Value> = calls.flat_map(|call| call["inputs"].as_array().cloned().unwrap_or_default()).collect();
    let error = expected.get("error").or(expected.get("build_error"));
    let found = Inference { replayer, case, job, kind }.inputs();
    let expected = match error {
        Some(error) => error.clone(),
        None => inputs.iter().map(api::without_api_role).collect(),
    };
    // Repeated sampling asks the same again.
    let found = found.map(|found| match kind {
        "SCInferencer" => found.iter().cloned().cycle().take(inputs.len()).collect(),
        _ => Value::from(found),
    });
    if matches(&found, &expected) {
        return Outcome::Passed;
    }
    match replayer.excepted(&case["job"], &expected) {
        Some(rule) => Outcome::Excepted(rule),
        None => Outcome::Failed(show(&found, &expected)),
    }
}

struct Inference<'a> {
    replayer: &'a Replayer,
    case: &'a Value,
    job: &'a Py,
    kind: &'a str,
}

impl Inference<'_> {
    fn inputs(&self) -> metatok::Result<Vec<Value>> {
        let task = task(self.job, self.job)?;
        let inferencer = self.job.get("inferencer").expect("it has one");
        if inferencer.get("fix_id_list").is_some() {
            // As in a dataset file.
            return Err(ErrorKind::Template("fix_id_list belongs to the retriever".into()).into());
        }
        let (train, test) = (rows(self.job.get("train")), rows(self.job.get("test")));
        let mut ids = self.ids(&task, train.len(), test.len())?;
        let mut shots = Shots::new(&task, &train);
        let labels: Vec<Option<Py>> = match self.kind {
            "PPLInferencer" | "LLInferencer" => match inferencer.get("labels") {
                Some(Py::List(labels)) => labels.iter().map(|label| Some(plain(label))).collect(),
                _ => task.labels(&test)?.into_iter().map(Some).collect(),
            },
            _ => vec![None],
        };
        let (counted, rendered) = match self.kind {
            "PPLInferencer" | "LLInferencer" => ("ppl", "ppl"),
            "PPLOnlyInferencer" => ("gen", "ppl"),
            _ => ("gen", "gen"),
        };
        let longest = self.case["job"]["max_seq_len"].as_u64();
        let mut inputs = Vec::new();
        for label in &labels {
            for (row, ids) in test.iter().zip(&mut ids) {
                let fits = |prompt: &Conversation| match longest {
                    None => Ok(true),
                    Some(longest) => Ok(self.len(&self.parsed(prompt, counted)?) <= longest as usize),
                };
                let prompt = shots.prompt(row, ids, label.as_ref(), fits)?;
                inputs.push(self.parsed(&prompt, rendered)?);
            }
        }
        Ok(inputs)
    }

    /// The examples of each row.
    fn ids(&self, task: &Task, train: usize, test: usize) -> metatok::Result<Vec<Vec<i64>>> {
        let listed = self.job.get("ice_ids");
        let mut retriever = match listed {
            Some(_) => None,
            None => Some(task.retriever.open(train)?),
        };
        let ids = |index: usize| -> metatok::Result<Vec<i64>> {
            if let Some(retriever) = &mut retriever {
                return retriever.retrieve(index);
            }
            let Some(Py::List(all)) = listed else { return Ok(Vec::new()) };
            match all.get(index) {
                Some(Py::List(ids)) => Ok(ids.iter().map(|id| id.text().parse().expect("it is one")).collect()),
                _ => Ok(Vec::new()),
            }
        };
        (0..test).map(ids).collect()
    }

    fn parsed(&self, prompt: &Conversation, mode: &str) -> metatok::Result<Value> {
        let meta = &self.case["job"]["meta"];
        let prompt = match prompt {
            Conversation::List(items) => json!({ "$pl": items }),
            other => json!(other),
        };
        let roles = meta["round"].as_array().into_iter().flatten();
        let is_api = meta.is_array() || roles.into_iter().any(|role| role.get("api_role").is_some());
        match self.case["job"]["parser"].as_str().unwrap_or(if is_api { "api" } else { "lm" }) {
            "api" => self.replayer.api(meta, &prompt, mode),
            _ => {
                conversation(&prompt)?;
                self.replayer.parsed(&json!({ "meta": meta }), &prompt, mode)
            }
        }
    }

    /// The length of what the model gets, in the unit of the case.
    fn len(&self, input: &Value) -> usize {
        let text: String = match input {
            Value::String(text) => text.clone(),
            other => {
                let turns = other["$pl"].as_array().into_iter().flatten();
                turns.map(|turn| turn["prompt"].as_str().unwrap_or_default()).collect()
            }
        };
        match self.case["job"]["token_len"].as_str() {
            Some("bytes") => text.len(),
            Some("words") => text.split(is_python_space).filter(|word| !word.is_empty()).count(),
            Some("api") => {
                let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).count();
                words + text.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count()
            }
            _ => text.chars().count(),
        }
    }
}

/// What Python's `split` takes for white space: four controls more than Rust.
fn is_python_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}
