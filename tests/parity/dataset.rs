//! OpenCompass's dataset side: templates, retrievers, ranges.

use std::collections::BTreeSet;

use metatok::conversation::{Item, Message, Prompt};
use metatok::dataset::retriever::{RetrieverConfig, RetrieverKind};
use metatok::dataset::rows::SplitRange;
use metatok::dataset::template::{
    MessageTemplate, MultimodalTemplate, PromptTemplate, RowTemplate, TemplateInput, TurnTemplate,
};
use metatok::dataset::{Task, Value as Py};
use metatok::{Conversation, ErrorKind, Row};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Outcome, Replayer, api, conversation, equal, infer, show};

/// Replays a case; `line` is the case as it is written, for the order of its keys counts.
pub(crate) fn replay(replayer: &Replayer, case: &Value, line: &str) -> Outcome {
    let py = Py::from_json(line).unwrap_or_else(|error| panic!("{error}"));
    let job = py.get("job").expect("a case has a job");
    let expected = &case["expect"];
    match case["job"]["op"].as_str().unwrap_or_default() {
        "prompt" => prompts(replayer, case, &py, job),
        "safe_format" => {
            let filled = filled(text(job, "s"), &row(job.get("kwargs").expect("it has columns")));
            one(replayer, case, filled, &expected["value"])
        }
        "promptlist" => prompt_list(replayer, case, job),
        "retrieve" => one(replayer, case, retrieved(job), &expected["ids"]),
        "infer" => infer::replay(replayer, case, job),
        "partial" => one(replayer, case, range(job), &expected["value"]),
        "template" | "column_token_map" => template(replayer, case, job, "kwargs"),
        other => Outcome::Skipped(other.into()),
    }
}

fn one(replayer: &Replayer, case: &Value, found: metatok::Result<Value>, expected: &Value) -> Outcome {
    if matches(&found, expected) {
        return Outcome::Passed;
    }
    if matches(&found, &with_end(expected, "begin")) {
        return Outcome::Excepted("Q1".into());
    }
    let mut job = case["job"].clone();
    job["refused"] = found.is_err().into();
    job["refused_in_writing"] = found.as_ref().is_ok_and(|found| is_refused_in_writing(replayer, found)).into();
    match replayer.excepted(&job, expected) {
        Some(rule) => Outcome::Excepted(rule),
        None => Outcome::Failed(show(&found, expected)),
    }
}

/// Whether a template has made a prompt list that no meta template writes, though it has all of its roles.
fn is_refused_in_writing(replayer: &Replayer, found: &Value) -> bool {
    let Some(items) = found["$pl"].as_array() else { return false };
    let roles: BTreeSet<&str> = items.iter().filter_map(|item| item["role"].as_str()).collect();
    let round: Vec<Value> = roles.into_iter().map(|role| json!({ "role": role })).collect();
    replayer.parsed(&json!({ "meta": { "round": round } }), found, "ppl").is_err()
}

/// A prompt list whose section `end` is opened as it should be, by `begin`, or as the reference does it, by `end`.
pub(crate) fn with_end(prompt: &Value, pos: &str) -> Value {
    let mut prompt = prompt.clone();
    let items = prompt.get_mut("$pl").and_then(Value::as_array_mut).into_iter().flatten();
    if let Some(marker) = items.into_iter().find(|item| item["section"] == "end") {
        marker["pos"] = pos.into();
    }
    prompt
}

/// Whether what was found is what is recorded, long strings by their hashes.
pub(crate) fn matches(found: &metatok::Result<Value>, expected: &Value) -> bool {
    match found {
        Ok(found) => is_same(found, expected),
        Err(_) => equal(found, expected),
    }
}

pub(crate) fn is_same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::String(text), Value::Object(object)) => {
            object.get("$sha256").is_some_and(|hash| hex(&Sha256::digest(text.as_bytes())) == *hash)
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(found, expected)| is_same(found, expected))
        }
        (Value::Object(found), Value::Object(expected)) => {
            let has = |(key, expected): &(&String, &Value)| {
                // A fallback role that is null is none.
                let is_none = *key == "fallback_role" && expected.is_null();
                found.get(*key).map_or(is_none, |found| is_same(found, expected))
            };
            found.keys().all(|key| expected.contains_key(key)) && expected.iter().all(|pair| has(&pair))
        }
        _ => found == expected,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text<'v>(value: &'v Py, key: &str) -> &'v str {
    value.get(key).and_then(Py::as_text).unwrap_or_default()
}

/// Filling is what a string template does with a row.
fn filled(text: &str, row: &Row) -> metatok::Result<Value> {
    let template = PromptTemplate::new(&Py::from(text), None, None)?;
    Ok(json!(template.prompt(row, None, &none())?))
}

pub(crate) fn none() -> Conversation {
    Conversation::Text(String::new())
}

/// A value whose dicts with other keys than strings, tuples and prompt lists are written out.
pub(crate) fn plain(value: &Py) -> Py {
    match value {
        Py::List(items) => Py::List(items.iter().map(plain).collect()),
        Py::Dict(entries) => match &entries[..] {
            [(Py::Text(key), Py::List(pairs))] if key == "$dict" || key == "$map" => {
                let pair = |pair: &Py| match pair {
                    Py::List(pair) => (plain(&pair[0]), plain(&pair[1])),
                    other => panic!("{other:?} is no pair"),
                };
                Py::Dict(pairs.iter().map(pair).collect())
            }
            [(Py::Text(key), list)] if key == "$pl" || key == "$plist" || key == "$tuple" => plain(list),
            entries => Py::Dict(entries.iter().map(|(key, value)| (key.clone(), plain(value))).collect()),
        },
        other => other.clone(),
    }
}

pub(crate) fn row(value: &Py) -> Row {
    match plain(value) {
        Py::Dict(columns) => Row::new(columns.into_iter().map(|(name, value)| (name.text().into(), value)).collect()),
        other => panic!("{other:?} is no row"),
    }
}

/// A list of rows, or of some of them by their numbers: the others are empty.
pub(crate) fn rows(value: Option<&Py>) -> Vec<Row> {
    match value {
        Some(Py::List(rows)) => rows.iter().map(row).collect(),
        Some(Py::Dict(sparse)) => {
            let number = |key: &Py| key.text().parse::<usize>().expect("rows are numbered");
            let count = sparse.iter().map(|(key, _)| number(key) + 1).max().unwrap_or(0);
            let mut all = vec![Row::default(); count];
            for (key, value) in sparse {
                all[number(key)] = row(value);
            }
            all
        }
        _ => Vec::new(),
    }
}

/// A prompt as it is recorded: `{"$pl": [...]}` for a prompt list.
pub(crate) fn recorded(prompt: &Conversation) -> Value {
    match prompt {
        Conversation::List(items) => json!({ "$pl": items }),
        other => json!(other),
    }
}

/// What is put into a template. A plain list of anything else than messages has no counterpart here:
/// the reference drops what it is put into, as with messages.
pub(crate) fn inserted(value: &Value) -> metatok::Result<Conversation> {
    match value {
        Value::Array(items) if !items.iter().all(|item| item.get("content").is_some()) => {
            Ok(Conversation::Messages(Vec::new()))
        }
        value => conversation(value),
    }
}

pub(crate) fn row_template(config: Option<&Py>) -> metatok::Result<Option<Box<dyn RowTemplate>>> {
    let Some(config) = config.filter(|config| **config != Py::Null) else { return Ok(None) };
    let token = |key: &str| config.get(key).and_then(Py::as_text);
    for key in ["ice_token", "sep_token"] {
        if config.get(key).is_some_and(|token| !matches!(token, Py::Text(_) | Py::Null)) {
            return Err(ErrorKind::Parse(format!("{key} is a string")).into());
        }
    }
    let keys = match config.get("messages") {
        Some(_) => &["type", "messages", "format_variables", "ice_token"][..],
        None => &["type", "template", "ice_token", "sep_token", "column_token_map"],
    };
    if let Py::Dict(entries) = config
        && let Some((key, _)) = entries.iter().find(|(key, _)| !keys.contains(&&*key.text()))
    {
        return Err(ErrorKind::Parse(format!("no template has {key:?}")).into());
    }
    if let Some(Py::List(messages)) = config.get("messages") {
        let mut template = MessageTemplate::new(&messages.iter().map(plain).collect::<Vec<_>>())?;
        if let Some(token) = token("ice_token") {
            template.ice_token = token.to_owned();
        }
        template.format_variables = config.get("format_variables") != Some(&Py::Bool(false));
        return Ok(Some(template.into()));
    }
    let template = config.get("template").map_or(Py::Null, plain);
    if config.get("type").and_then(Py::as_text) == Some("MultiTurnPromptTemplate") {
        let mut template = TurnTemplate::new(&template)?;
        template.ice_token = token("ice_token").map(str::to_owned);
        return Ok(Some(template.into()));
    }
    if config.get("type").and_then(Py::as_text) == Some("MMPromptTemplate") {
        let mut template = MultimodalTemplate::new(&template)?;
        template.ice_token = token("ice_token").map(str::to_owned);
        return Ok(Some(template.into()));
    }
    let mut template = PromptTemplate::new(&template, token("ice_token"), token("sep_token"))?;
    if let Some(Py::Dict(map)) = config.get("column_token_map") {
        let pairs = map.iter().map(|(column, token)| (column.text().into(), token.text().into()));
        template = template.with_column_token_map(pairs.collect())?;
    }
    Ok(Some(template.into()))
}

pub(crate) fn retriever(config: Option<&Py>) -> RetrieverConfig {
    let Some(config) = config.filter(|config| **config != Py::Null) else { return RetrieverConfig::default() };
    let kind = config.get("type").map(plain);
    let name =
        kind.as_ref().and_then(|kind| kind.get("$type").or(Some(kind))).and_then(Py::as_text).unwrap_or_default();
    let number =
        |key: &str, default: i64| config.get(key).map_or(default, |value| value.text().parse().expect("it is one"));
    let kind = match name.rsplit('.').next().unwrap_or_default() {
        "FixKRetriever" => {
            let Some(Py::List(ids)) = config.get("fix_id_list") else { panic!("FixKRetriever has no ids") };
            RetrieverKind::Fixed { fix_id_list: ids.iter().map(|id| id.text().parse().expect("it is one")).collect() }
        }
        "RandomRetriever" => {
            RetrieverKind::Random { ice_num: number("ice_num", 1) as usize, seed: number("seed", 43) as u32 }
        }
        "SlidingWindowRetriever" => RetrieverKind::SlidingWindow { k: number("k", 1) as usize },
        // Its examples stand in the case; only the separators count.
        other => RetrieverKind::TopK { ice_num: number("ice_num", 1) as usize, neighbours: Some(other.into()) },
    };
    let kind = if name.ends_with("ZeroRetriever") { RetrieverKind::Zero } else { kind };
    let text = |key: &str| config.get(key).and_then(Py::as_text).map(str::to_owned);
    RetrieverConfig { kind, ice_separator: text("ice_separator"), ice_eos_token: text("ice_eos_token") }
}

fn retrieved(job: &Py) -> metatok::Result<Value> {
    let (train, test) = (rows(job.get("train")), rows(job.get("test")));
    let mut retriever = retriever(job.get("retriever")).open(&train, &[])?;
    let ids = test.iter().enumerate().map(|(i, row)| retriever.retrieve(i)?.of(row, &train));
    let ids = ids.collect::<metatok::Result<Vec<_>>>()?;
    Ok(json!(ids))
}

fn range(job: &Py) -> metatok::Result<Value> {
    let len = job.get("n").map_or(0, |n| n.text().parse().expect("it is a number"));
    let range = match job.get("size") {
        None | Some(Py::Null) => return Ok((0..len).collect()),
        Some(Py::Text(slice)) => SplitRange::Slice(slice.clone()),
        Some(number) => SplitRange::Number(number.text().parse().expect("it is a number")),
    };
    Ok(json!(range.rows(len)?))
}

/// The task of what is recorded: the reader's part of it, and the templates and retriever.
pub(crate) fn task(recorded: &Py, infer: &Py) -> metatok::Result<Task> {
    let setting = |part: Option<&Py>, key| part.and_then(|part| part.get(key)).and_then(Py::as_text).map(str::to_owned);
    let columns = match recorded.get("reader_cfg").and_then(|reader| reader.get("input_columns")) {
        Some(Py::List(columns)) => columns.iter().map(|column| column.text().into_owned()).collect(),
        Some(Py::Text(columns)) => columns.split_whitespace().map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    Ok(Task {
        input_columns: columns,
        output_column: setting(recorded.get("reader_cfg"), "output_column").filter(|column| !column.is_empty()),
        ice_template: row_template(infer.get("ice_template"))?,
        prompt_template: row_template(infer.get("prompt_template"))?,
        retriever: retriever(infer.get("retriever")),
        gen_field_replace_token: setting(infer.get("inferencer"), "gen_field_replace_token").unwrap_or_default(),
        // What the reference loses must be lost alike.
        compat: true,
        max_row_bytes: 16 << 20,
    })
}

fn prompts(replayer: &Replayer, case: &Value, py: &Py, job: &Py) -> Outcome {
    let expected = &case["expect"];
    let task = match task(job, job) {
        Ok(task) => task,
        Err(error) => return one(replayer, case, Err(error), expected.get("build_error").unwrap_or(expected)),
    };
    let (train, test) = (rows(job.get("train")), rows(job.get("test")));
    let mut outcome = Outcome::Passed;
    if let Some(recorded) = expected.get("labels").filter(|labels| !labels.is_null()) {
        let found = labels(&task, &test);
        let is_equal = match &found {
            Ok(found) => py.get("expect").and_then(|expect| expect.get("labels")).map(sorted).as_ref() == Some(found),
            Err(_) => recorded.get("$error").is_some(),
        };
        outcome =
            judged(replayer, is_equal, &case["job"], recorded, || format!("labels {found:?}, recorded {recorded}"));
    }
    let cases = job.get("cases").map(|cases| match cases {
        Py::List(cases) => cases.as_slice(),
        _ => &[],
    });
    let cases = cases.unwrap_or_default().iter().zip(expected["cases"].as_array().into_iter().flatten());
    cases.fold(outcome, |outcome, (asked, expected)| {
        let row = RowCase { replayer, case, task: &task, train: &train, test: &test, asked, expected };
        outcome.then(|| row.replay())
    })
}

/// Passed if it is equal, or excepted by a rule, or failed.
fn judged(
    replayer: &Replayer,
    is_equal: bool,
    job: &Value,
    recorded: &Value,
    failure: impl FnOnce() -> String,
) -> Outcome {
    if is_equal {
        return Outcome::Passed;
    }
    replayer.excepted(job, recorded).map_or_else(|| Outcome::Failed(failure()), Outcome::Excepted)
}

/// One prompt of a row, and what meta templates make of it.
struct RowCase<'c> {
    replayer: &'c Replayer,
    case: &'c Value,
    task: &'c Task,
    train: &'c [Row],
    test: &'c [Row],
    asked: &'c Py,
    expected: &'c Value,
}

impl RowCase<'_> {
    fn replay(&self) -> Outcome {
        let Self { replayer, case, expected, .. } = self;
        let index: usize = self.asked.get("idx").expect("it has one").text().parse().expect("it is a number");
        let ids = match self.example_ids(index) {
            Ok(ids) => ids,
            Err(error) => return one(replayer, case, Err(error), &expected["retrieve"]),
        };
        let examples = self.task.examples(&ids, self.train);
        if let Some(recorded_ice) = expected.get("ice") {
            let found = examples.as_ref().map(recorded).map_err(copy);
            if !matches(&found, recorded_ice) {
                return one(replayer, case, found, recorded_ice);
            }
        }
        let Ok(examples) = examples else {
            return if expected.get("ice").is_some() { Outcome::Passed } else { Outcome::Failed("no examples".into()) };
        };
        let built = self.prompt(&self.test[index], &examples);
        let found = built.as_ref().map(recorded).map_err(copy);
        let outcome = one(replayer, case, found, &expected["prompt"]);
        let Ok(prompt) = built else { return outcome };
        let parsed = expected["parsed"].as_array().into_iter().flatten();
        parsed.fold(outcome, |outcome, parsed| outcome.then(|| self.parsed(&prompt, parsed)))
    }

    /// The examples that the case names, or those that the retriever finds.
    fn example_ids(&self, index: usize) -> metatok::Result<Vec<i64>> {
        if let Some(Py::List(ids)) = self.asked.get("ice_ids") {
            return Ok(ids.iter().map(|id| id.text().parse().expect("it is one")).collect());
        }
        let mut retriever = self.task.retriever.open(self.train, &self.task.input_columns)?;
        let examples = (0..=index).map(|i| retriever.retrieve(i)).next_back().expect("there is one");
        examples?.of(&self.test[index], self.train)
    }

    fn mode(&self) -> &str {
        self.asked.get("mode").and_then(Py::as_text).unwrap_or("gen")
    }

    fn prompt(&self, row: &Row, examples: &Conversation) -> metatok::Result<Conversation> {
        let mut task = self.task.clone();
        if let Some(Py::Text(token)) = self.asked.get("gen_field_replace_token") {
            task.gen_field_replace_token = token.clone();
        }
        if self.mode() == "gen" {
            return task.prompt(row, examples);
        }
        let label = self.asked.get("label").map_or(Py::Null, plain);
        let keep = self.asked.get("remain_sep") == Some(&Py::Bool(true));
        task.label_prompt(row, examples, &label, keep)
    }

    /// What the parsers and metatok's messages make of the prompt with a meta template.
    fn parsed(&self, prompt: &Conversation, parsed: &Value) -> Outcome {
        let Self { replayer, expected, .. } = self;
        let meta = &self.case["job"]["metas"][parsed["meta"].as_u64().unwrap_or_default() as usize];
        let mode = self.asked.get("parse_mode").and_then(Py::as_text).unwrap_or(self.mode());
        let mut outcome = Outcome::Passed;
        if let Some(recorded_text) = parsed.get("lm") {
            let recorded_text = if recorded_text.get("$same").is_some() { &expected["prompt"] } else { recorded_text };
            let mut job = json!({ "meta": meta, "prompt": expected["prompt"] });
            let found = replayer.parsed(&job, &recorded(prompt), mode);
            job["refused"] = found.is_err().into();
            outcome = judged(replayer, matches(&found, recorded_text), &job, recorded_text, || {
                format!("lm {meta}: {}", show(&found, recorded_text))
            });
        }
        let api = replayer.api(meta, &recorded(prompt), mode);
        if let Some(recorded_turns) = parsed.get("api") {
            let recorded_turns = match recorded_turns["$same"].as_str() {
                Some("lm") => &parsed["lm"],
                Some(_) => &expected["prompt"],
                None => recorded_turns,
            };
            let is_equal = matches(&api, &api::without_api_role(recorded_turns));
            let job = json!({ "meta": meta, "prompt": expected["prompt"], "refused": api.is_err() });
            outcome = outcome.then(|| {
                judged(replayer, is_equal, &job, recorded_turns, || {
                    format!("api {meta}: {}", show(&api, recorded_turns))
                })
            });
        }
        if let Some(recorded_messages) = parsed.get("messages") {
            let found = match &api {
                // Without a template the prompt is a string, and all the user's.
                Ok(Value::String(text)) => Ok(json!([{ "role": "user", "content": text }])),
                _ => api::template(meta).and_then(|template| Ok(json!(template.messages(prompt, mode.parse()?)?))),
            };
            let job = json!({ "meta": meta, "prompt": expected["prompt"], "found": found.as_ref().ok(),
                "refused": found.is_err() });
            outcome = outcome.then(|| {
                judged(replayer, matches(&found, recorded_messages), &job, recorded_messages, || {
                    format!("messages {meta}: {}", show(&found, recorded_messages))
                })
            });
        }
        outcome
    }
}

/// The labels as texts. Those of a template have an order; those of rows come from a set in the reference.
fn labels(task: &Task, test: &[Row]) -> metatok::Result<Vec<String>> {
    let mut labels: Vec<String> = task.labels(test)?.iter().map(Py::repr).collect();
    labels.sort();
    Ok(labels)
}

fn sorted(recorded: &Py) -> Vec<String> {
    let Py::List(labels) = plain(recorded.get("$unordered").unwrap_or(recorded)) else { return Vec::new() };
    let mut labels: Vec<String> = labels.iter().map(Py::repr).collect();
    labels.sort();
    labels
}

pub(crate) fn copy(error: &metatok::Error) -> metatok::Error {
    ErrorKind::Usage(error.to_string()).into()
}

fn prompt_list(replayer: &Replayer, case: &Value, job: &Py) -> Outcome {
    let expected = &case["expect"]["value"];
    let found = || -> metatok::Result<Value> {
        let Conversation::List(items) = conversation(&case["job"]["a"])? else { panic!("it is a list") };
        // What a template with only a round makes of its items, its markers left out.
        let inside = |prompt: Conversation| match prompt {
            Conversation::List(items) => json!({ "$pl": items[1..items.len() - 1] }),
            other => panic!("{other:?} is no list"),
        };
        let dialogue = |token: Option<&str>| {
            let round = Py::Dict(vec![(Py::from("round"), plain(job.get("a").expect("it has a list")))]);
            PromptTemplate::new(&round, token, None)
        };
        match text(job, "fn") {
            "format" => {
                Ok(inside(dialogue(None)?.prompt(&row(job.get("kwargs").expect("it has columns")), None, &none())?))
            }
            "replace" => {
                let with = inserted(&case["job"]["dst"])?;
                Ok(inside(dialogue(Some(text(job, "src")))?.prompt(&Row::default(), None, &with)?))
            }
            "str" => {
                let text = |item: &Item| match item {
                    Item::Text(text) | Item::Message(Message { prompt: Prompt::Text(text), .. }) => text.clone(),
                    _ => String::new(),
                };
                Ok(json!(items.iter().map(text).collect::<String>()))
            }
            other => Err(ErrorKind::Usage(format!("{other} is Python's own")).into()),
        }
    };
    match text(job, "fn") {
        "add" | "iadd" => one(replayer, case, joined(&case["job"]["a"], &case["job"]["b"]), expected),
        "radd" => one(replayer, case, joined(&case["job"]["b"], &case["job"]["a"]), expected),
        _ => one(replayer, case, found(), expected),
    }
}

fn joined(a: &Value, b: &Value) -> metatok::Result<Value> {
    Ok(recorded(&conversation(a)?.join(conversation(b)?)?))
}

/// What a method of the reference's template gives.
pub(crate) fn called(
    template: &PromptTemplate,
    method: &str,
    args: &Py,
    ice: &Conversation,
) -> metatok::Result<Option<Conversation>> {
    let entry = args.get("entry").map(row).unwrap_or_default();
    let label = args.get("label").cloned().unwrap_or(Py::Null);
    Ok(Some(match method {
        "generate_ice_item" => template.example(&entry, &label)?,
        "generate_label_prompt_item" => {
            template.label_prompt(&entry, ice, &label, args.get("remain_sep") == Some(&Py::Bool(true)))?
        }
        "generate_item" => {
            let token = args.get("output_field_replace_token").and_then(Py::as_text).unwrap_or_default();
            let masked = args.get("output_field").and_then(Py::as_text).map(|column| (column, token));
            template.prompt(&entry, masked, ice)?
        }
        _ => return Ok(None),
    }))
}

fn template(replayer: &Replayer, case: &Value, job: &Py, key: &str) -> Outcome {
    let expected = &case["expect"];
    let kwargs = job.get(key).expect("it has arguments");
    let built = row_template(Some(kwargs));
    if let Some(error) = expected.get("build_error") {
        return one(replayer, case, built.map(|_| Value::Null), error);
    }
    let found = built.and_then(|template| {
        let args = job.get("args").map_or(Py::Null, plain);
        let entry = args.get("entry").map(row).unwrap_or_default();
        let ice = case["job"]["args"].get("ice_field_replace_token").or(case["job"]["args"].get("ice"));
        let ice = ice.map_or_else(|| Ok(none()), inserted)?;
        let (Some(template), true) = (template, !text(job, "method").is_empty()) else { return Ok(Value::Null) };
        let Some(template) = template.downcast_ref::<PromptTemplate>() else {
            let input = TemplateInput { row: &entry, examples: &ice, masked: None, compat: true };
            let prompt = match (text(job, "method"), template.downcast_ref::<MessageTemplate>()) {
                ("generate_label_prompt_item", Some(template)) => template.fill_for_label(&input, &Py::Null, false)?,
                _ => template.fill(&input)?,
            };
            return Ok(recorded(&prompt));
        };
        let Some(prompt) = called(template, text(job, "method"), &args, &ice)? else { return Ok(Value::Null) };
        Ok(recorded(&prompt))
    });
    match expected.get("value") {
        None => one(replayer, case, found, &Value::Null),
        Some(expected) => one(replayer, case, found, expected),
    }
}
