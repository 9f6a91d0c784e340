//! Other vocabularies than `tokenizer.json` give the ids of their own libraries, recorded in `tests/vocabularies`.

use std::path::PathBuf;
use std::sync::Arc;

use metatok::builder::TextEncoder;
use metatok::{AddSpecialTokens, BuilderOptions, ContentTrust, Conversation, Model, PromptBuilder, Tokenizer};
use serde::Deserialize;

use crate::harness::{Tests, tests};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![
        ids_are_those_of_their_libraries,
        special_tokens_are_those_of_the_files,
        the_config_decides_what_is_added,
        special_tokens_that_a_tekken_lists,
        errors_name_the_file_that_there_is,
        no_content_is_a_special_token,
        a_file_is_recognized_by_its_content
    ]
}

#[derive(Deserialize)]
struct Recorded {
    library: String,
    ids: Vec<Vec<u32>>,
}

fn folder(name: &str) -> PathBuf {
    root().join("tests/vocabularies").join(name)
}

fn load(path: PathBuf) -> Tokenizer {
    Tokenizer::load(&path.display().to_string()).unwrap_or_else(|error| panic!("{error}"))
}

fn read<T: for<'de> Deserialize<'de>>(path: PathBuf) -> T {
    let text = std::fs::read_to_string(path).expect("it is there");
    serde_json::from_str(&text).expect("it is of its kind")
}

fn folders() -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder("")).expect("it can be listed").flatten().map(|entry| entry.path());
    let folders: Vec<_> = all.filter(|path| path.is_dir()).collect();
    assert!(!folders.is_empty());
    folders
}

fn ids_are_those_of_their_libraries() {
    let texts: Vec<String> = read(folder("texts.json"));
    for folder in folders() {
        let (tokenizer, Recorded { library, ids }) = (load(folder.clone()), read(folder.join("ids.json")));
        assert_eq!(ids.len(), texts.len());
        for (text, expected) in texts.iter().zip(ids) {
            let ids = tokenizer.encode(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(ids, expected, "{text:?} by {library} in {}", folder.display());
        }
    }
}

fn special_tokens_are_those_of_the_files() {
    let first = 1050;
    for (name, begin, bos, eos) in [
        ("sentencepiece-bpe", vec![1], Some(1), Some(2)),
        ("sentencepiece-unigram", vec![1], Some(1), Some(2)),
        ("tekken", vec![1], Some(1), Some(2)),
        ("tiktoken-qwen", vec![], None, None),
        ("tiktoken-glm-4", vec![first + 1, first + 2], None, None),
        ("tiktoken-kimi", vec![], Some(first), Some(first + 1)),
    ] {
        let tokenizer = load(folder(name));
        assert_eq!(tokenizer.special_tokens_around(), (&begin[..], &[][..]), "{name}");
        let special = tokenizer.special_token_ids();
        assert_eq!((special.bos, special.eos), (bos, eos), "{name}");
    }
    let by_name = |name: &str, token: &str| load(folder(name)).token_to_id(token);
    assert_eq!(by_name("sentencepiece-bpe", "[INST]"), Some(4));
    assert_eq!(by_name("tekken", "[SYSTEM_PROMPT]"), Some(17));
    assert_eq!(by_name("tekken", "<SPECIAL_23>"), Some(23));
    assert_eq!(by_name("tiktoken-qwen", "<|im_end|>"), Some(first + 2));
    assert_eq!(by_name("tiktoken-kimi", "<|reserved_token_1053|>"), Some(first + 3));
}

/// A copy of a vocabulary with other files beside it.
fn with_files(name: &str, file: &str, files: &[(&str, &str)]) -> Tokenizer {
    let copies = tempfile::tempdir().expect("there is room");
    std::fs::copy(folder(name).join(file), copies.path().join(file)).expect("there is room");
    for (name, content) in files {
        std::fs::write(copies.path().join(name), content).expect("there is room");
    }
    load(copies.path().to_owned())
}

fn the_config_decides_what_is_added() {
    let with_config = |config| with_files("sentencepiece-bpe", "tokenizer.model", &[("tokenizer_config.json", config)]);
    let ids = |tokenizer: &Tokenizer, text: &str| tokenizer.encode(text).expect("it is text");
    let with_space = ids(&with_config("{}"), "red");
    for (config, before, after, has_space) in [
        (r#"{"add_bos_token": false}"#, &[][..], &[][..], true),
        (r#"{"add_eos_token": true, "tokenizer_class": "LlamaTokenizerFast"}"#, &[1], &[2], true),
        (r#"{"legacy": false}"#, &[1], &[], true),
        (r#"{"add_prefix_space": false}"#, &[1], &[], false),
    ] {
        let tokenizer = with_config(config);
        assert_eq!(tokenizer.special_tokens_around(), (before, after), "{config}");
        assert_eq!(ids(&tokenizer, "red") == with_space, has_space, "{config}");
        // Roles that it does not name are those of the vocabulary.
        assert_eq!((tokenizer.special_token_ids().bos, tokenizer.special_token_ids().eos), (Some(1), Some(2)));
    }
    let chatglm = with_config(r#"{"tokenizer_class": "ChatGLMTokenizer"}"#);
    let first = with_config("{}").vocab_size() as u32;
    assert_eq!(chatglm.special_tokens_around(), (&[first + 1, first + 3][..], &[][..]));
    assert_eq!((ids(&chatglm, "<|user|>"), ids(&chatglm, "red")), (vec![first + 6], with_space.clone()));
    // A tokenizer in Python takes a template's tokens out of the text before a space is put in front.
    let declared = r#""added_tokens_decoder": {"1000": {"content": "<|user|>", "normalized": true}}"#;
    for (auto_map, has_space) in [
        (r#"{"AutoTokenizer": ["own.Tokenizer", null]}"#, true),
        (r#"["own.Tokenizer", null]"#, true),
        (r#"{"AutoTokenizer": ["own.Tokenizer", "own.TokenizerFast"]}"#, false),
        (r#"{"AutoTokenizer": ["own.TokenizerFast", null]}"#, false),
    ] {
        let config = format!(r#"{{"auto_map": {auto_map}, {declared}}}"#);
        let tokenizer = with_files("sentencepiece-bpe", "tokenizer.model", &[("tokenizer_config.json", &config)]);
        let model =
            serde_json::from_str(r#"{"round": [{"role": "HUMAN", "begin": "<|user|>"}]}"#).expect("a meta template");
        let model = Model { meta_template: Some(model), ..Model::default() };
        let options = BuilderOptions { special_tokens: Some(AddSpecialTokens::Never), ..BuilderOptions::default() };
        let builder = PromptBuilder::new(&model, Arc::new(tokenizer), &options).expect("they fit");
        let prompt = builder.build(&Conversation::from([("user", "red")])).expect("it is plain");
        assert_eq!(prompt.input_ids[0], 1000);
        assert_eq!(prompt.input_ids[1..] == with_space, has_space, "{auto_map}");
    }
    let added = [("added_tokens.json", r#"{"<|im_start|>": 1000}"#)];
    let with_added = with_files("sentencepiece-bpe", "tokenizer.model", &added);
    assert_eq!(ids(&with_added, "<|im_start|>"), [1000]);
    let map = [("special_tokens_map.json", r#"{"eos_token": "[/INST]"}"#)];
    let special = with_files("sentencepiece-bpe", "tokenizer.model", &map);
    assert_eq!((special.special_token_ids().bos, special.special_token_ids().eos), (Some(1), Some(5)));
}

fn special_tokens_that_a_tekken_lists() {
    let text = std::fs::read_to_string(folder("tekken").join("tekken.json")).expect("it is there");
    let listed = r#"{"special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": true},
        {"rank": 1, "token_str": "<s>", "is_control": true}, {"rank": 2, "token_str": "</s>", "is_control": true},
        {"rank": 3, "token_str": "[THINK]", "is_control": false}],"#;
    let tokenizer = with_files("tekken", "tekken.json", &[("tekken.json", &text.replacen('{', listed, 1))]);
    assert_eq!(tokenizer.token_to_id("[THINK]"), Some(3));
    assert_eq!(tokenizer.token_to_id("<SPECIAL_4>"), Some(4));
    assert_eq!(tokenizer.special_token_ids().pad, None);
    assert!(tokenizer.added_tokens().all(|token| token.special));
}

fn errors_name_the_file_that_there_is() {
    let text = std::fs::read_to_string(folder("tekken").join("tekken.json")).expect("it is there");
    let mut tekken: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    tekken["config"]["pattern"] = "(".into();
    let copy = tempfile::tempdir().expect("there is room");
    std::fs::write(copy.path().join("tekken.json"), tekken.to_string()).expect("there is room");
    let error = Tokenizer::load(&copy.path().to_string_lossy()).map(|_| ()).expect_err("this is no pattern");
    let start = format!("{}: tekken.json, converted to tokenizer.json: ", copy.path().display());
    assert!(error.to_string().starts_with(&start), "{error}");
}

fn no_content_is_a_special_token() {
    for folder in folders() {
        let tokenizer = Arc::new(load(folder.clone()));
        let encoder = TextEncoder::new(Arc::clone(&tokenizer), ContentTrust::default(), AddSpecialTokens::Never);
        let encoder = encoder.unwrap_or_else(|error| panic!("{error}"));
        for token in tokenizer.added_tokens().filter(|token| token.special) {
            let text = format!("a {} b", token.content);
            let ids = encoder.encode(&text).unwrap_or_else(|error| panic!("{error}"));
            let unknown = tokenizer.unk_token_id();
            let is_special = |id: &u32| {
                Some(*id) != unknown && tokenizer.added_tokens().any(|added| added.id == *id && added.special)
            };
            assert!(!ids.iter().any(is_special), "{text:?} in {}: {ids:?}", folder.display());
        }
    }
}

fn a_file_is_recognized_by_its_content() {
    let copies = tempfile::tempdir().expect("there is room");
    for (name, file) in [("tekken", "tekken.json"), ("sentencepiece-bpe", "tokenizer.model")] {
        let copy = copies.path().join(format!("{name}.v3"));
        std::fs::copy(folder(name).join(file), &copy).expect("there is room");
        let ids = |tokenizer: Tokenizer| tokenizer.encode("Which planet is red?").expect("it is text");
        assert_eq!(ids(load(copy)), ids(load(folder(name))));
    }
}
