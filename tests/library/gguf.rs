//! Tokenizers inside GGUF files: the demo's, written here, gives the demo's prompts, and llama.cpp's own vocabularies give
//! the ids that are recorded beside them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metatok::builder::TextEncoder;
use metatok::{AddSpecialTokens, ContentTrust, Conversation, PromptBuilder, Tokenizer};
use serde_json::Value;

use crate::harness::{Tests, tests};
use crate::subjects::demo_json;

pub(crate) fn tests() -> Tests {
    tests![the_demo_in_a_file_is_the_demo, what_cannot_be_read_is_named, ids_are_those_recorded_by_llama_cpp]
}

/// A value, with the number of its type.
#[derive(Clone)]
enum Meta {
    U32(u32),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    I32s(Vec<i32>),
    F32s(Vec<f32>),
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

impl Meta {
    fn bytes(&self) -> Vec<u8> {
        let list = |kind: u32, count: usize, items: Vec<u8>| {
            [&9_u32.to_le_bytes()[..], &kind.to_le_bytes(), &(count as u64).to_le_bytes(), &items].concat()
        };
        match self {
            Self::U32(number) => [4_u32.to_le_bytes(), number.to_le_bytes()].concat(),
            Self::Bool(flag) => [&7_u32.to_le_bytes()[..], &[u8::from(*flag)]].concat(),
            Self::Text(content) => [&8_u32.to_le_bytes()[..], &text(content)].concat(),
            Self::Texts(texts) => list(8, texts.len(), texts.iter().flat_map(|item| text(item)).collect()),
            Self::I32s(numbers) => list(5, numbers.len(), numbers.iter().flat_map(|n| n.to_le_bytes()).collect()),
            Self::F32s(numbers) => list(6, numbers.len(), numbers.iter().flat_map(|n| n.to_le_bytes()).collect()),
        }
    }
}

fn gguf(version: u32, values: &[(&str, Meta)]) -> Vec<u8> {
    let head =
        [b"GGUF", &version.to_le_bytes()[..], &0_u64.to_le_bytes(), &(values.len() as u64).to_le_bytes()].concat();
    values.iter().fold(head, |bytes, (key, value)| [bytes, text(key), value.bytes()].concat())
}

/// The demo as llama.cpp's converter writes it.
fn demo() -> Vec<(&'static str, Meta)> {
    let json = demo_json();
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    let id = |value: &Value| value.as_u64().expect("it is an id");
    let added = json["added_tokens"].as_array().expect("it has some").iter();
    let added = added.map(|token| (id(&token["id"]), text(&token["content"]), 3));
    let vocab = json["model"]["vocab"].as_object().expect("it is a vocabulary");
    let entries = vocab.iter().map(|(token, number)| (id(number), token.clone(), 1));
    let mut entries: Vec<_> = entries.chain(added).collect();
    entries.sort_unstable();
    let part = |merge: &Value| match merge {
        Value::String(merge) => merge.clone(),
        pair => format!("{} {}", text(&pair[0]), text(&pair[1])),
    };
    let merges = json["model"]["merges"].as_array().expect("they are a list").iter().map(part).collect();
    // Rows of the weights that are no tokens.
    let next = entries.len();
    let mut tokens: Vec<String> = entries.iter().map(|(_, token, _)| token.clone()).collect();
    let mut types: Vec<i32> = entries.iter().map(|(_, _, kind)| *kind).collect();
    tokens.push(format!("[PAD{next}]"));
    types.push(5);
    let config = include_str!("../../models/demo/tokenizer_config.json");
    let config: Value = serde_json::from_str(config).expect("it is JSON");
    vec![
        ("general.architecture", Meta::Text("llama".into())),
        ("llama.context_length", Meta::U32(2048)),
        ("general.tags", Meta::Texts(vec!["chat".into(), String::new()])),
        ("llama.layers", Meta::I32s(vec![1, 2, 3])),
        ("llama.scales", Meta::F32s(vec![0.5; 3])),
        ("llama.is_small", Meta::Bool(true)),
        ("tokenizer.ggml.model", Meta::Text("gpt2".into())),
        ("tokenizer.ggml.pre", Meta::Text("gpt-2".into())),
        ("tokenizer.ggml.tokens", Meta::Texts(tokens)),
        ("tokenizer.ggml.token_type", Meta::I32s(types)),
        ("tokenizer.ggml.merges", Meta::Texts(merges)),
        ("tokenizer.ggml.eos_token_id", Meta::U32(1052)),
        ("tokenizer.ggml.add_bos_token", Meta::Bool(false)),
        ("tokenizer.chat_template", Meta::Text(text(&config["chat_template"]))),
    ]
}

fn the_demo_in_a_file_is_the_demo() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("demo.gguf");
    std::fs::write(&file, gguf(3, &demo())).expect("there is room");
    std::fs::write(folder.path().join("mmproj-demo.gguf"), "GGUF").expect("there is room");
    let in_repository = PromptBuilder::load("demo").expect("it is embedded");
    // By its name, and by the folder's.
    for name in [file.as_path(), folder.path()] {
        let name = name.display().to_string();
        let tokenizer = Tokenizer::load(&name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(tokenizer.vocab_size(), in_repository.tokenizer().vocab_size());
        let in_file = PromptBuilder::load(&name).unwrap_or_else(|error| panic!("{error}"));
        let stops = |builder: &PromptBuilder| builder.stop().stop_token_ids().collect::<Vec<_>>();
        assert_eq!(stops(&in_file), [1052, 1050]);
        for line in include_str!("../../models/demo/corpus.txt").lines().step_by(50) {
            let chat =
                Conversation::from([("user", line), ("assistant", "<|im_end|>"), ("user", "Naïve, 123 \u{1F642}?")]);
            let build =
                |builder: &PromptBuilder| builder.build(&chat).unwrap_or_else(|error| panic!("{error}")).input_ids;
            assert_eq!(build(&in_file), build(&in_repository), "{line:?}");
        }
    }
}

fn what_cannot_be_read_is_named() {
    let with = |key: &'static str, value: Option<Meta>| {
        let mut values = demo();
        values.retain(|(known, _)| *known != key);
        values.extend(value.map(|value| (key, value)));
        gguf(3, &values)
    };
    let words = |text: &str| Some(Meta::Text(text.into()));
    let otherwise = "use the tokenizer.json of the repository that it was made from";
    let whole = gguf(3, &demo());
    // A list of this kind under a key that is not read.
    let listing = |kind: u32, count: u64| {
        let list = [&9_u32.to_le_bytes()[..], &kind.to_le_bytes(), &count.to_le_bytes()].concat();
        [gguf(3, &[])[..16].to_vec(), 1_u64.to_le_bytes().to_vec(), text("other"), list].concat()
    };
    let table = [
        (
            whole[..whole.len() / 2].to_vec(),
            "the file ends in the middle of its metadata; download it again".to_owned(),
        ),
        (gguf(1, &demo()), "its format is version 1; metatok reads 2 and 3".into()),
        (gguf(3_u32.swap_bytes(), &demo()), "its numbers are big-endian, which metatok does not read".into()),
        (
            [gguf(3, &[])[..16].to_vec(), 1_u64.to_le_bytes().to_vec(), u64::MAX.to_le_bytes().to_vec()].concat(),
            format!("its metadata is damaged: a length of {}", u64::MAX),
        ),
        (listing(9, 1), "its metadata has a list of lists, which metatok does not read".into()),
        (listing(77, 1), "its metadata is damaged: there is no type 77".into()),
        (listing(0, 1_000), "the file ends in the middle of its metadata; download it again".into()),
        (
            with("tokenizer.ggml.model", words("bert")),
            format!(
                "cannot load this tokenizer: tokenizer.ggml.model is \"bert\"; of GGUF files metatok reads \"gpt2\", \
                 \"llama\" and \"gemma4\"; {otherwise}"
            ),
        ),
        (
            with("tokenizer.ggml.pre", None),
            format!("cannot load this tokenizer: it does not say how text is cut (tokenizer.ggml.pre); {otherwise}"),
        ),
        (
            with("tokenizer.ggml.pre", words("mine")),
            format!(
                "cannot load this tokenizer: tokenizer.ggml.pre is \"mine\", which metatok does not know; {otherwise}"
            ),
        ),
        (with("tokenizer.ggml.tokens", None), format!("it has no tokenizer.ggml.tokens; {otherwise}")),
        (with("tokenizer.ggml.merges", None), format!("it has no tokenizer.ggml.merges; {otherwise}")),
        (
            with("tokenizer.ggml.merges", Some(Meta::Texts(vec!["a b".into(), "ab".into()]))),
            "tokenizer.ggml.merges[1] is \"ab\", which is not two entries".into(),
        ),
    ];
    let count = demo().iter().find_map(|(key, value)| match value {
        Meta::I32s(types) if *key == "tokenizer.ggml.token_type" => Some(types.len()),
        _ => None,
    });
    let count = count.expect("it has types");
    let scored = |scores: Meta| {
        let mut values = demo();
        values.retain(|(known, _)| *known != "tokenizer.ggml.model");
        values.extend([("tokenizer.ggml.model", Meta::Text("llama".into())), ("tokenizer.ggml.scores", scores)]);
        gguf(3, &values)
    };
    let nan_last = [vec![0.0; count - 1], vec![f32::NAN]].concat();
    let lists = [
        (
            with("tokenizer.ggml.tokens", Some(Meta::I32s(vec![1]))),
            format!("tokenizer.ggml.tokens is not a list of strings; {otherwise}"),
        ),
        (
            with("tokenizer.ggml.token_type", Some(Meta::F32s(vec![1.0; count]))),
            format!("tokenizer.ggml.token_type is not a list of whole numbers; {otherwise}"),
        ),
        (
            with("tokenizer.ggml.token_type", Some(Meta::I32s(vec![1; 5]))),
            format!("tokenizer.ggml.token_type has 5 values, but tokenizer.ggml.tokens has {count}; download it again"),
        ),
        (
            scored(Meta::F32s(vec![0.0; 5])),
            format!("tokenizer.ggml.scores has 5 values, but tokenizer.ggml.tokens has {count}; download it again"),
        ),
        (scored(Meta::Text("none".into())), format!("tokenizer.ggml.scores is not a list of numbers; {otherwise}")),
        (scored(Meta::F32s(nan_last)), format!("tokenizer.ggml.scores[{}] is NaN; download it again", count - 1)),
    ];
    let file = tempfile::NamedTempFile::new().expect("there is room");
    for (bytes, expected) in table.into_iter().chain(lists) {
        std::fs::write(file.path(), bytes).expect("there is room");
        let name = file.path().display().to_string();
        let error = Tokenizer::load(&name).expect_err(&expected).to_string();
        assert_eq!(error, format!("{name}: {expected}"));
    }
}

/// `models/ggml-vocab-*.gguf` of llama.cpp's sources, with the texts and ids that its own tests compare. They are in a
/// folder that METATOK_GGUF names.
fn ids_are_those_recorded_by_llama_cpp() {
    let Some(folder) = std::env::var_os("METATOK_GGUF").map(PathBuf::from) else {
        return println!("skipped: METATOK_GGUF names no folder");
    };
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = files.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "gguf"));
    files.sort();
    assert!(!files.is_empty(), "{} has no GGUF files", folder.display());
    let compared = files.iter().filter(|file| is_as_recorded(file)).count();
    assert!(compared > 0, "nothing was compared");
}

/// Whether there was something to compare.
fn is_as_recorded(file: &Path) -> bool {
    let recorded = |ending: &str| std::fs::read_to_string(format!("{}.{ending}", file.display())).ok();
    let Some((texts, ids)) = recorded("inp").zip(recorded("out")) else { return false };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let tokenizer = match Tokenizer::load(&file.display().to_string()) {
        Ok(tokenizer) => Arc::new(tokenizer),
        Err(error) => {
            println!("{name}: {error}");
            return false;
        }
    };
    let encoder = TextEncoder::new(tokenizer, ContentTrust::Trusted, AddSpecialTokens::Never).expect("it fits");
    let mut count = 0;
    for (text, ids) in texts.split("\n__ggml_vocab_test__\n").zip(ids.lines()) {
        let expected: Vec<u32> = ids.split_whitespace().map(|id| id.parse().expect("it is an id")).collect();
        let found = encoder.encode(text).unwrap_or_else(|error| panic!("{name}: {text:?}: {error}"));
        assert_eq!(found, expected, "{name}: {text:?}");
        count += 1;
    }
    println!("{name}: {count} texts");
    true
}
