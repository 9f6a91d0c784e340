//! AISBench's pipelines of string and dialogue templates, its templates and its parsers.

use metatok::dataset::rows::arrow_rows;
use metatok::dataset::template::PromptTemplate;
use metatok::dataset::{Task, Value as Py};
use metatok::render::ApiTemplate;
use metatok::{Conversation, Mode, Row};
use serde_json::{Value, json};

use crate::dataset::{called, inserted, matches, none, plain, row, row_template, rows, task};
use crate::{Outcome, Replayer, api, conversation, show, turns};

/// Replays a case, or gives nothing if it is none of AISBench's that concern prompts.
pub(crate) fn replay(replayer: &Replayer, case: &Value, line: &str) -> Option<Outcome> {
    let py = || Py::from_json(line).unwrap_or_else(|error| panic!("{error}"));
    let group = case["group"].as_str()?;
    match (case["op"].as_str()?, group) {
        ("pipeline", "string" | "dialogue" | "fewshot" | "ppl" | "multimodal") => Some(pipeline(replayer, case, &py())),
        ("pipeline", "multiturn") => Some(turns::replay(replayer, case, &py())),
        ("template", _) => Some(template(replayer, case, &py())),
        ("safe_format", _) => Some(format(replayer, case, &py())),
        ("parse", _) => Some(parse(replayer, case)),
        (op, _) => Some(Outcome::Skipped(format!("{group} {op}"))),
    }
}

/// The parser that a class of models has.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Parser {
    Text,
    Turns,
}

impl Parser {
    pub(crate) fn of(class: &str) -> Self {
        let is_chat =
            class.contains("Chat") || class.contains("VITA") || class.contains("QwenVL") || class.contains("Offline");
        if is_chat { Self::Turns } else { Self::Text }
    }

    /// Whether a class of models has a meta template of its own.
    pub(crate) fn has_own_meta(class: &str) -> bool {
        ["Chat", "QwenVL", "Offline"].iter().any(|chat| class.contains(chat))
    }

    /// The meta template, or what classes for chats have without one.
    pub(crate) fn meta(meta: &Value) -> Value {
        if !api::is_none(meta) {
            return meta.clone();
        }
        json!({"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": true}],
            "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}]})
    }

    /// What it makes of a prompt; classes for chats have a template of their own.
    pub(crate) fn parse(
        self,
        replayer: &Replayer,
        meta: &Value,
        class: &str,
        prompt: &Conversation,
        mode: &str,
    ) -> metatok::Result<Value> {
        let as_recorded = match prompt {
            Conversation::List(items) => json!({ "$pl": items }),
            other => json!(other),
        };
        if self == Self::Text {
            return replayer.parsed(&json!({ "meta": meta }), &as_recorded, mode);
        }
        if api::is_none(meta) && !Self::has_own_meta(class) {
            // Text, or else the parts of all messages one after the other.
            let text = replayer.parsed(&json!({ "meta": meta }), &as_recorded, mode)?;
            return Ok(if text == "" { parts(prompt).map_or(text, Value::Array) } else { text });
        }
        Ok(json!(chat_template(meta)?.prompt(prompt, mode.parse()?)?))
    }
}

/// The template of a class for chats.
fn chat_template(meta: &Value) -> metatok::Result<ApiTemplate> {
    let mut template = api::template(&Parser::meta(meta))?;
    if let ApiTemplate::Roles(roles) = &mut template {
        (roles.needs_prompts, roles.compat) = (true, true);
    }
    Ok(template)
}

/// The messages that a class for chats sends.
pub(crate) fn messages(meta: &Value, prompt: &Conversation) -> metatok::Result<Value> {
    Ok(json!(chat_template(meta)?.prompt(prompt, Mode::Generate)?.turn_messages()))
}

/// Parts beside a prompt are recorded, and nothing ever reads them.
fn without_hidden_parts(recorded: &Value) -> Value {
    let mut recorded = recorded.clone();
    for item in recorded.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        if item.contains_key("prompt") {
            item.remove("prompt_mm");
        }
    }
    recorded
}

/// The parts of every message that has some, as JSON; nothing where none has.
fn parts(prompt: &Conversation) -> Option<Vec<Value>> {
    let items = json!(prompt);
    let of_messages = items.as_array()?.iter().filter_map(|item| item["prompt_mm"].as_array());
    of_messages.cloned().reduce(|all, more| [all, more].concat())
}

pub(crate) fn pipeline(replayer: &Replayer, case: &Value, py: &Py) -> Outcome {
    let expected = case.get("expect_fixed").unwrap_or(&case["expect"]);
    let infer = py.get("infer_cfg").expect("it has one");
    let task = match task(py, infer).and_then(|task| task.template().map(drop).map(|()| task)) {
        Ok(task) => task,
        Err(error) => return same_error(replayer, case, expected, &error),
    };
    let (mut train, mut test) = (rows(py.get("train")), rows(py.get("test")));
    if case["rows"] == "arrow" {
        let name = case["source"].as_str().and_then(|source| source.split('#').nth(1)).unwrap_or_default();
        train = arrow_rows(train, &format!("{name}_train"));
        test = arrow_rows(test, &format!("{name}_test"));
    }
    let mut ids = match task.retriever.open(&train, &task.input_columns) {
        Ok(retriever) => retriever,
        Err(error) => return same_error(replayer, case, expected, &error),
    };
    let class = case["model"]["type"].as_str().unwrap_or_default();
    let mut excepted = None;
    for (i, row) in test.iter().enumerate() {
        let Some(expected) = expected["rows"].get(i) else { continue };
        let ids = match ids.retrieve(i).and_then(|ids| ids.of(row, &train)) {
            Ok(ids) => ids,
            Err(error) => return same_error(replayer, case, expected, &error),
        };
        match (Pipeline { replayer, case, task: &task, train: &train, class, ids, index: i }).row(row, expected) {
            Outcome::Passed => {}
            Outcome::Excepted(rule) => excepted = Some(rule),
            other => return other,
        }
    }
    excepted.map_or(Outcome::Passed, Outcome::Excepted)
}

/// Where metatok refuses a whole case, so must the reference, for the whole or in each row.
fn same_error(replayer: &Replayer, case: &Value, expected: &Value, error: &metatok::Error) -> Outcome {
    let is_recorded = expected.get("error").or(expected.get("data_error")).is_some()
        || expected["rows"].as_array().is_some_and(|rows| rows.iter().all(|row| row.get("error").is_some()));
    if is_recorded {
        return Outcome::Passed;
    }
    let mut job = job(case);
    job["refused"] = true.into();
    job["rows"] = case["test"].clone();
    let prompts = expected["rows"].as_array().into_iter().flatten().map(|row| &row["prompt"]);
    job["prompt"] = prompts.filter(|prompt| prompt.is_array()).map(|prompt| json!({ "$pl": prompt })).collect();
    match replayer.excepted(&job, &as_python(expected)) {
        Some(rule) => Outcome::Excepted(rule),
        None => Outcome::Failed(format!("{error}, recorded {expected}")),
    }
}

/// A case in the shape that the rules know.
pub(crate) fn job(case: &Value) -> Value {
    let infer = &case["infer_cfg"];
    json!({"prompt_template": infer["prompt_template"], "ice_template": infer["ice_template"],
        "retriever": infer["retriever"], "reader_cfg": case["reader_cfg"],
        "meta": case["model"]["meta_template"], "prompt": case["prompt"]})
}

struct Pipeline<'a> {
    replayer: &'a Replayer,
    case: &'a Value,
    task: &'a Task,
    train: &'a [Row],
    class: &'a str,
    /// The examples of the row.
    ids: Vec<i64>,
    /// The number of the row.
    index: usize,
}

impl Pipeline<'_> {
    fn row(&self, row: &Row, expected: &Value) -> Outcome {
        let error = expected.get("error");
        let examples = match self.task.examples(&self.ids, self.train) {
            Ok(examples) => examples,
            Err(_) if error.is_some() => return Outcome::Passed,
            Err(error) => return self.differs(Err(error), &expected["prompt"], expected),
        };
        if let Some(recorded) = expected.get("ice") {
            let found = Ok(json!(examples));
            if !same(&found, recorded) {
                return self.differs(found, &expected["prompt"], recorded);
            }
        }
        if let Some(prompts) = expected["prompts"].as_array() {
            for entry in prompts {
                let label = plain(&Py::from_json(&entry[0].to_string()).expect("it is JSON"));
                let prompt = self.task.label_prompt(row, &examples, &label, false);
                match self.compare(prompt, &entry[1], entry.get(2), None, "ppl") {
                    Outcome::Passed => {}
                    other => return other,
                }
            }
            return Outcome::Passed;
        }
        let prompt = self.task.prompt(row, &examples);
        // A model's generation_kwargs may replace what is sent.
        let is_own =
            self.class == "VLLMCustomAPIChat" && self.case["model"]["generation_kwargs"].get("messages").is_none();
        let messages = expected["requests"][0]["body"].get("messages").filter(|_| is_own);
        let mut excepted = None;
        if let (Ok(prompt), Some(messages)) = (&prompt, messages) {
            let sent = self::messages(&self.case["model"]["meta_template"], prompt);
            if !same(&sent, messages) {
                match self.differs(sent, &expected["prompt"], messages) {
                    Outcome::Excepted(rule) => excepted = Some(rule),
                    other => return other,
                }
            }
        }
        match self.compare(prompt, &expected["prompt"], expected.get("parsed"), error, "gen") {
            Outcome::Passed => excepted.map_or(Outcome::Passed, Outcome::Excepted),
            other => other,
        }
    }

    fn compare(
        &self,
        prompt: metatok::Result<Conversation>,
        recorded: &Value,
        parsed: Option<&Value>,
        error: Option<&Value>,
        mode: &str,
    ) -> Outcome {
        let stage = error.and_then(|error| error["stage"].as_str());
        let prompt = match prompt {
            Ok(prompt) => prompt,
            Err(_) if stage.is_some() => return Outcome::Passed,
            Err(error) => return self.differs(Err(error), recorded, recorded),
        };
        if !recorded.is_null() {
            let found = Ok(json!(prompt));
            if !same(&found, &without_hidden_parts(recorded)) {
                return self.differs(found, recorded, recorded);
            }
        }
        let meta = &self.case["model"]["meta_template"];
        let found = Parser::of(self.class).parse(self.replayer, meta, self.class, &prompt, mode);
        match (parsed, stage, &found) {
            (None, Some("meta" | "prompt"), Err(_)) | (None, None, _) => Outcome::Passed,
            (None, Some(_), _) => self.differs(found, recorded, &json!({ "error": error })),
            (Some(parsed), ..) if same(&found, &without_extra(parsed)) => Outcome::Passed,
            (Some(parsed), ..) => self.differs(found, recorded, &without_extra(parsed)),
        }
    }

    /// Not what is recorded, of this prompt.
    fn differs(&self, found: metatok::Result<Value>, prompt: &Value, recorded: &Value) -> Outcome {
        let mut job = job(self.case);
        if Parser::has_own_meta(self.class) {
            job["meta"] = Parser::meta(&job["meta"]);
        }
        job["prompt"] = if prompt.is_array() { json!({ "$pl": prompt }) } else { prompt.clone() };
        job["refused"] = found.is_err().into();
        job["found"] = json!(found.as_ref().ok());
        job["rows"] = json!([self.case["test"][self.index]]);
        let example = |id: &i64| self.case["train"].get(usize::try_from(*id).ok()?).cloned();
        job["examples"] = self.ids.iter().filter_map(example).collect();
        match self.replayer.excepted(&job, &as_python(recorded)) {
            Some(rule) => Outcome::Excepted(rule),
            None => Outcome::Failed(show(&found, recorded)),
        }
    }
}

/// A recorded error is `{error: …}` here.
fn same(found: &metatok::Result<Value>, recorded: &Value) -> bool {
    match found {
        Err(_) => recorded.get("error").is_some() || recorded.get("$error").is_some(),
        Ok(_) => matches(found, recorded),
    }
}

/// A recorded error as OpenCompass has it, whose rules hold here too.
fn as_python(recorded: &Value) -> Value {
    let Some(error) = recorded.get("error") else { return recorded.clone() };
    let kind = match error["code"].as_str() {
        Some("ICLR-PARAM-001") => "LookupError",
        Some("ICLR-TYPE-001" | "ICLR-TYPE-002" | "UTILS-TYPE-001") => "TypeError",
        _ => error["type"].as_str().unwrap_or_default(),
    };
    json!({ "$error": kind })
}

/// Turns are recorded with every key of the meta template's own turn. In what a server gets, these count.
pub(crate) fn without_extra(recorded: &Value) -> Value {
    match recorded {
        Value::Array(items) => items.iter().map(without_extra).collect(),
        Value::Object(turn) => {
            let mut turn = turn.clone();
            turn.remove("api_role");
            turn.into()
        }
        other => other.clone(),
    }
}

/// Filling is what a string template does with a row.
fn format(replayer: &Replayer, case: &Value, py: &Py) -> Outcome {
    let text = py.get("template").expect("it has one");
    let filled = row_template(Some(&Py::Dict(vec![(Py::from("template"), text.clone())]))).and_then(|template| {
        let Some(template) = template.as_ref().and_then(|template| template.downcast_ref::<PromptTemplate>()) else {
            return Ok(Value::Null);
        };
        Ok(json!(template.prompt(&row(py.get("entry").expect("it has one")), None, &none())?))
    });
    if same(&filled, case["expect"].get("out").unwrap_or(&case["expect"])) {
        return Outcome::Passed;
    }
    let job = json!({ "kwargs": case["entry"] });
    match replayer.excepted(&job, &as_python(&case["expect"])) {
        Some(rule) => Outcome::Excepted(rule),
        None => Outcome::Failed(show(&filled, &case["expect"])),
    }
}

fn template(replayer: &Replayer, case: &Value, py: &Py) -> Outcome {
    let expected = case.get("expect_fixed").unwrap_or(&case["expect"]);
    let config = py.get("template").expect("it has one");
    let found = match config.get("type").and_then(Py::as_text) {
        Some("PromptTemplate") => called_by_method(case, py, config),
        Some("MultiTurnPromptTemplate" | "MMPromptTemplate") => without_examples(case, py, config),
        _ => return Outcome::Skipped("the base of all templates".into()),
    };
    let recorded = expected.get("out").unwrap_or(expected);
    if same(&found, recorded) || (found.is_ok() && expected.get("out").is_none() && expected.get("error").is_none()) {
        return Outcome::Passed;
    }
    let job = json!({ "prompt_template": case["template"], "args": case["args"], "method": case["method"],
        "rows": [case["args"]["entry"]], "refused": found.is_err(), "found": found.as_ref().ok() });
    match replayer.excepted(&job, &as_python(recorded)) {
        Some(rule) => Outcome::Excepted(rule),
        None => Outcome::Failed(show(&found, recorded)),
    }
}

/// One method of a string or dialogue template.
fn called_by_method(case: &Value, py: &Py, config: &Py) -> metatok::Result<Value> {
    let template = row_template(Some(config))?;
    let Some(template) = template.as_ref().and_then(|template| template.downcast_ref::<PromptTemplate>()) else {
        return Ok(Value::Null);
    };
    let args = py.get("args").map_or(Py::Null, plain);
    let ice = case["args"].get("ice_field_replace_token").or(case["args"].get("ice"));
    let ice = match ice.map(|ice| ice.get("$plist").map_or(ice.clone(), |list| json!({ "$pl": list }))) {
        Some(ice) => inserted(&ice)?,
        None => none(),
    };
    let method = case["method"].as_str().unwrap_or_default();
    let Some(prompt) = called(template, method, &args, &ice)? else { return Ok(Value::Null) };
    Ok(json!(prompt))
}

/// One method of a template that takes no examples and has no labels.
fn without_examples(case: &Value, py: &Py, config: &Py) -> metatok::Result<Value> {
    let method = case["method"].as_str().unwrap_or_default();
    let role = if method == "generate_ice_item" { "ice_template" } else { "prompt_template" };
    let task = task(&Py::Null, &Py::Dict(vec![(Py::from(role), config.clone())]))?;
    let entry = row(py.get("args").and_then(|args| args.get("entry")).expect("it has one"));
    Ok(match method {
        "generate_ice_item" => json!(task.examples(&[0], &[entry])?),
        "generate_label_prompt_item" => json!(task.label_prompt(&entry, &none(), &Py::Null, false)?),
        _ => json!(task.prompt(&entry, &none())?),
    })
}

/// Prompt lists and tuples in the other corpus's way.
fn unwrapped(prompt: &Value) -> Value {
    match (prompt.get("$plist"), prompt.get("$tuple"), prompt) {
        (Some(list), ..) => json!({ "$pl": list }),
        (_, Some(batch), _) => unwrapped(batch),
        (_, _, Value::Array(batch)) => batch.iter().map(unwrapped).collect(),
        _ => prompt.clone(),
    }
}

fn parse(replayer: &Replayer, case: &Value) -> Outcome {
    let meta = &case["meta_template"];
    let prompt = unwrapped(&case["prompt"]);
    let mode = case["mode"].as_str().unwrap_or("gen");
    let found = parsed(replayer, case["parser"] == "lm", meta, &prompt, mode);
    let recorded = case["expect"].get("out").unwrap_or(&case["expect"]);
    if same(&found, &without_extra(recorded)) {
        return Outcome::Passed;
    }
    let job = json!({ "meta": meta, "prompt": prompt, "parser": case["parser"] });
    let of_one = |prompt: &Value| parsed(replayer, case["parser"] == "lm", meta, prompt, mode);
    match replayer.excepted_in(&job, &as_python(&without_extra(recorded)), &of_one) {
        Some(rule) => Outcome::Excepted(rule),
        None => Outcome::Failed(format!("{} {meta} {prompt}: {}", case["parser"], show(&found, recorded))),
    }
}

fn parsed(replayer: &Replayer, is_text: bool, meta: &Value, prompt: &Value, mode: &str) -> metatok::Result<Value> {
    if let Some(batch) = prompt.as_array() {
        // The template is made once, also for a batch of nothing.
        parsed(replayer, is_text, meta, &json!(""), mode)?;
        return batch.iter().map(|prompt| parsed(replayer, is_text, meta, prompt, mode)).collect();
    }
    if is_text {
        return replayer.parsed(&json!({ "meta": meta }), prompt, mode);
    }
    Parser::Turns.parse(replayer, meta, "", &conversation(prompt)?, mode)
}
