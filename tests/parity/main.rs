//! Replays recorded behaviour of the reference systems and prints a line per file: `NAME passed/total`.
//!
//! Reads every `*.jsonl.gz` below `$METATOK_PARITY` (default `../shared/parity`) with the tokenizers
//! below `$METATOK_TOKENIZERS` (default `../shared/tokenizers`), through the public API only; then the `*.jsonl` in
//! `cases/`, recorded in the same way, of what no case of those corpora shows. What a
//! case may differ in on purpose stands in `parity_exceptions.toml`, as rules on what the case holds, and how many cases must
//! be replayed in `parity_floors.toml`.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod aisbench;
mod api;
mod chat;
mod conversations;
mod counts;
mod dataset;
mod floors;
mod infer;
mod rules;
mod stops;
mod turns;
mod wrapper;

use counts::{Counts, Outcome};
use flate2::read::MultiGzDecoder;
use floors::Floors;
use metatok::{
    AddSpecialTokens, BuilderOptions, Conversation, ErrorKind, MetaTemplate, Mode, Model, PromptBuilder, Tokenizer,
};
use rules::Rule;
use serde::Deserialize;
use serde_json::Value;

#[test]
fn replay() {
    if std::env::var_os("METATOK_PARITY").is_some_and(|told| told == "none") {
        return;
    }
    let mut replayer = Replayer::new();
    let (mut replayed, mut failed) = (BTreeMap::new(), 0);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parity/cases");
    let folder = recordings();
    let recorded = folder.iter().flat_map(|folder| files(folder, ".jsonl.gz"));
    for path in recorded.chain(files(&own, ".jsonl")) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.trim_end_matches(".gz").trim_end_matches(".jsonl");
        let mut counts = Counts::default();
        replayer.enter(path.parent().unwrap_or(Path::new("")));
        for line in lines(&path) {
            let case: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            // An assertion that fails is the outcome of its case, and the others are still replayed.
            let outcome = catch_unwind(AssertUnwindSafe(|| replayer.replay(&case, &line)));
            counts.add(&case, outcome.unwrap_or_else(|_| Outcome::Failed("panicked, as said above".into())), name);
        }
        counts.print(name);
        if let Some(folder) = &folder {
            replayed.insert(floors::corpus(folder, &path), counts.replayed());
        }
        failed += counts.failed;
    }
    let mut wrong = Vec::new();
    if folder.is_some() {
        wrong.extend(Floors::load().missed(&replayed));
        wrong.extend(replayer.unused_rules().map(|name| format!("no case needs the rule {name:?}: remove it")));
    }
    if failed > 0 {
        wrong.push(format!("{failed} cases differ from what is recorded"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The folder that METATOK_PARITY names, or the usual one if it is here.
fn recordings() -> Option<PathBuf> {
    let is_told = std::env::var_os("METATOK_PARITY").is_some();
    let folder = folder("METATOK_PARITY", "../shared/parity");
    assert!(
        folder.is_dir() || !is_told,
        "METATOK_PARITY is {}, and there is no such folder; METATOK_PARITY=none skips the replay",
        folder.display()
    );
    if !folder.is_dir() {
        println!("skipped: there is no folder {}", folder.display());
        return None;
    }
    Some(folder)
}

struct Replayer {
    /// Where the cases are.
    folder: PathBuf,
    /// The conversation templates beside them.
    templates: Value,
    tokenizers: HashMap<String, Option<Arc<Tokenizer>>>,
    demo: Arc<Tokenizer>,
    rules: Vec<Rule>,
    /// Which of them a case has needed.
    used: RefCell<HashSet<usize>>,
}

impl Replayer {
    fn new() -> Self {
        #[derive(Deserialize)]
        struct Exceptions {
            rule: Vec<Rule>,
        }
        let exceptions: Exceptions =
            toml::from_str(include_str!("../parity_exceptions.toml")).expect("the exceptions are TOML");
        Self {
            folder: PathBuf::new(),
            templates: Value::Null,
            tokenizers: HashMap::new(),
            demo: Arc::new(Tokenizer::demo().expect("the demo loads")),
            rules: exceptions.rule,
            used: RefCell::default(),
        }
    }

    /// Reads what stands beside the cases of a folder.
    fn enter(&mut self, folder: &Path) {
        let text = std::fs::read_to_string(folder.join("templates.json")).unwrap_or_default();
        self.templates = serde_json::from_str(&text).unwrap_or_default();
        folder.clone_into(&mut self.folder);
    }

    fn replay(&mut self, case: &Value, line: &str) -> Outcome {
        if case.get("tokenizer").is_some()
            && case.get("meta_template").is_some()
            && case["expect"].get("input_ids").is_some()
        {
            return self.tokens(case);
        }
        if let Some(outcome) = conversations::replay(self, case).or_else(|| stops::replay(self, case)) {
            return outcome;
        }
        if let Some(outcome) = aisbench::replay(self, case, line) {
            return outcome;
        }
        let job = &case["job"];
        if job.get("wrapper").is_some() {
            let mut case = case.clone();
            let name = case["job"]["tokenizer"].as_str().unwrap_or_default().to_owned();
            case["job"]["$config"] = self.config(&name);
            return wrapper::replay(self, &case);
        }
        match job["op"].as_str() {
            Some("parse") => self.parse(case),
            Some("convert") => api::convert(self, case),
            Some("chatparse") => chat::parse(self, case),
            Some("tokenlen") => {
                let found =
                    metatok::render::ApiPrompt::Text(job["s"].as_str().unwrap_or_default().into()).estimated_tokens();
                match case["expect"]["value"] == found {
                    true => Outcome::Passed,
                    false => Outcome::Failed(format!("{found}, recorded {}", case["expect"]["value"])),
                }
            }
            Some(
                "prompt" | "safe_format" | "promptlist" | "retrieve" | "partial" | "template" | "column_token_map"
                | "infer",
            ) => dataset::replay(self, case, line),
            Some(op) => Outcome::Skipped(op.into()),
            None => Outcome::Skipped(case["kind"].as_str().unwrap_or("another format").into()),
        }
    }

    /// Token ids: a meta template, a prompt, a tokenizer.
    fn tokens(&mut self, case: &Value) -> Outcome {
        let name = case["tokenizer"].as_str().unwrap_or_default();
        let Some(tokenizer) = self.tokenizer(name) else { return Outcome::Skipped(format!("tokenizer {name}")) };
        let built = || -> metatok::Result<_> {
            let model = model(&case["meta_template"])?;
            let options = BuilderOptions {
                allow_empty_prompts: true,
                mode: case["mode"].as_str().unwrap_or("gen").parse()?,
                special_tokens: Some(case["special_tokens"].as_str().unwrap_or("never").parse::<AddSpecialTokens>()?),
                text: true,
                ..BuilderOptions::default()
            };
            PromptBuilder::new(&model, tokenizer, &options)?.build(&conversation(&case["prompt"])?)
        };
        let prompt = match built() {
            Ok(prompt) => prompt,
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        let ids: Vec<u64> = prompt.input_ids.iter().map(|&id| id.into()).collect();
        if case["expect"].get("text").is_some_and(|text| *text != prompt.text.as_deref().unwrap_or_default()) {
            return Outcome::Failed(format!("the text is {:?}", prompt.text));
        }
        if case["expect"]["input_ids"] != Value::from(ids) {
            return Outcome::Failed(format!("the ids are {:?}, not {}", prompt.input_ids, case["expect"]["input_ids"]));
        }
        Outcome::Passed
    }

    fn tokenizer(&mut self, name: &str) -> Option<Arc<Tokenizer>> {
        let load = || {
            let folder = folder("METATOK_TOKENIZERS", "../shared/tokenizers").join(name);
            folder
                .is_dir()
                .then(|| Arc::new(Tokenizer::load(&folder.to_string_lossy()).unwrap_or_else(|error| panic!("{error}"))))
        };
        self.tokenizers.entry(name.to_owned()).or_insert_with(load).clone()
    }

    /// A tokenizer in the folder `tokenizers` beside the cases.
    fn beside(&mut self, name: &str) -> Option<Arc<Tokenizer>> {
        let path = self.folder.join("tokenizers").join(format!("{name}.json"));
        let load = || {
            path.is_file()
                .then(|| Arc::new(Tokenizer::load(&path.to_string_lossy()).unwrap_or_else(|error| panic!("{error}"))))
        };
        self.tokenizers.entry(format!("{}/{name}", self.folder.display())).or_insert_with(load).clone()
    }

    /// What the file beside those tokenizers says of one.
    fn config(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.folder.join("tokenizers/config.json")).unwrap_or_default();
        serde_json::from_str::<Value>(&text).map_or(Value::Null, |configs| configs[name].clone())
    }

    /// The fields of a conversation template, from the file beside the cases.
    fn conversation(&self, source: &str, name: &str) -> Value {
        self.templates[source][name].clone()
    }

    fn chat_template(&self, name: &str) -> Option<String> {
        self.config(name)["chat_template"].as_str().map(str::to_owned)
    }

    /// What OpenCompass's parser for API models gives: without a template, what the other one does.
    fn api(&self, meta: &Value, prompt: &Value, mode: &str) -> metatok::Result<Value> {
        match prompt.as_array() {
            _ if !api::is_none(meta) => api::parsed(meta, prompt, mode),
            None => self.parsed(&serde_json::json!({ "meta": meta }), prompt, mode),
            Some(messages) if api::are_messages(messages) => api::parsed(meta, prompt, mode),
            Some(batch) => batch.iter().map(|prompt| self.api(meta, prompt, mode)).collect(),
        }
    }

    /// The rule by which a job may give something else than what is recorded.
    fn excepted(&self, job: &Value, expected: &Value) -> Option<String> {
        let found = self.rules.iter().position(|rule| rule.matches(job, expected))?;
        self.used.borrow_mut().insert(found);
        Some(self.rules[found].name.clone())
    }

    /// The rule by which a prompt, or each of a batch that differs, may give something else than what is recorded.
    /// Of a batch that ends with an exception, one prompt has to have a reason for it.
    fn excepted_in(
        &self,
        job: &Value,
        expected: &Value,
        parsed: &dyn Fn(&Value) -> metatok::Result<Value>,
    ) -> Option<String> {
        let one = |prompt: &Value, found: &metatok::Result<Value>, expected: &Value| {
            let mut job = job.clone();
            job["prompt"] = prompt.clone();
            job["refused"] = found.is_err().into();
            job["found"] = found.as_ref().ok().cloned().unwrap_or_default();
            self.excepted(&job, expected)
        };
        let batch = job["prompt"].as_array().filter(|items| !api::are_messages(items));
        let Some(prompts) = batch else { return one(&job["prompt"], &parsed(&job["prompt"]), expected) };
        let found = prompts.iter().map(parsed);
        let Some(recorded) = expected.as_array().filter(|recorded| recorded.len() == prompts.len()) else {
            let each = prompts.iter().zip(found).find_map(|(prompt, found)| one(prompt, &found, expected));
            let whole = || one(&job["prompt"], &prompts.iter().map(parsed).collect(), expected);
            return each.or_else(whole);
        };
        let mut excepted = None;
        for ((prompt, found), recorded) in prompts.iter().zip(found).zip(recorded) {
            if !dataset::matches(&found, recorded) {
                excepted = Some(one(prompt, &found, recorded)?);
            }
        }
        excepted
    }

    fn unused_rules(&self) -> impl Iterator<Item = &str> {
        let is_used = |i: &usize| self.used.borrow().contains(i);
        self.rules.iter().enumerate().filter(move |(i, _)| !is_used(i)).map(|(_, rule)| rule.name.as_str())
    }

    /// The text that OpenCompass's parser for language models makes of a prompt.
    fn parse(&self, case: &Value) -> Outcome {
        let mut job = case["job"].clone();
        // A tuple is a batch, as a list is.
        if let Some(batch) = job["prompt"].get_mut("$tuple").map(Value::take) {
            job["prompt"] = batch;
        }
        let job = &job;
        let mut excepted = None;
        for (key, expected) in case["expect"].as_object().into_iter().flatten() {
            let (found, expected) = match key.split_once(':') {
                Some(("lm", mode)) => (self.parsed(job, &job["prompt"], mode), expected.clone()),
                Some(("api", mode)) => (self.api(&job["meta"], &job["prompt"], mode), api::without_api_role(expected)),
                _ => continue,
            };
            if dataset::matches(&found, &expected) {
                continue;
            }
            let parsed = |prompt: &Value| match key.split_once(':') {
                Some(("api", mode)) => self.api(&job["meta"], prompt, mode),
                Some((_, mode)) => self.parsed(job, prompt, mode),
                None => Ok(Value::Null),
            };
            match self.excepted_in(job, &expected, &parsed) {
                Some(rule) => excepted = Some(rule),
                None => return Outcome::Failed(format!("{key}: {}", show(&found, &expected))),
            }
        }
        excepted.map_or(Outcome::Passed, Outcome::Excepted)
    }

    fn parsed(&self, job: &Value, prompt: &Value, mode: &str) -> metatok::Result<Value> {
        // A plain list that is not messages is a batch.
        if let Some(batch) = prompt.as_array().filter(|items| !items.iter().all(|item| item.get("role").is_some())) {
            return batch.iter().map(|prompt| self.parsed(job, prompt, mode)).collect();
        }
        let meta = without_eos(&job["meta"]);
        let options = BuilderOptions {
            allow_empty_prompts: true,
            mode: mode.parse::<Mode>()?,
            text: true,
            special_tokens: Some(AddSpecialTokens::Never),
            compat: true,
            ..BuilderOptions::default()
        };
        let builder = PromptBuilder::new(&model(&meta)?, Arc::clone(&self.demo), &options)?;
        let prompt = builder.build(&conversation(prompt)?)?;
        Ok(prompt.text.expect("the text was asked for").into())
    }
}

/// An id of some model's vocabulary: it never changes the text, and the demo does not have it.
fn without_eos(meta: &Value) -> Value {
    let mut meta = meta.clone();
    if let Some(meta) = meta.as_object_mut() {
        meta.remove("eos_token_id");
    }
    meta
}

fn model(meta: &Value) -> metatok::Result<Model> {
    if api::is_none(meta) {
        return Ok(Model::default());
    }
    let template: MetaTemplate =
        serde_json::from_value(meta.clone()).map_err(|error| ErrorKind::Parse(error.to_string()))?;
    Ok(Model { meta_template: Some(template), ..Model::default() })
}

fn conversation(prompt: &Value) -> metatok::Result<Conversation> {
    let items = prompt.get("$pl").unwrap_or(prompt);
    let parsed = serde_json::from_value(items.clone()).map_err(|error| ErrorKind::Parse(error.to_string()))?;
    Ok(parsed)
}

/// Errors are equal whatever they say.
fn equal(found: &metatok::Result<Value>, expected: &Value) -> bool {
    match found {
        Err(_) => expected.get("$error").is_some(),
        Ok(found) => found == expected,
    }
}

fn show(found: &metatok::Result<Value>, expected: &Value) -> String {
    match found {
        Ok(found) => format!("found {found}, recorded {expected}"),
        Err(error) => format!("found the error «{error}», recorded {expected}"),
    }
}

fn folder(variable: &str, default: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(default), PathBuf::from)
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            files.extend(self::files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Lines end at "\n" only: the strings hold every other separator there is.
fn lines(path: &Path) -> impl Iterator<Item = String> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader: Box<dyn Read> = if path.extension().is_some_and(|end| end == "gz") {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    BufReader::new(reader)
        .split(b'\n')
        .map(|line| String::from_utf8(line.expect("the file can be read")).expect("the file is UTF-8"))
        .filter(|line| !line.trim().is_empty())
}
