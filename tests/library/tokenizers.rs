//! Loading tokenizers: which file says what, and files that are damaged.

use metatok::stop::StopSource;
use metatok::tokenizer::TokenizerFiles;
use metatok::{AddSpecialTokens, BuilderOptions, ChatMessage, Conversation, Mode, Model, PromptBuilder, Tokenizer};
use serde_json::{Value, json};

use crate::harness::{Tests, tests};
use crate::loaded;
use crate::subjects::{self, added, demo_json, files};

pub(crate) fn tests() -> Tests {
    tests![
        which_file_names_the_special_tokens,
        stop_ids_keep_their_sources,
        special_tokens_are_added_as_asked,
        spans_survive_normalizing,
        white_space_that_is_added_and_in_the_model_is_white_space,
        added_tokens_of_the_config_have_their_declared_ids,
        which_library_loads_what,
        ids_are_those_of_python_where_the_libraries_disagree,
        a_post_processor_that_repeats_a_text_is_refused,
        damaged_files_never_panic,
        truncated_files_are_named
    ]
}

fn load(files: &TokenizerFiles) -> Tokenizer {
    Tokenizer::new(files).unwrap_or_else(|error| panic!("{error}"))
}

fn which_file_names_the_special_tokens() {
    let token = |content: &str| json!({ "content": content, "lstrip": false });
    #[rustfmt::skip]
    let table = [
        // tokenizer_config.json, special_tokens_map.json, generation_config.json, bos, eos, pad, generation eos
        (None, None, None, None, None, None, vec![]),
        (Some(json!({ "eos_token": "<|im_end|>", "pad_token": "<|pad|>" })), None, None, None, Some(1052), Some(1053), vec![]),
        (Some(json!({ "eos_token": token("<|im_end|>"), "bos_token": null })), None, None, None, Some(1052), None, vec![]),
        (None, Some(json!({ "bos_token": "<|im_start|>", "eos_token": token("<|im_end|>") })), None, Some(1051), Some(1052), None, vec![]),
        (Some(json!({ "eos_token": "<|endoftext|>" })), Some(json!({ "eos_token": "<|im_end|>" })), None, None, Some(1052), None, vec![]),
        (Some(json!({ "eos_token": "<|endoftext|>", "added_tokens_decoder": {} })), Some(json!({ "eos_token": "<|im_end|>", "bos_token": "<|im_end|>" })), None, None, Some(1050), None, vec![]),
        (None, None, Some(json!({ "eos_token_id": 1050 })), None, None, None, vec![1050]),
        (None, None, Some(json!({ "eos_token_id": [1052, 1050] })), None, None, None, vec![1052, 1050]),
        (Some(json!({ "eos_token": "no such token" })), None, None, None, None, None, vec![]),
        // An ordinary entry of the vocabulary will do.
        (Some(json!({ "eos_token": "!" })), None, None, None, Some(0), None, vec![]),
    ];
    for (config, map, generation, bos, eos, pad, generation_eos) in table {
        let mut files = files("files", &demo_json());
        files.tokenizer_config = config.map(|json| json.to_string().into_bytes());
        files.special_tokens_map = map.map(|json| json.to_string().into_bytes());
        files.generation_config = generation.map(|json| json.to_string().into_bytes());
        let tokenizer = load(&files);
        let special = tokenizer.special_token_ids();
        assert_eq!((special.bos, special.eos, special.pad, &special.generation_eos), (bos, eos, pad, &generation_eos));
    }
}

fn stop_ids_keep_their_sources() {
    let model = Model::load("demo").expect("it is built in");
    let tokenizer = std::sync::Arc::new(Tokenizer::demo().expect("it is embedded"));
    let options =
        BuilderOptions { stop_token_ids: vec![1052, 7], stop_strings: vec!["END".into()], ..BuilderOptions::default() };
    let builder = PromptBuilder::new(&model, std::sync::Arc::clone(&tokenizer), &options)
        .unwrap_or_else(|error| panic!("{error}"));
    let found: Vec<_> = builder.stop().ids().iter().map(|stop| (stop.id, stop.sources.clone())).collect();
    use StopSource::{GenerationConfig, MetaTemplate, RoleEnd, TokenizerConfig, User};
    let expected = [
        (1052, vec![MetaTemplate, RoleEnd, TokenizerConfig, GenerationConfig, User]),
        (1050, vec![GenerationConfig]),
        (7, vec![User]),
    ];
    assert_eq!(found, expected);
    assert_eq!(builder.stop().strings(), ["END"]);
    let empty = BuilderOptions { stop_strings: vec![String::new()], ..options };
    let refused = PromptBuilder::new(&model, tokenizer, &empty).expect_err("it would end every answer").to_string();
    assert_eq!(refused, "`stop_strings`: an empty string would end every answer before it begins");
}

fn special_tokens_are_added_as_asked() {
    let mut tokenizer = demo_json();
    tokenizer["post_processor"] = json!({ "type": "TemplateProcessing",
        "single": [{ "SpecialToken": { "id": "<|endoftext|>", "type_id": 0 } }, { "Sequence": { "id": "A", "type_id": 0 } }, { "SpecialToken": { "id": "<|im_end|>", "type_id": 0 } }],
        "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } }],
        "special_tokens": {
            "<|endoftext|>": { "id": "<|endoftext|>", "ids": [1050], "tokens": ["<|endoftext|>"] },
            "<|im_end|>": { "id": "<|im_end|>", "ids": [1052], "tokens": ["<|im_end|>"] } } });
    let tokenizer = std::sync::Arc::new(load(&files("one that adds", &tokenizer)));
    assert_eq!(tokenizer.special_tokens_around(), (&[1050][..], &[1052][..]));
    let chat = json!([{ "role": "HUMAN" }, { "role": "BOT", "begin": [1051], "generate": true }]);
    let human = json!([{ "role": "HUMAN" }]);
    let (auto, always, never) = (AddSpecialTokens::Auto, AddSpecialTokens::Always, AddSpecialTokens::Never);
    for (template, mode, when, expected, omitted, omitted_end) in [
        (json!({ "round": human }), Mode::Score, auto, vec![1050, 64, 1052], vec![], vec![]),
        (json!({ "begin": [1050], "round": human }), Mode::Score, auto, vec![1050, 64, 1052], vec![1050], vec![]),
        (json!({ "round": human, "end": [1052] }), Mode::Score, auto, vec![1050, 64, 1052], vec![1052], vec![]),
        (
            json!({ "begin": "<|endoftext|>", "round": human }),
            Mode::Score,
            always,
            vec![1050, 1050, 64, 1052],
            vec![],
            vec![],
        ),
        (json!({ "begin": [1050], "round": human }), Mode::Score, never, vec![1050, 64], vec![], vec![]),
        // After a prompt to continue there is nothing, unless it is asked for.
        (json!({ "round": chat }), Mode::Generate, auto, vec![1050, 64, 1051], vec![], vec![1052]),
        (json!({ "begin": [1050], "round": human }), Mode::Generate, auto, vec![1050, 64], vec![1050], vec![1052]),
        (json!({ "round": chat }), Mode::Generate, always, vec![1050, 64, 1051, 1052], vec![], vec![]),
        (json!({ "round": chat }), Mode::Generate, never, vec![64, 1051], vec![], vec![]),
    ] {
        let model = Model {
            meta_template: Some(serde_json::from_value(template).expect("it is a template")),
            ..Model::default()
        };
        let options = BuilderOptions { mode, special_tokens: Some(when), spans: true, ..BuilderOptions::default() };
        let builder = PromptBuilder::new(&model, tokenizer.clone(), &options).unwrap_or_else(|error| panic!("{error}"));
        let prompt = builder
            .build(&Conversation::Messages(vec![ChatMessage::new("user", "a")]))
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((&prompt.input_ids, &prompt.omitted, &prompt.omitted_end), (&expected, &omitted, &omitted_end));
        let content = prompt.mask(|part| part.is_content()).expect("spans were asked for");
        let expected: Vec<u8> = expected.iter().map(|id| u8::from(*id == 64)).collect();
        assert_eq!(content, expected);
    }
}

fn spans_survive_normalizing() {
    // NFC makes one character of two, so that offsets shift; the emoji is four tokens.
    let model: Model = Model {
        meta_template: Some(
            serde_json::from_value(json!({ "round": [{ "role": "HUMAN", "begin": "é: ", "end": " e\u{301}nd" }] }))
                .expect("it is a template"),
        ),
        ..Model::default()
    };
    let tokenizer = std::sync::Arc::new(Tokenizer::demo().expect("it is embedded"));
    let options = BuilderOptions { spans: true, ..BuilderOptions::default() };
    let builder = PromptBuilder::new(&model, tokenizer, &options).unwrap_or_else(|error| panic!("{error}"));
    let said = "e\u{301}\u{1112}\u{1161}🐙";
    let prompt = builder
        .build(&Conversation::Messages(vec![ChatMessage::new("user", said)]))
        .unwrap_or_else(|error| panic!("{error}"));
    let spans = prompt.spans.as_deref().expect("they were asked for");
    let texts: Vec<_> = spans
        .iter()
        .map(|span| builder.tokenizer().decode(&prompt.input_ids[span.start..span.end], false).expect("it decodes"))
        .collect();
    assert_eq!(texts, ["é: ", "é하🐙", " énd"]);
}

fn white_space_that_is_added_and_in_the_model_is_white_space() {
    // Gemma lists `▁▁` and its like as added tokens; what stands for them in a text are spaces.
    let Some(tokenizer) = loaded::tokenizer("gemma2") else {
        println!("skipped: Gemma 2's tokenizer is not here");
        return;
    };
    let text = "a   b\n\n\n    c";
    let ids = tokenizer.encode(text).expect("it encodes");
    let bytes: Vec<u8> = ids.iter().filter_map(|&id| tokenizer.token_bytes(id)).flatten().collect();
    assert_eq!(String::from_utf8_lossy(&bytes), text);
}

fn added_tokens_of_the_config_have_their_declared_ids() {
    let subject = subjects::subject("declared in the config, with gaps");
    for (token, id) in [("<|turn|>", 1200), ("<|turn_end|>", 1111), ("<tool>", 2000)] {
        assert_eq!(subject.fast.token_to_id(token), Some(id));
        assert_eq!(subject.fast.encode(token).expect("it encodes"), [id]);
        assert_eq!(subject.fast.decode(&[id], false).expect("it decodes"), token);
    }
    assert_eq!(subject.fast.vocab_size(), 2001);
    assert_eq!(subject.fast.special_token_ids().eos, Some(1111));
    let gap = subject.fast.check_id(1500).expect_err("no token has it").to_string();
    assert_eq!(gap, "token id 1500 is in a gap of the vocabulary: no token has this id");
}

fn which_library_loads_what() {
    for (name, library) in [
        ("demo", "metatok"),
        ("Metaspace, first", "metatok"),
        ("Metaspace, always", "metatok"),
        ("Metaspace, never", "metatok"),
        ("byte fallback without <0x09>", "metatok"),
        ("byte fallback without <0xA9>", "classic"),
        ("a prefix space by bytes", "classic"),
        ("a pattern of its own", "metatok"),
        ("digits, and entries that no text is", "metatok"),
        ("digits twice, and entries that no text is", "metatok"),
    ] {
        let (found, reason) = subjects::subject(name).fast.backend();
        assert_eq!(found, library, "{name}");
        assert_eq!(reason.is_some(), library == "classic", "{name}");
    }
}

/// Every place in a JSON value, to a depth, but few of a long list's or object's.
fn places(value: &Value, depth: usize, prefix: &str, all: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(entries) => {
            entries.iter().take(12).map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().take(2).enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in below {
        let place = format!("{prefix}/{key}");
        if depth > 0 {
            places(value, depth - 1, &place, all);
        }
        all.push(place);
    }
}

/// What the fast library, or another engine for regular expressions, would make of these texts differs. The tokens are those
/// of Python's tokenizers 0.23.3.
fn ids_are_those_of_python_where_the_libraries_disagree() {
    let split = |regex: &str| {
        json!({ "type": "Sequence", "pretokenizers": [
            { "type": "Split", "pattern": { "Regex": regex }, "behavior": "Isolated", "invert": false },
            { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false },
        ] })
    };
    let words = json!({ "type": "WhitespaceSplit" });
    let meta_spaces = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false });
    let strip = json!({ "type": "Strip", "strip_left": true, "strip_right": false });
    let unknown = json!({ "unk_token": "?" });
    let bytes: Vec<String> = (0..=255_u8).map(|byte| format!("<0x{byte:02X}>")).collect();
    let bytes = bytes.join(" ");
    #[rustfmt::skip]
    let table = [
        // Normalizer, pre-tokenizer, entries, merges, more of the model, a text, its tokens
        (json!(null), split(r"\p{N}{1,3}+|\s+"), "1 2 3 4 34", "3 4", json!({}), "1234", "1 2 34"),
        (json!(null), split(r"\s+$|\s"), "a b Ċ ĊĊ", "Ċ Ċ", json!({}), "a\n\nb", "a Ċ Ċ b"),
        (json!(null), words.clone(), "? a b c a</w> b</w> c</w> ab</w>", "a b</w>",
            json!({ "unk_token": "?", "end_of_word_suffix": "</w>" }), "a ab c", "a</w> ab</w> c</w>"),
        (json!(null), words, "? a ##a", "",
            json!({ "unk_token": "?", "continuing_subword_prefix": "##", "fuse_unk": true }), "xy aa", "? a ##a"),
        (strip, meta_spaces.clone(), "? a b ▁", "", unknown.clone(), " a b", "a ▁ b"),
        (json!({ "type": "NFKC" }), json!(null), "? a b 令 和 ㋿", "", unknown, "a㋿b", "a ㋿ b"),
        // A normalizer that does not name its kind.
        (json!({ "normalizers": [{ "type": "Lowercase" }] }), meta_spaces, &format!("a b ▁ {bytes}"), "",
            json!({ "byte_fallback": true }), "A b", "▁ a ▁ b"),
    ];
    for (normalizer, pre_tokenizer, entries, merges, more, text, expected) in table {
        let vocab: serde_json::Map<String, Value> =
            entries.split(' ').enumerate().map(|(id, entry)| (entry.to_owned(), id.into())).collect();
        let mut model = json!({ "type": "BPE", "vocab": vocab, "merges": [] });
        model["merges"].as_array_mut().expect("it is one").extend((!merges.is_empty()).then(|| merges.into()));
        model.as_object_mut().expect("it is one").extend(more.as_object().cloned().unwrap_or_default());
        let json =
            json!({ "version": "1.0", "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "model": model });
        let tokenizer = load(&files("small", &json));
        let ids = tokenizer.encode(text).unwrap_or_else(|error| panic!("{error}"));
        let tokens: Vec<String> = ids.into_iter().filter_map(|id| tokenizer.id_to_token(id)).collect();
        assert_eq!(tokens.join(" "), expected, "{pre_tokenizer} {text:?}");
    }
}

fn a_post_processor_that_repeats_a_text_is_refused() {
    let mut json = demo_json();
    let text = json!({ "Sequence": { "id": "A", "type_id": 0 } });
    let pair = [text.clone(), json!({ "Sequence": { "id": "B", "type_id": 1 } })];
    json["post_processor"] =
        json!({ "type": "TemplateProcessing", "single": [text, text], "pair": pair, "special_tokens": {} });
    let error = Tokenizer::new(&files("twice", &json)).expect_err("nobody wants the text twice").to_string();
    assert!(error.contains("its post-processor writes a text more than once"), "{error}");
}

fn damaged_files_never_panic() {
    let mut whole = demo_json();
    whole["post_processor"] = json!({ "type": "TemplateProcessing", "single": [{ "Sequence": { "id": "A", "type_id": 0 } }],
        "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } }], "special_tokens": {} });
    whole["added_tokens"] = json!([added(1050, "<|im_start|>", &["special"]), added(1051, "<tag>", &["normalized"])]);
    // Hundreds of files are read: merges and entries of each kind are enough.
    let vocab = whole["model"]["vocab"].as_object_mut().expect("it is an object");
    vocab.retain(|_, id| id.as_u64().is_some_and(|id| id < 300));
    let merges = whole["model"]["merges"].as_array_mut().expect("it is a list");
    merges.truncate(300 - 256);
    assert!(Tokenizer::new(&files("whole", &whole)).is_ok());
    let mut all = Vec::new();
    places(&whole, 3, "", &mut all);
    assert!(all.len() > 60);
    let wrong = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(4_294_967_295_u32),
        json!(""),
        json!("\u{0}"),
        json!([]),
        json!({}),
        json!([[]]),
        json!({ "type": "Sequence" }),
    ];
    for place in all {
        for wrong in &wrong {
            let mut damaged = whole.clone();
            *damaged.pointer_mut(&place).expect("the place is there") = wrong.clone();
            // That it loads all the same is no failure: then it must also encode.
            if let Ok(tokenizer) = Tokenizer::new(&files("damaged", &damaged)) {
                let _ = tokenizer.encode("a b <tag>é🙂 <|im_start|>");
            }
        }
    }
}

fn truncated_files_are_named() {
    let whole = demo_json().to_string().into_bytes();
    for len in [0, 1, 10, 1_000, whole.len() / 2, whole.len() - 1] {
        let files =
            TokenizerFiles { name: "cut".into(), tokenizer_json: whole[..len].to_vec(), ..TokenizerFiles::default() };
        let error = Tokenizer::new(&files).expect_err("it is not whole").to_string();
        let what = if len == 0 { "this is an empty file" } else { "it ends" };
        assert!(error.starts_with("cut: tokenizer.json: ") && error.contains(what), "{error}");
    }
}
