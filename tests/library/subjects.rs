//! Tokenizers of every kind that metatok must get right, each with the library's own reference.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::loaded;
use metatok::tokenizer::TokenizerFiles;
use metatok::{TokenId, Tokenizer};
use serde_json::{Value, json};
use tokenizers_classic as classic;

/// Stands for a token with an ordinary id in the reference's joined string, where no text could.
pub(crate) const ORDINARY: &str = "\u{E000}ordinary\u{E001}";

/// Which of the real tokenizers a model's ids are stated for.
pub(crate) const REAL: [(&str, &str); 19] = [
    ("alpaca", "llama2"),
    ("chatml", "qwen3"),
    ("gemma-2", "gemma2"),
    ("internlm2-chat", "internlm2"),
    ("llama-2-chat", "llama2"),
    ("llama-3", "llama3_1"),
    ("llama-3.1", "llama3_1"),
    ("mistral-instruct-v1", "llama2"),
    ("mixtral", "llama2"),
    ("qwen2.5", "qwen3"),
    ("qwen2.5-vl", "qwen3"),
    ("qwen3", "qwen3"),
    ("qwen3-instruct", "qwen3"),
    ("qwen3-no-think", "qwen3"),
    ("qwen3-thinking", "qwen3"),
    ("qwen3-vl", "qwen3"),
    ("qwen3-vl-thinking", "qwen3"),
    ("vicuna", "llama2"),
    ("zephyr", "llama2"),
];

/// A tokenizer, with either library, and the reference.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) fast: Arc<Tokenizer>,
    pub(crate) classic: LazyLock<Arc<Tokenizer>, Box<dyn FnOnce() -> Arc<Tokenizer> + Send>>,
    reference: classic::Tokenizer,
    /// The reference numbers added tokens by itself; this takes its ids to the declared ones.
    declared: HashMap<TokenId, TokenId>,
    /// The id that [`ORDINARY`] stands for.
    pub(crate) ordinary: TokenId,
}

impl Subject {
    pub(crate) fn new(files: TokenizerFiles, fast: Arc<Tokenizer>) -> Self {
        let mut reference = classic::Tokenizer::from_bytes(&files.tokenizer_json).expect("the reference loads");
        // As in transformers, which ignores what is declared here.
        reference.with_truncation(None).expect("it can be ended").with_padding(None);
        let mut ids = 0..fast.vocab_size() as TokenId;
        let ordinary = ids.find(|&id| fast.id_to_token(id).is_some_and(|token| token.ends_with("the"))).unwrap_or(0);
        let added = |token: &metatok::tokenizer::AddedToken| {
            classic::AddedToken::from(token.content.clone(), token.special)
                .normalized(token.normalized)
                .lstrip(token.lstrip)
                .rstrip(token.rstrip)
                .single_word(token.single_word)
        };
        reference.add_tokens(fast.added_tokens().map(added)).expect("tokens can be added");
        let placeholder = classic::AddedToken::from(ORDINARY, true);
        reference.add_tokens([placeholder]).expect("tokens can be added");
        let mut declared: HashMap<_, _> = fast
            .added_tokens()
            .map(|token| (reference.token_to_id(&token.content).expect("it was added"), token.id))
            .collect();
        declared.insert(reference.token_to_id(ORDINARY).expect("it was added"), ordinary);
        let name = files.name.clone();
        let classic: Box<dyn FnOnce() -> _ + Send> =
            Box::new(move || Tokenizer::classic(&files).unwrap_or_else(|error| panic!("{error}")).into());
        Self { name, fast, classic: LazyLock::new(classic), reference, declared, ordinary }
    }

    /// The library's ids of a joined string, added tokens at their declared ids.
    pub(crate) fn reference(&self, text: &str) -> Vec<TokenId> {
        let encoding = self.reference.encode_fast(text, false).expect("the reference encodes");
        encoding.get_ids().iter().map(|id| self.declared.get(id).copied().unwrap_or(*id)).collect()
    }
}

/// Every subject: those made here, and the real ones where they are. Loading them takes long, each on a thread.
pub(crate) static SUBJECTS: LazyLock<Vec<Arc<Subject>>> = LazyLock::new(|| {
    std::thread::scope(|scope| {
        let made = SYNTHETIC.iter().map(|files| scope.spawn(|| Some(made(files.clone()))));
        let real = ["qwen3", "llama3_1", "llama2", "internlm2"].map(|name| scope.spawn(|| loaded::subject(name)));
        let loading: Vec<_> = made.chain(real).collect();
        loading.into_iter().filter_map(|subject| subject.join().expect("the subject loads")).collect()
    })
});

fn made(files: TokenizerFiles) -> Arc<Subject> {
    let fast = Tokenizer::new(&files).unwrap_or_else(|error| panic!("{error}"));
    Arc::new(Subject::new(files, fast.into()))
}

pub(crate) fn subject(name: &str) -> &'static Subject {
    SUBJECTS.iter().find(|subject| subject.name == name).expect("there is such a subject")
}

/// The files of one of them.
pub(crate) fn named(name: &str) -> &'static TokenizerFiles {
    SYNTHETIC.iter().find(|files| files.name == name).expect("there are such files")
}

pub(crate) fn demo_json() -> Value {
    serde_json::from_slice(&Tokenizer::files("demo").expect("it is embedded").tokenizer_json).expect("it is JSON")
}

pub(crate) fn files(name: &str, json: &Value) -> TokenizerFiles {
    TokenizerFiles { name: name.into(), tokenizer_json: json.to_string().into_bytes(), ..TokenizerFiles::default() }
}

/// An added token as a tokenizer.json lists it.
pub(crate) fn added(id: usize, content: &str, flags: &[&str]) -> Value {
    let mut token = json!({ "id": id, "content": content });
    for flag in ["single_word", "lstrip", "rstrip", "normalized", "special"] {
        token[flag] = flags.contains(&flag).into();
    }
    token
}

/// One tokenizer for each trap.
pub(crate) static SYNTHETIC: LazyLock<Vec<TokenizerFiles>> = LazyLock::new(synthetic);

fn synthetic() -> Vec<TokenizerFiles> {
    let demo = demo_json();
    let mut all = vec![files("demo", &demo)];

    let mut tags = demo.clone();
    push_added(&mut tags, &[("<header>", &["normalized"]), ("</header>", &[]), ("<é>", &["normalized"])]);
    all.push(files("tags that are not special", &tags));

    let mut strips = demo.clone();
    push_added(
        &mut strips,
        &[("<l>", &["special", "lstrip"]), ("<r>", &["special", "rstrip"]), ("<lr>", &["lstrip", "rstrip"])],
    );
    all.push(files("tokens that strip", &strips));

    let mut thousand = demo.clone();
    let names: Vec<String> = (0..1000).map(|i| format!("<extra_{i}>")).collect();
    let flags: &[&str] = &["special"];
    push_added(&mut thousand, &names.iter().map(|name| (name.as_str(), flags)).collect::<Vec<_>>());
    all.push(files("a thousand added tokens", &thousand));

    let mut gaps = files("declared in the config, with gaps", &demo);
    gaps.tokenizer_config = Some(
        json!({ "eos_token": {"content": "<|turn_end|>"}, "added_tokens_decoder": {
            "1200": added(0, "<|turn|>", &["special"]),
            "1111": added(0, "<|turn_end|>", &["special"]),
            "2000": added(0, "<tool>", &[]),
        }})
        .to_string()
        .into_bytes(),
    );
    all.push(gaps);

    let mut lower = demo.clone();
    lower["normalizer"] = json!({ "type": "Sequence", "normalizers": [{ "type": "NFKC" }, { "type": "Lowercase" }] });
    push_added(&mut lower, &[("<TAG>", &["normalized"]), ("<Raw>", &["special"])]);
    all.push(files("normalized to lower case", &lower));

    let mut compatible = demo.clone();
    compatible["normalizer"] = json!({ "type": "NFKC" });
    push_added(&mut compatible, &[("<ﬁ>", &["normalized"]), ("<½>", &["special"])]);
    all.push(files("composed by compatibility", &compatible));

    let mut tiktoken = demo.clone();
    let pattern = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
    tiktoken["pre_tokenizer"] = json!({ "type": "Sequence", "pretokenizers": [
        { "type": "Split", "pattern": { "Regex": pattern }, "behavior": "Isolated", "invert": false },
        { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false },
    ] });
    all.push(files("cut as tiktoken cuts for GPT-4", &tiktoken));

    let words = SENTENCE_PIECES.clone();
    for scheme in ["first", "always", "never"] {
        let mut json = words.clone();
        let step = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme });
        json["pre_tokenizer"] = match scheme {
            // Text is cut unless `split` says otherwise.
            "always" => json!({ "type": "Sequence", "pretokenizers": [step] }),
            _ => step,
        };
        if scheme != "always" {
            json["pre_tokenizer"]["split"] = json!(scheme == "never");
        }
        push_added(&mut json, &[("<h>", &["normalized"])]);
        all.push(files(&format!("Metaspace, {scheme}"), &json));
    }
    let mut prepend = words.clone();
    prepend["normalizer"] = json!({ "type": "Sequence", "normalizers": [
        { "type": "Prepend", "prepend": "▁" }, { "type": "Replace", "pattern": { "String": " " }, "content": "▁" },
    ]});
    all.push(files("Prepend", &prepend));

    // Stored plainly instead: the fast library refuses such a vocabulary as it is.
    let mut tab = prepend.clone();
    let id = tab["model"]["vocab"].as_object_mut().and_then(|vocab| vocab.remove("<0x09>")).expect("it is there");
    tab["model"]["vocab"]["\t"] = id;
    all.push(files("byte fallback without <0x09>", &tab));

    // Gone altogether, so that the classic library must take over: é is c3 a9.
    let mut gap = prepend;
    gap["model"]["vocab"].as_object_mut().and_then(|vocab| vocab.remove("<0xA9>")).expect("it is there");
    all.push(files("byte fallback without <0xA9>", &gap));

    for (name, model) in [("Unigram", train_unigram()), ("WordPiece", train_word_piece())] {
        all.push(files(name, &model));
    }
    all.push(files("characters that are left out", &without_unknown()));

    let mut pattern = demo.clone();
    pattern["pre_tokenizer"] = json!({ "type": "Sequence", "pretokenizers": [
        { "type": "Split", "pattern": { "Regex": "[a-z]+(?=[^a-z]|$)|\\s+|." }, "behavior": "Isolated", "invert": false },
        { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false },
    ]});
    all.push(files("a pattern of its own", &pattern));

    // Command R has all emoji as entries, but text becomes bytes before they are looked up.
    let mut emoji = demo.clone();
    let next = emoji["model"]["vocab"].as_object().map_or(0, serde_json::Map::len);
    emoji["model"]["vocab"]["🎉"] = (next + 100).into();
    let digits = json!({ "type": "Digits", "individual_digits": true });
    let bytes = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true });
    emoji["pre_tokenizer"] = json!({ "type": "Sequence", "pretokenizers": [digits.clone(), bytes.clone()] });
    all.push(files("digits, and entries that no text is", &emoji));
    emoji["pre_tokenizer"] = json!({ "type": "Sequence", "pretokenizers": [digits.clone(), digits, bytes] });
    all.push(files("digits twice, and entries that no text is", &emoji));

    let mut space = demo;
    space["pre_tokenizer"] =
        json!({ "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true });
    all.push(files("a prefix space by bytes", &space));
    all
}

fn push_added(json: &mut Value, tokens: &[(&str, &[&str])]) {
    let entries = json["model"]["vocab"].as_object().into_iter().flat_map(|vocab| vocab.values());
    let largest = entries.filter_map(Value::as_u64).max().unwrap_or_default() as usize;
    let listed = json["added_tokens"].as_array_mut().expect("it is a list");
    let listed_ids = listed.iter().filter_map(|token| token["id"].as_u64());
    let largest = largest.max(listed_ids.max().unwrap_or_default() as usize);
    for (id, (content, flags)) in (largest + 1..).zip(tokens) {
        listed.push(added(id, content, flags));
    }
}

/// Of ASCII alone, without a token for other characters.
fn without_unknown() -> Value {
    let characters = (' '..='~').chain(['\n']).map(String::from);
    let merges = ["t h", "th e", "i n", "in g", "< e", "<e n", "<en d", "<end >"];
    let entries = characters.chain(merges.iter().map(|merge| merge.replace(' ', "")));
    let vocab: serde_json::Map<String, Value> = entries.zip(0..).map(|(entry, id)| (entry, id.into())).collect();
    let special = ["<|a|>", "<|b|>", "<|c|>"].into_iter().zip(vocab.len()..);
    let special: Vec<Value> = special.map(|(token, id)| added(id, token, &["special"])).collect();
    json!({
        "version": "1.0", "added_tokens": special, "normalizer": null, "pre_tokenizer": null, "decoder": { "type": "Fuse" },
        "model": { "type": "BPE", "vocab": vocab, "merges": merges, "unk_token": null },
    })
}

/// The demo's text in Latin letters, so that other characters are unknown or fall back to bytes.
fn latin_lines() -> impl Iterator<Item = String> + Send {
    let corpus = include_str!("../../models/demo/corpus.txt");
    corpus.lines().filter(|line| line.chars().all(|c| c < '\u{e0}')).map(str::to_owned)
}

fn train_unigram() -> Value {
    use classic::models::unigram::{Unigram, UnigramTrainer};
    use classic::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
    let trainer = UnigramTrainer::builder()
        .show_progress(false)
        .vocab_size(500)
        .unk_token(Some("<unk>".into()))
        .special_tokens(["<unk>", "<s>", "</s>"].map(|token| classic::AddedToken::from(token, true)).into())
        .build()
        .expect("the trainer is complete");
    let mut tokenizer = classic::Tokenizer::new(classic::ModelWrapper::Unigram(Unigram::default()));
    tokenizer.with_pre_tokenizer(Some(Metaspace::new('▁', PrependScheme::First, true)));
    tokenizer
        .train(&mut classic::models::TrainerWrapper::UnigramTrainer(trainer), latin_lines())
        .expect("training works");
    serde_json::from_str(&tokenizer.to_string(false).expect("it is JSON")).expect("it is JSON")
}

/// Like BERT: lower case, accents stripped, and words that have no pieces are unknown.
fn train_word_piece() -> Value {
    use classic::models::wordpiece::{WordPiece, WordPieceTrainer};
    let trainer = WordPieceTrainer::builder()
        .show_progress(false)
        .vocab_size(600)
        .special_tokens(
            ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(|token| classic::AddedToken::from(token, true)).into(),
        )
        .build();
    let model = WordPiece::builder().unk_token("[UNK]".into()).build().expect("the model is complete");
    let mut tokenizer = classic::Tokenizer::new(classic::ModelWrapper::WordPiece(model));
    tokenizer.with_normalizer(Some(classic::normalizers::BertNormalizer::default())).expect("it normalizes");
    tokenizer.with_pre_tokenizer(Some(classic::pre_tokenizers::bert::BertPreTokenizer));
    tokenizer
        .train(&mut classic::models::TrainerWrapper::WordPieceTrainer(trainer), latin_lines())
        .expect("training works");
    let mut json: Value = serde_json::from_str(&tokenizer.to_string(false).expect("it is JSON")).expect("it is JSON");
    // The trainer forgets it.
    json["model"]["unk_token"] = "[UNK]".into();
    json["added_tokens"][4]["lstrip"] = true.into();
    json
}

/// A SentencePiece-like BPE with byte fallback, trained on the demo's text.
static SENTENCE_PIECES: LazyLock<Value> = LazyLock::new(|| {
    use classic::models::bpe::{BPE, BpeTrainer};
    use classic::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
    let mut trainer = BpeTrainer::builder().show_progress(false).vocab_size(900).min_frequency(2).build();
    let mut tokenizer = classic::TokenizerBuilder::<
        _,
        classic::NormalizerWrapper,
        _,
        classic::PostProcessorWrapper,
        classic::DecoderWrapper,
    >::new()
    .with_model(BPE::default())
    .with_pre_tokenizer(Some(Metaspace::new('▁', PrependScheme::Always, true)))
    .build()
    .expect("the parts fit");
    tokenizer.train(&mut trainer, latin_lines()).expect("training works");
    let trained: Value = serde_json::from_str(&tokenizer.to_string(false).expect("it is JSON")).expect("it is JSON");
    let shift = |id: u64| id + 259;
    let mut vocab = serde_json::Map::new();
    for (id, token) in ["<unk>", "<s>", "</s>"].into_iter().enumerate() {
        vocab.insert(token.into(), id.into());
    }
    for byte in 0..256_u64 {
        vocab.insert(format!("<0x{byte:02X}>"), (byte + 3).into());
    }
    for (token, id) in trained["model"]["vocab"].as_object().expect("it is an object") {
        vocab.insert(token.clone(), shift(id.as_u64().expect("it is a number")).into());
    }
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [added(0, "<unk>", &["special"]), added(1, "<s>", &["special"]), added(2, "</s>", &["special"])],
        "normalizer": null, "pre_tokenizer": null,
        "post_processor": { "type": "TemplateProcessing",
            "single": [{ "SpecialToken": { "id": "<s>", "type_id": 0 } }, { "Sequence": { "id": "A", "type_id": 0 } }],
            "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } }],
            "special_tokens": { "<s>": { "id": "<s>", "ids": [1], "tokens": ["<s>"] } } },
        "decoder": { "type": "Sequence", "decoders": [
            { "type": "Replace", "pattern": { "String": "▁" }, "content": " " }, { "type": "ByteFallback" }, { "type": "Fuse" },
            { "type": "Strip", "content": " ", "start": 1, "stop": 0 } ] },
        "model": { "type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": true, "byte_fallback": true, "ignore_merges": false, "vocab": vocab, "merges": trained["model"]["merges"] },
    })
});
