//! Every built-in model gives the texts and ids that its file states.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use metatok::conversation::MediaKind;
use metatok::dialect::ConversationTemplate;
use metatok::template::{Affix, AffixItem};
use metatok::tokenizer::TokenizerFiles;
use metatok::{
    AddSpecialTokens, BuilderOptions, ChatMessage, Conversation, Mode, Model, PromptBuilder, TokenId, Tokenizer,
};
use serde_json::json;

use crate::harness::{Tests, tests};
use crate::loaded;
use crate::root::root;
use crate::subjects::REAL;

pub(crate) fn tests() -> Tests {
    tests![
        every_file_is_built_in,
        a_claimed_repository_is_the_tokenizer,
        models_and_templates_survive_json,
        stated_texts,
        stated_ids,
        own_thoughts,
        a_system_message_of_ones_own
    ]
}

/// The control tokens that templates give by id alone.
const NAMES: [(TokenId, &str); 4] = [(1, "<s>"), (2, "</s>"), (92542, "<|im_end|>"), (92543, "<|im_start|>")];

fn every_file_is_built_in() {
    let folder = root().join("models");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .flatten()
        .map(|entry| PathBuf::from(entry.file_name()))
        .map(|name| name.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .filter(|name| name != "conversations")
        .collect();
    names.sort();
    let mut built_in: Vec<String> = Model::builtin().map(|model| model.name).collect();
    built_in.sort();
    assert_eq!(names, built_in);
}

fn a_claimed_repository_is_the_tokenizer() {
    let model = Model::load("lmsys/vicuna-13b-v1.5@main").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((model.name.as_str(), model.tokenizer.as_deref()), ("vicuna", Some("lmsys/vicuna-13b-v1.5@main")));
}

/// A builder of the Python package goes to other processes as JSON.
fn models_and_templates_survive_json() {
    for model in Model::builtin() {
        let text = serde_json::to_string(&model).expect("it has no keys but strings");
        let read: Model = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", model.name));
        assert_eq!(Model { name: model.name.clone(), example: model.example.clone(), ..read }, model);
    }
    for (name, template) in ConversationTemplate::builtin() {
        let text = serde_json::to_string(template).expect("it has no keys but strings");
        let read: ConversationTemplate = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(&read, template);
    }
}

fn stated_texts() {
    for model in Model::builtin() {
        let stand_in = || Tokenizer::new(&stand_in(&model)).unwrap_or_else(|error| panic!("{error}"));
        let tokenizer = if model.name == "demo" { loaded::demo() } else { stand_in().into() };
        check(&model, &tokenizer);
    }
}

fn stated_ids() {
    for (name, folder) in REAL.iter().copied().chain([("demo", "demo")]) {
        let Some(tokenizer) = loaded::tokenizer(folder) else {
            println!("skipped: the tokenizer of {name} is not here");
            continue;
        };
        let model = Model::load(name).unwrap_or_else(|error| panic!("{error}"));
        check_ids(&model, &tokenizer);
    }
}

/// Earlier answers lose their thoughts; the last one has its own, once.
fn own_thoughts() {
    let thinks = |answer: &str| format!("<think>\nHm.\n</think>\n\n{answer}");
    let messages =
        [("user", "a".to_owned()), ("assistant", thinks("b")), ("user", "c".to_owned()), ("assistant", thinks("d"))];
    let table = [
        ("exaone-4", "[|assistant|]\n<think>\n\n</think>\n\nb[", "[|assistant|]\n<think>\nHm.\n</think>\n\nd["),
        ("glm-4.5", "<|assistant|>\n<think></think>\nb<", "<|assistant|>\n<think>Hm.</think>\nd"),
        ("nemotron-3-nano", "assistant\n<think></think>b<", "assistant\n<think>Hm.</think>d<"),
        ("qwen3-vl-thinking", "assistant\nb<", "assistant\n<think>\nHm.\n</think>\n\nd<"),
        ("qwen3.5", "assistant\nb<", "assistant\n<think>\nHm.\n</think>\n\nd<"),
    ];
    for (name, earlier, last) in table {
        let text = scored(name, &messages);
        assert!(text.contains(earlier) && text.contains(last), "{name}: {text}");
        assert_eq!(text.matches("Hm.").count(), 1, "{name}: {text}");
    }
}

fn a_system_message_of_ones_own() {
    let messages =
        |system: &str| [("system", system.to_owned()), ("user", "a".to_owned()), ("assistant", "b".to_owned())];
    assert_eq!(scored("moss", &messages("Be brief.")), "Be brief.\n<|Human|>: a<eoh>\n<|MOSS|>: b<eom>\n");
    let lfm2 = "<|startoftext|><|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n";
    assert_eq!(scored("lfm2", &messages("")), lfm2);
}

/// The text to score of a built-in model, with a tokenizer of bytes.
fn scored(name: &str, messages: &[(&str, String)]) -> String {
    let model = Model::load(name).unwrap_or_else(|error| panic!("{error}"));
    let tokenizer = Tokenizer::new(&stand_in(&model)).unwrap_or_else(|error| panic!("{error}"));
    let special_tokens = Some(AddSpecialTokens::Never);
    let options = BuilderOptions { mode: Mode::Score, text: true, special_tokens, ..BuilderOptions::default() };
    let builder = PromptBuilder::new(&model, Arc::new(tokenizer), &options).unwrap_or_else(|error| panic!("{error}"));
    let messages = messages.iter().map(|(role, content)| ChatMessage::new(*role, content.clone())).collect();
    let prompt = builder.build(&Conversation::Messages(messages)).unwrap_or_else(|error| panic!("{name}: {error}"));
    prompt.text.unwrap_or_default()
}

/// Builds the example both ways, and compares the ids with those that the file states.
pub(crate) fn check_ids(model: &Model, tokenizer: &Arc<Tokenizer>) {
    let (generate, score) = check(model, tokenizer);
    let example = model.example.as_ref().expect("it was checked");
    assert_eq!(Some(&generate), example.gen_ids.as_ref(), "{} gen", model.name);
    assert_eq!(Some(&score), example.ppl_ids.as_ref(), "{} ppl", model.name);
}

/// Builds the example both ways; gives the ids.
fn check(model: &Model, tokenizer: &Arc<Tokenizer>) -> (Vec<TokenId>, Vec<TokenId>) {
    let name = &model.name;
    let example = model.example.as_ref().unwrap_or_else(|| panic!("{name} has no example"));
    let build = |mode, expected: &String| {
        let special_tokens = Some(AddSpecialTokens::Never);
        let options = BuilderOptions { mode, text: true, special_tokens, ..BuilderOptions::default() };
        let builder = PromptBuilder::new(model, Arc::clone(tokenizer), &options);
        let builder = builder.unwrap_or_else(|error| panic!("{error}"));
        let prompt = builder.build(&example.conversation).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(prompt.text.as_ref(), Some(expected), "{name} {mode}");
        assert_eq!(prompt.input_ids, tokenizer.encode(expected).expect("it encodes"), "{name} {mode}");
        assert!(!builder.stop().is_empty(), "{name} never stops");
        prompt.input_ids
    };
    (build(Mode::Generate, &example.generate), build(Mode::Score, &example.score))
}

/// A tokenizer of bytes that has every control token of the model's template, and every stop id.
pub(crate) fn stand_in(model: &Model) -> TokenizerFiles {
    let template = model.meta_template.clone().unwrap_or_default();
    let mut tokens: BTreeMap<TokenId, String> = BTreeMap::new();
    let eos = template.eos_token_id.0.iter().map(|&id| TokenId::try_from(id).expect("it is an id"));
    let mut eos = eos.collect::<Vec<_>>().into_iter();
    let roles: Vec<_> = template.roles().map(|(_, role)| role).collect();
    let ends = roles.iter().filter(|role| role.generate).flat_map(|role| role.end.0.first());
    for item in ends {
        if let AffixItem::Token(token) = item {
            tokens.extend(eos.next().map(|id| (id, token.clone())));
        }
    }
    tokens.extend(eos.map(|id| (id, format!("<eos-{id}>"))));
    let roles = roles.iter().flat_map(|role| {
        [Some(&role.begin), Some(&role.end), role.generation_prompt.as_ref(), role.last_begin.as_ref()]
    });
    let media = MediaKind::ALL.iter().filter_map(|&kind| model.multimodal.of(kind)).map(|media| &media.placeholder);
    let affixes = roles.flatten().chain([&template.begin, &template.end, &template.between]).chain(media);
    for item in affixes.flat_map(|Affix(items)| items) {
        match item {
            AffixItem::Token(token) if !tokens.values().any(|known| known == token) => {
                tokens.insert(400_000 + tokens.len() as TokenId, token.clone());
            }
            AffixItem::Id(id) => {
                let (id, name) = NAMES.iter().find(|(known, _)| i64::from(*known) == *id).expect("the table has it");
                tokens.insert(*id, (*name).to_owned());
            }
            _ => {}
        }
    }
    if tokens.is_empty() {
        tokens.insert(0, "<eos>".to_owned());
    }
    let vocab: BTreeMap<String, usize> = byte_level().zip(300_000..).collect();
    let added = tokens.iter().map(|(id, content)| {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
    });
    let tokenizer = json!({
        "version": "1.0",
        "added_tokens": added.collect::<Vec<_>>(),
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    });
    let eos = tokens.values().next_back().expect("there is one");
    TokenizerFiles {
        name: "stand-in".into(),
        tokenizer_json: tokenizer.to_string().into_bytes(),
        tokenizer_config: Some(json!({"eos_token": eos}).to_string().into_bytes()),
        ..TokenizerFiles::default()
    }
}

/// The characters by which byte-level vocabularies spell the 256 bytes.
fn byte_level() -> impl Iterator<Item = String> {
    let printable = |byte: &u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let others = (0..=255_u8).filter(move |byte| !printable(byte)).zip(0x100_u32..).map(|(_, code)| code);
    let codes = (0..=255_u8).filter(printable).map(u32::from).chain(others);
    codes.map(|code| char::from_u32(code).expect("it is a character").to_string())
}
