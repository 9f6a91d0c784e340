//! What real servers answered is read as they meant it: ids, text, why it ended, and whom it answers.
//!
//! Some of their answers are in `tests/engines`; all that were recorded are read where `METATOK_ENGINES`, or a folder beside the
//! project, has them. `tests/engines/chats` has what a small model said, which was trained for that, and the answers of
//! chats and their parsers of thoughts and calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metatok::dialect::ChatTemplate;
use metatok::trim::{AnswerTrimmer, TrimOptions, TrimmedAnswer};
use metatok::{BuilderOptions, Model, PromptBuilder, Tokenizer};
use serde::Deserialize;
use serde_json::Value;

use crate::harness::{Tests, tests};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![recorded_answers_are_what_the_servers_meant, recorded_chats_are_what_the_model_said]
}

fn recorded_answers_are_what_the_servers_meant() {
    check(&root().join("tests/engines"));
    let recorded =
        std::env::var_os("METATOK_ENGINES").map_or_else(|| root().join("../shared/engines/answers"), PathBuf::from);
    if recorded.exists() {
        check(&recorded);
    } else {
        println!("skipped: there are no recorded answers in {}", recorded.display());
    }
}

/// Trims each line of each file, whose servers stopped at an id of the demo model.
fn check(folder: &Path) {
    let builder = PromptBuilder::demo().expect("it is embedded");
    let options = TrimOptions { validate: true, ..TrimOptions::default() };
    let trimmer = AnswerTrimmer::new(&builder, options).expect("its stops are found");
    for file in answers(folder) {
        let lines = std::fs::read_to_string(&file).expect("it can be read");
        for (i, line) in lines.lines().enumerate() {
            let place = format!("{}: line {}", file.display(), i + 1);
            let answers = trimmer.trim(line).unwrap_or_else(|error| panic!("{place}: {error}"));
            let [answer] = &*answers else { panic!("{place}: it is one answer") };
            let meant = Meant::of(&serde_json::from_str(line).expect("it is JSON"));
            let stop = meant.token_ids.last().copied();
            assert_eq!(answer.token_ids.as_deref(), meant.token_ids.split_last().map(|(_, ids)| ids), "{place}");
            assert_eq!(answer.tail.first().copied(), stop, "{place}");
            assert_eq!(&*answer.finish_reason, "stop", "{place}");
            // Triton does not say why an answer ends.
            let engine = answer.engine.as_ref().map(|engine| engine.finish_reason.as_deref());
            assert_eq!(engine, (!line.contains("model_version")).then_some(Some("stop")), "{place}");
            let id = answer.id.as_ref().map(|id| serde_json::from_str::<String>(id.get()).expect("it is a string"));
            assert_eq!(id, meant.id, "{place}");
            if let Some(text) = meant.text {
                // LMDeploy's has the stop, which the request asked for.
                let stop = stop.and_then(|stop| builder.tokenizer().id_to_token(stop)).unwrap_or_default();
                assert_eq!(answer.text, text.strip_suffix(&stop).unwrap_or(&text), "{place}");
            }
            assert!(answer.problems.is_empty(), "{place}: {:?}", answer.problems);
        }
    }
}

/// What a server's answer says, read without the library.
struct Meant {
    id: Option<String>,
    token_ids: Vec<u32>,
    text: Option<String>,
}

impl Meant {
    fn of(answer: &Value) -> Self {
        let choice = answer.pointer("/choices/0").unwrap_or(answer);
        let ids = ["token_ids", "output_ids", "tokens"].iter().find_map(|key| choice.get(key)?.as_array());
        let nested = ["/nvext/completion_token_ids", "/outputs/0/data"];
        let ids = ids.or_else(|| nested.iter().find_map(|pointer| answer.pointer(pointer)?.as_array()));
        let id = ["/id", "/request_id", "/meta_info/id"].iter().find_map(|key| answer.pointer(key)?.as_str());
        let id = id.map(|id| id.trim_start_matches("cmpl-").trim_start_matches("generate-tokens-").to_owned());
        let text = ["text", "content"].iter().find_map(|key| choice.get(key)?.as_str());
        Self {
            id,
            token_ids: ids.expect("it has ids").iter().map(|id| id.as_u64().expect("it is an id") as u32).collect(),
            text: text.map(str::to_owned),
        }
    }
}

/// The files of answers in a folder, by name.
fn answers(folder: &Path) -> Vec<PathBuf> {
    let files = folder.read_dir().expect("it is a folder").flatten().map(|file| file.path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect();
    files.sort();
    files
}

/// What the model generated, with thoughts and calls as it wrote them.
#[derive(Deserialize)]
struct Said {
    id: String,
    token_ids: Vec<u32>,
    text: String,
}

fn recorded_chats_are_what_the_model_said() {
    let folder = root().join("tests/engines/chats");
    let (said, files): (Vec<_>, Vec<_>) = answers(&folder).into_iter().partition(|file| file.ends_with("said.jsonl"));
    let said = std::fs::read_to_string(&said[0]).expect("it can be read");
    let said: Vec<Said> = said.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let name = folder.join("model").to_string_lossy().into_owned();
    let tokenizer = Arc::new(Tokenizer::load(&name).expect("it is a tokenizer"));
    let model = Model::from(ChatTemplate::of_tokenizer(&name).expect("it is read").expect("it is there"));
    let builder = PromptBuilder::new(&model, tokenizer, &BuilderOptions::default()).expect("it has its tokens");
    let options = TrimOptions { validate: true, ..TrimOptions::default() };
    let trimmer = AnswerTrimmer::new(&builder, options).expect("its stops are found");
    let plain = AnswerTrimmer::new(&builder, TrimOptions::default()).expect("its stops are found");
    assert_eq!(files.len(), 23, "five servers have chats, responses, messages, and answers of their own");
    for file in files {
        let name = file.file_stem().expect("it has a name").to_string_lossy();
        let lines = std::fs::read_to_string(&file).expect("it can be read");
        assert_eq!(lines.lines().count(), said.len(), "{name}");
        // Empty lines: a server failed, or it wrote the tools into the prompt as the model did not know them.
        for (line, said) in lines.lines().zip(&said).filter(|(line, _)| !line.is_empty()) {
            let place = format!("{name}, {}", said.id);
            let answers = trimmer.trim(line).unwrap_or_else(|error| panic!("{place}: {error}"));
            let [answer] = &*answers else { panic!("{place}: it is one answer") };
            check_chat(answer, said, &name, &place);
            let once = json_of(&plain, line);
            assert_eq!(json_of(&plain, &once), once, "{place}: trimmed again");
        }
    }
}

fn json_of(trimmer: &AnswerTrimmer, line: &str) -> String {
    serde_json::to_string(&trimmer.trim(line).expect("it is an answer")[0]).expect("it is JSON")
}

fn check_chat(answer: &TrimmedAnswer<'_>, said: &Said, name: &str, place: &str) {
    let has_ended = said.token_ids.last() == Some(&1052);
    let codes: Vec<_> = answer.problems.iter().map(|problem| problem.code).collect();
    // Some parsers expect thoughts at the beginning of each answer.
    assert!(codes.iter().all(|code| *code == "only-thoughts"), "{place}: {:?}", answer.problems);
    match &answer.token_ids {
        Some(ids) => {
            assert_eq!(ids[..], said.token_ids[..said.token_ids.len() - usize::from(has_ended)], "{place}");
            assert_eq!(answer.text, said.text, "{place}");
        }
        // This endpoint loses a call after what it takes for thoughts.
        None if !has_ended || name == "sglang_messages" => {
            assert!(letters(&said.text).starts_with(&letters_of_answer(answer)), "{place}");
        }
        // These lose the thoughts.
        None if matches!(name, "dynamo_responses" | "lmdeploy_responses") => {
            assert!(letters(&said.text).ends_with(&letters_of_answer(answer)), "{place}");
        }
        None => assert_eq!(letters_of_answer(answer), letters(&said.text), "{place}"),
    }
    // llama.cpp calls a response complete that it cut off.
    if name != "llama_cpp_responses" {
        assert_eq!(matches!(&*answer.finish_reason, "stop" | "tool_calls"), has_ended, "{place}");
    }
    // These servers took the id of the request.
    if matches!(name, "sglang_generate" | "vllm_batch")
        || name.starts_with("vllm_chat")
        || name.starts_with("sglang_chat")
    {
        assert_eq!(answer.id.as_ref().map(|id| id.get()), Some(&*format!("{:?}", said.id)), "{place}");
    }
}

/// Letters and digits of a text with thoughts and calls, without the marks around these.
fn letters(text: &str) -> String {
    let marks = ["<think>", "</think>", "<tool_call>", "</tool_call>"];
    let text = marks.iter().fold(text.to_owned(), |text, mark| text.replace(mark, ""));
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// The same of an answer whose thoughts and calls are apart.
fn letters_of_answer(answer: &TrimmedAnswer<'_>) -> String {
    let message =
        answer.message.as_ref().map_or(Value::Null, |json| serde_json::from_str(json.get()).expect("it is JSON"));
    let thoughts =
        ["reasoning", "reasoning_content"].iter().filter_map(|key| message[key].as_str()).collect::<String>();
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
        let function = |key: &str| function_part(call, key);
        format!("name{}arguments{}", function("name"), function("arguments"))
    });
    letters(&format!("{thoughts}{}{}", answer.text, calls.collect::<String>()))
}

fn function_part<'c>(call: &'c Value, key: &str) -> &'c str {
    call["function"][key].as_str().expect("a call has a name, and arguments as a string")
}
