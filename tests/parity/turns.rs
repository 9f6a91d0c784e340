//! AISBench's pipelines of several turns: what is sent for each, the scripted answers put back.

use std::cell::RefCell;

use metatok::dataset::prompter::{InferMode, TurnPlan};
use metatok::dataset::rows::arrow_rows;
use metatok::dataset::{Task, Value as Py};
use metatok::{Conversation, Row};
use serde_json::{Value, json};

use crate::aisbench::{self, Parser, job};
use crate::dataset::{is_same, rows, task};
use crate::{Outcome, Replayer};

pub(crate) fn replay(replayer: &Replayer, case: &Value, py: &Py) -> Outcome {
    let expected = case.get("expect_fixed").unwrap_or(&case["expect"]);
    let infer = py.get("infer_cfg").expect("it has one");
    let (mut train, mut test) = (rows(py.get("train")), rows(py.get("test")));
    if case["rows"] == "arrow" {
        let name = case["source"].as_str().and_then(|source| source.split('#').nth(1)).unwrap_or_default();
        train = arrow_rows(train, &format!("{name}_train"));
        test = arrow_rows(test, &format!("{name}_test"));
    }
    let inferencer = infer.get("inferencer").and_then(|inferencer| inferencer.get("type")).and_then(Py::as_text);
    if inferencer != Some("MultiTurnGenInferencer") {
        return aisbench::pipeline(replayer, case, py);
    }
    if case["model"]["type"].as_str().is_some_and(|class| class.starts_with("HuggingFace")) {
        return Outcome::Skipped("local models, which send nothing".into());
    }
    let mut excepted = None;
    for (i, row) in test.iter().enumerate() {
        let Some(expected) = expected["rows"].get(i) else { continue };
        let mut job = job(case);
        job["rows"] = json!([case["test"][i]]);
        job["meta"] = Parser::meta(&case["model"]["meta_template"]);
        job["prompt"] = json!({ "$pl": expected["prompt"] });
        let excepted_messages = RefCell::default();
        let sent =
            Sent { replayer, case, answers: &case["answers"][i], expected, job: &job, excepted: &excepted_messages };
        let found = task(py, infer).map_err(Wrong::from).and_then(|task| sent.row(&task, &train, row, i));
        excepted = excepted_messages.take().or(excepted);
        let error = expected.get("error").or(expected.get("request_error"));
        let failed = match &found {
            Ok(()) if error.is_none() => continue,
            Ok(()) => "no error",
            Err(Wrong::Refused(_)) if error.is_some() => continue,
            Err(Wrong::Refused(message) | Wrong::Differs { message, .. }) => message,
        };
        job["sends_nothing"] = json!(expected["requests"].as_array().is_some_and(Vec::is_empty));
        job["refused"] = matches!(found, Err(Wrong::Refused(_))).into();
        let recorded = match &found {
            Err(Wrong::Differs { values, .. }) if !values[1].is_null() => {
                let [found, recorded] = &**values;
                job["found"] = found.clone();
                recorded.clone()
            }
            _ => json!({ "$error": error.map(|error| &error["type"]) }),
        };
        match replayer.excepted(&job, &recorded) {
            Some(rule) => excepted = Some(rule),
            None => return Outcome::Failed(format!("{failed}; recorded {expected}")),
        }
    }
    excepted.map_or(Outcome::Passed, Outcome::Excepted)
}

/// Why a row is not as it is recorded.
enum Wrong {
    /// metatok gives this error.
    Refused(String),
    /// metatok gives something else: what was found, and what is recorded.
    Differs { message: String, values: Box<[Value; 2]> },
}

impl Wrong {
    /// One request more or less than is recorded.
    fn count(message: String) -> Self {
        Self::Differs { message, values: Box::default() }
    }
}

impl From<metatok::Error> for Wrong {
    fn from(error: metatok::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

/// The requests of a row.
struct Sent<'a> {
    replayer: &'a Replayer,
    case: &'a Value,
    answers: &'a Value,
    expected: &'a Value,
    /// The row in the shape that the rules know.
    job: &'a Value,
    /// The rule by which messages differ, after which the others still count.
    excepted: &'a RefCell<Option<String>>,
}

impl Sent<'_> {
    fn row(&self, task: &Task, train: &[Row], row: &Row, index: usize) -> Result<(), Wrong> {
        let mut retriever = task.retriever.open(train, &task.input_columns)?;
        let ids = (0..=index).map(|i| retriever.retrieve(i)).next_back().expect("there is one")?.of(row, train)?;
        task.template()?;
        let prompt = task.prompt(row, &task.examples(&ids, train)?)?;
        if let Some(recorded) = self.expected.get("prompt") {
            differ(&json!(prompt), recorded)?;
        }
        // Where none are recorded, another row has ended the run, and only the prompt counts.
        let Some(requests) = self.expected["requests"].as_array() else { return Ok(()) };
        let mode = self.case["infer_cfg"]["inferencer"].get("infer_mode");
        let mode: InferMode = match mode {
            None => InferMode::default(),
            Some(mode) => mode.as_str().unwrap_or("null").parse()?,
        };
        let mut plan = TurnPlan::new(prompt, mode)?;
        let max_out_len = task.max_out_len(row)?;
        let mut requests = requests.iter().enumerate();
        'turns: while let Some(prompt) = plan.prompt() {
            let limit = plan.max_out_len(&max_out_len)?.or(self.case["model"]["max_out_len"].as_u64());
            // A request that fails on its way is sent once more.
            for _ in 0..self.case["model"]["retry"].as_u64().unwrap_or(2) {
                let Some((i, request)) = requests.next() else {
                    return Err(Wrong::count(format!("a request more: {}", self.parsed(&prompt)?)));
                };
                let body = &request["body"];
                self.compare(&prompt, body)?;
                // Some services have another word for it, and one none.
                if let Some(sent) = body.get("max_tokens").or(body["parameters"].get("max_new_tokens"))
                    && !self.replaces("max_tokens")
                {
                    differ(&json!(limit), sent)?;
                }
                match self.answer(i) {
                    Answer::Text(text) => {
                        plan.answer(text);
                        continue 'turns;
                    }
                    Answer::Failed => break 'turns,
                    Answer::Broken => {}
                }
            }
            break;
        }
        match requests.next() {
            Some((_, request)) => Err(Wrong::count(format!("no request, recorded {}", request["body"]))),
            None => Ok(()),
        }
    }

    fn is_stream(&self) -> bool {
        self.class().contains("Stream")
    }

    fn class(&self) -> &str {
        self.case["model"]["type"].as_str().unwrap_or_default()
    }

    fn answer(&self, request: usize) -> Answer {
        match self.answers.get(request) {
            None => Answer::Text(format!("ans{}", request + 1)),
            Some(Value::String(text)) => Answer::Text(text.clone()),
            Some(scripted) if scripted.get("status").is_some_and(|status| *status != 200) => Answer::Failed,
            Some(scripted) if scripted.get("raise").is_some() => Answer::Broken,
            // A stream reads nothing from what is no event, and others nothing from a list without choices.
            Some(scripted) if scripted.get("text").is_some() && !self.is_stream() => Answer::Broken,
            Some(scripted) if scripted.get("json").is_some() && self.class() == "VLLMCustomAPI" => Answer::Broken,
            Some(scripted) => Answer::Text(scripted["content"].as_str().unwrap_or_default().into()),
        }
    }

    /// The prompt as the body of a request has it: messages, or text.
    fn compare(&self, prompt: &Conversation, body: &Value) -> Result<(), Wrong> {
        let has_messages = Parser::has_own_meta(self.class()) && body.get("messages").is_some();
        match has_messages {
            true if self.replaces("messages") => Ok(()),
            true => {
                let found = aisbench::messages(&self.case["model"]["meta_template"], prompt)?;
                let mut job = self.job.clone();
                job["found"] = found.clone();
                let differs = differ(&found, &body["messages"]);
                match differs.is_err().then(|| self.replayer.excepted(&job, &body["messages"])).flatten() {
                    Some(rule) => self.excepted.replace(Some(rule)),
                    None => return differs,
                };
                Ok(())
            }
            false if body.get("prompt").is_some() && self.replaces("prompt") => Ok(()),
            false => differ(&self.parsed(prompt)?, &sent(body)),
        }
    }

    /// Whether generation_kwargs replace this key of a request. Only VITA lets them replace the limit.
    fn replaces(&self, key: &str) -> bool {
        let is_replaceable = key != "max_tokens" || self.class().contains("VITA");
        is_replaceable && self.case["model"]["generation_kwargs"].get(key).is_some()
    }

    /// The prompt as the class of models gets it: turns, or text.
    fn parsed(&self, prompt: &Conversation) -> metatok::Result<Value> {
        let class = self.class();
        Parser::of(class).parse(self.replayer, &self.case["model"]["meta_template"], class, prompt, "gen")
    }
}

enum Answer {
    Text(String),
    /// The turn is lost, and those after it.
    Failed,
    Broken,
}

/// The text of a request.
fn sent(body: &Value) -> Value {
    match (&body["prompt"], &body["inputs"], &body["text_input"]) {
        (Value::Array(parts), ..) => {
            parts.iter().map(|part| part["text"].as_str().unwrap_or_default()).collect::<String>().into()
        }
        (Value::Null, Value::Null, text) | (Value::Null, text, _) | (text, ..) => text.clone(),
    }
}

fn differ(found: &Value, recorded: &Value) -> Result<(), Wrong> {
    if is_same(found, recorded) {
        return Ok(());
    }
    let message = format!("found {found}, recorded {recorded}");
    Err(Wrong::Differs { message, values: Box::new([found.clone(), recorded.clone()]) })
}
