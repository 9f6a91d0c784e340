//! Fingerprints: the same for the same, and another for whatever changes ids or stops.

use metatok::tokenizer::TokenizerFiles;
use metatok::{AddSpecialTokens, BuilderOptions, ContentTrust, Fingerprint, Mode, Model, Tokenizer};

use crate::harness::{Tests, tests};

pub(crate) fn tests() -> Tests {
    tests![
        what_decides_ids_is_in_it,
        what_decides_nothing_is_not_in_it,
        built_in_models_with_the_same_fingerprint_are_the_same,
        a_fingerprint_reads_back
    ]
}

const MODEL: &str = r#"
    [meta_template]
    round = [{ role = "HUMAN", begin = "A" }, { role = "BOT", begin = "B", generate = true }]
"#;
/// The whole alphabet of a tokenizer without merges.
const TOKENIZER: &str = r#"{"model": {"type": "BPE", "vocab": {"A": 0, "B": 1, "C": 2}, "merges": []},
    "added_tokens": [{"id": 3, "content": "<s>", "special": true}]}"#;

fn model(text: &str) -> Model {
    Model::parse("m.toml", text.as_bytes()).expect("it is one")
}

fn tokenizer(json: &str, config: &str) -> Tokenizer {
    let files = TokenizerFiles {
        name: "t".into(),
        tokenizer_json: json.into(),
        tokenizer_config: Some(config.into()),
        ..TokenizerFiles::default()
    };
    Tokenizer::new(&files).expect("it loads")
}

fn fingerprint(model_text: &str, json: &str, config: &str, options: &BuilderOptions) -> Fingerprint {
    Fingerprint::new(&model(model_text), &tokenizer(json, config), options)
}

/// The parts in which two fingerprints differ.
fn parts(there: &Fingerprint, here: &Fingerprint) -> Vec<String> {
    there.differences(here).iter().map(|difference| difference.part.to_owned()).collect()
}

fn what_decides_ids_is_in_it() {
    let default = BuilderOptions::default();
    let base = fingerprint(MODEL, TOKENIZER, "{}", &default);

    for (change, expected) in [
        (MODEL.replace("begin = \"A\"", "begin = \"C\""), "template"),
        (MODEL.replace("begin = \"A\"", "begin = [0]"), "template"),
        (MODEL.replace("\"HUMAN\"", "\"USER\""), "template"),
        (format!("pad_token_id = 1\n{MODEL}"), "template"),
        (format!("special_tokens = \"never\"\n{MODEL}"), "template"),
        (format!("{MODEL}\n[stop]\nstrings = [\"x\"]"), "template"),
        (format!("{MODEL}\n[multimodal]\nimage = {{ placeholder = [1] }}"), "template"),
    ] {
        assert_ne!(change, MODEL);
        assert_eq!(parts(&base, &fingerprint(&change, TOKENIZER, "{}", &default)), [expected], "{change}");
    }
    for (json, config) in [
        (TOKENIZER.replace("\"C\": 2", "\"D\": 2"), "{}"),
        (TOKENIZER.replace("<s>", "<t>"), "{}"),
        (TOKENIZER.replace("\"special\": true", "\"special\": false"), "{}"),
        (TOKENIZER.into(), r#"{"bos_token": "<s>"}"#),
        (TOKENIZER.into(), r#"{"added_tokens_decoder": {"4": {"content": "<u>"}}}"#),
    ] {
        assert_eq!(parts(&base, &fingerprint(MODEL, &json, config, &default)), ["tokenizer"], "{json} {config}");
    }
    // The model says it of its template, and the option of strings, too.
    let never = format!("special_tokens = \"never\"\n{MODEL}");
    let of_all = BuilderOptions { special_tokens: Some(AddSpecialTokens::Never), ..BuilderOptions::default() };
    let [of_model, of_all] = [&default, &of_all].map(|options| fingerprint(&never, TOKENIZER, "{}", options));
    assert_eq!(parts(&of_model, &of_all), ["special_tokens"]);
    let options = || BuilderOptions::default();
    for (options, expected) in [
        (BuilderOptions { mode: Mode::Score, ..options() }, "mode"),
        (BuilderOptions { special_tokens: Some(AddSpecialTokens::Never), ..options() }, "special_tokens"),
        (BuilderOptions { content: ContentTrust::Trusted, ..options() }, "content"),
        (BuilderOptions { reserve: vec!["A".into()], ..options() }, "reserve"),
        (BuilderOptions { stop_token_ids: vec![1], ..options() }, "stop_token_ids"),
        (BuilderOptions { stop_strings: vec!["B".into()], ..options() }, "stop_strings"),
        (BuilderOptions { round_fallback: true, ..options() }, "round_fallback"),
        (BuilderOptions { each_message: true, ..options() }, "each_message"),
        (BuilderOptions { compat: true, ..options() }, "compat"),
    ] {
        assert_eq!(parts(&base, &fingerprint(MODEL, TOKENIZER, "{}", &options)), [expected]);
    }
}

fn what_decides_nothing_is_not_in_it() {
    let base = fingerprint(MODEL, TOKENIZER, "{}", &BuilderOptions::default());
    let detailed = BuilderOptions { spans: true, offsets: true, text: true, ..BuilderOptions::default() };
    let reordered = r#"{"added_tokens": [{"special": true, "content": "<s>", "id": 3}],
        "model": {"merges": [], "vocab": {"C": 2, "B": 1, "A": 0}, "type": "BPE"}}"#;
    let noted = format!("about = \"x\"\nhub = [\"a/b\"]\nallow = [\"no-pad\"]\ntokenizer = \"demo\"\n{MODEL}");
    for other in [
        fingerprint(&noted, TOKENIZER, "{}", &BuilderOptions::default()),
        fingerprint(MODEL, reordered, "{}", &BuilderOptions::default()),
        fingerprint(MODEL, TOKENIZER, "{}", &detailed),
    ] {
        assert_eq!(parts(&base, &other), Vec::<String>::new());
        assert_eq!(base, other);
    }
}

fn built_in_models_with_the_same_fingerprint_are_the_same() {
    let tokenizer = Tokenizer::demo().expect("it is embedded");
    let bare = |model: &Model| Model {
        name: String::new(),
        about: None,
        tokenizer: None,
        hub: Vec::new(),
        verified: Vec::new(),
        allow: Vec::new(),
        example: None,
        ..model.clone()
    };
    let models: Vec<Model> = Model::builtin().collect();
    let template = |model| Fingerprint::new(model, &tokenizer, &BuilderOptions::default()).template;
    let templates: Vec<String> = models.iter().map(template).collect();
    for (i, one) in models.iter().enumerate() {
        for (j, other) in models.iter().enumerate() {
            assert_eq!(templates[i] == templates[j], bare(one) == bare(other), "{} and {}", one.name, other.name);
        }
    }
}

fn a_fingerprint_reads_back() {
    let options = BuilderOptions { stop_strings: vec!["\"\n".into()], ..BuilderOptions::default() };
    let there = fingerprint(MODEL, TOKENIZER, "{}", &options).with("dataset", "x");
    let read: Fingerprint = serde_json::from_str(there.to_json().get()).expect("it was written so");
    assert_eq!(read, there);
    assert!(!there.to_json().get().contains('\n'), "it stands on one line");
}
