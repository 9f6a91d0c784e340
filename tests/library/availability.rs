//! Nobody's ordinary text is refused, and its ids are the reference library's: real text through every built-in model that
//! claims a real tokenizer. What spells a reserved token is written without it.

use std::path::PathBuf;
use std::sync::Arc;

use metatok::{BuilderOptions, ChatMessage, Conversation, Model, PromptBuilder};

use crate::harness::{Tests, tests};
use crate::loaded;
use crate::root::root;
use crate::subjects::{self, Subject};

pub(crate) fn tests() -> Tests {
    tests![ordinary_text_is_never_refused, what_spells_a_reserved_token_is_written_without_it]
}

/// How many texts of each file are tried; `METATOK_TEXTS=2000` tries this many.
fn texts() -> usize {
    std::env::var("METATOK_TEXTS").ok().and_then(|texts| texts.parse().ok()).unwrap_or(40)
}

/// Real text: this project's own prose, code, pages, tables and data, and paragraphs in many languages where they are.
fn paragraphs() -> Vec<String> {
    let root = root();
    let shared = std::env::var_os("METATOK_TEXT").map_or_else(|| root.join("../shared/text"), PathBuf::from);
    let own = [
        "README.md",
        "docs/datasets.md",
        "src/tokenizer/run.rs",
        "src/view/page.css",
        "Cargo.toml",
        "tests/cases/cli/answers.toml",
        "tests/data/texts/page.html",
        "tests/data/texts/tables.txt",
        "tests/data/texts/cjk.txt",
        "tests/data/texts/emoji.txt",
    ];
    let own = own.map(|name| root.join(name));
    let files = own.into_iter().chain(["english.txt", "multilingual.txt"].map(|name| shared.join(name)));
    let mut all = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else {
            println!("skipped: there is no {}", file.file_name().unwrap_or_default().to_string_lossy());
            continue;
        };
        let paragraphs: Vec<&str> = text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()).collect();
        // From all of the file, with the line ends that stand around paragraphs.
        let step = (paragraphs.len() / texts()).max(1);
        all.extend(paragraphs.iter().step_by(step).take(texts()).map(|paragraph| format!("{paragraph}\n\n")));
    }
    all
}

/// Built-in models and the real tokenizers that they claim.
const CLAIMED: [(&str, &str); 20] = {
    let mut claimed = [("", ""); 20];
    let mut i = 0;
    while i < subjects::REAL.len() {
        claimed[i] = subjects::REAL[i];
        i += 1;
    }
    claimed[i] = ("chatglm3", "chatglm3");
    claimed
};

fn ordinary_text_is_never_refused() {
    let paragraphs = paragraphs();
    let mut folders: Vec<&str> = CLAIMED.iter().map(|(_, folder)| *folder).collect();
    folders.sort_unstable();
    folders.dedup();
    for folder in folders {
        let Some(subject) = loaded::subject(folder) else {
            println!("skipped: the tokenizer {folder} is not here");
            continue;
        };
        for (name, _) in CLAIMED.iter().filter(|(_, claimed)| *claimed == folder) {
            let (built, compared) = try_all(name, &subject, &paragraphs);
            println!("{name} with {folder}: {built} texts, none refused; {compared} compared, all equal");
        }
    }
}

/// How many texts were built, and how many compared: those without a string that is a reserved token's.
fn try_all(name: &str, subject: &Subject, paragraphs: &[String]) -> (usize, usize) {
    let model = Model::load(name).unwrap_or_else(|error| panic!("{error}"));
    let special_tokens = Some(metatok::AddSpecialTokens::Never);
    let options = BuilderOptions { text: true, special_tokens, ..BuilderOptions::default() };
    let builder =
        PromptBuilder::new(&model, Arc::clone(&subject.fast), &options).unwrap_or_else(|error| panic!("{error}"));
    let reserved: Vec<&str> = subject
        .fast
        .added_tokens()
        .filter(|token| builder.is_reserved(token.id))
        .map(|token| &*token.content)
        .collect();
    let build = |text: &str| {
        let conversation = Conversation::Messages(vec![ChatMessage::new("user", text)]);
        let prompt = builder.build(&conversation).unwrap_or_else(|error| panic!("{name}: {error}: {text:?}"));
        (prompt.text.expect("it was asked for"), prompt.input_ids)
    };
    // ChatGLM3's control tokens are declared so that the library does not find them in the midst of a string.
    let (joined, ids) = build("a");
    let is_comparable = ids == subject.reference(&joined);
    assert!(is_comparable || name == "chatglm3");
    let mut compared = 0;
    for text in paragraphs {
        let (joined, ids) = build(text);
        let reference = subject.reference(&joined);
        let unknown = |ids: &[u32]| ids.iter().filter(|id| Some(**id) == subject.fast.unk_token_id()).count();
        assert_eq!(unknown(&ids), unknown(&reference), "{name}: {joined:?}");
        if !is_comparable || reserved.iter().any(|token| text.contains(token)) {
            continue;
        }
        compared += 1;
        assert_eq!(ids, reference, "{name}: {joined:?}");
    }
    (paragraphs.len(), compared)
}

/// Every reserved token, spelled by a user in the midst of text, with each real tokenizer.
fn what_spells_a_reserved_token_is_written_without_it() {
    for (name, folder) in CLAIMED.into_iter().chain([("demo", "demo")]) {
        let Some(tokenizer) = loaded::tokenizer(folder) else { continue };
        let model = Model::load(name).unwrap_or_else(|error| panic!("{error}"));
        let options = BuilderOptions { spans: true, ..BuilderOptions::default() };
        let builder =
            PromptBuilder::new(&model, Arc::clone(&tokenizer), &options).unwrap_or_else(|error| panic!("{error}"));
        let reserved = tokenizer.added_tokens().filter(|token| builder.is_reserved(token.id));
        // Hundreds of them are one like the other.
        for token in reserved.take(40) {
            for text in [token.content.clone(), format!("a {0}{0}b", token.content), format!("<{}>", token.content)] {
                let conversation = Conversation::Messages(vec![ChatMessage::new("user", text.as_str())]);
                let prompt = builder.build(&conversation).unwrap_or_else(|error| panic!("{name}: {error}: {text:?}"));
                let said = prompt.mask(|part| part.is_content()).expect("spans were asked for");
                let said = prompt.input_ids.iter().zip(said).filter(|(_, is_said)| *is_said == 1).map(|(&id, _)| id);
                let said: Vec<u32> = said.collect();
                assert!(!said.iter().any(|&id| builder.is_reserved(id)), "{name}: {text:?} gives {said:?}");
                let decoded = tokenizer.decode(&said, false).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(decoded.trim_start(), text.trim_start(), "{name}: {said:?}");
            }
        }
    }
}
