//! What real servers answered is read as they meant it: ids, text, why it ended, and whom it answers.
//!
//! Some of their answers are in `tests/engines`; all that were recorded are read where `METATOK_ENGINES`, or a folder beside the
//! project, has them.

use std::path::{Path, PathBuf};

use metatok::PromptBuilder;
use metatok::trim::{AnswerTrimmer, TrimOptions};
use serde_json::Value;

use crate::harness::{Tests, tests};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![recorded_answers_are_what_the_servers_meant]
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
    let mut files: Vec<PathBuf> = folder
        .read_dir()
        .expect("it is a folder")
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    assert!(files.len() >= 5, "{} has the answers of five servers", folder.display());
    for file in files {
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
            let engine = answer.engine.as_ref().unwrap_or_else(|| panic!("{place}: the engine's word is kept"));
            assert_eq!(engine.finish_reason.as_deref(), Some("stop"), "{place}");
            let id = answer.id.as_ref().map(|id| serde_json::from_str::<String>(id.get()).expect("it is a string"));
            assert_eq!(id, meant.id, "{place}");
            if let Some(text) = meant.text {
                assert_eq!(answer.text, text, "{place}");
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
