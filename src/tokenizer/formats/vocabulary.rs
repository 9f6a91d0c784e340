//! The vocabulary of another format, as a `tokenizer.json`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use foldhash::HashMap;
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::bytes::char_of;

/// The tokens of a vocabulary, by id.
#[derive(Debug)]
pub(super) struct Vocabulary(Vec<Token>);

#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) kind: Kind,
    /// Whether it takes the white space after it.
    pub(super) rstrip: bool,
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of ordinary text.
    Normal,
    /// For text without a token.
    Unknown,
    Control,
    /// Found in text before anything merges.
    UserDefined,
    /// A byte of a character without a token.
    Byte,
    /// None: an id that only makes ids as many as the weights' rows.
    Padding,
}

impl Token {
    pub(super) fn new(text: impl Into<String>, kind: Kind) -> Self {
        Self { text: text.into(), kind, rstrip: false }
    }

    /// A token of a vocabulary of bytes, whose bytes are written as base64.
    pub(super) fn of_base64(base64: &[u8]) -> Result<Self> {
        let bytes = STANDARD.decode(base64).map_err(|error| {
            let error = error.to_string();
            let error = error.trim_end_matches('.');
            let what = format!("{:?} is not base64: {error}", String::from_utf8_lossy(base64));
            ErrorKind::Invalid(what).with_way_out("download the file again")
        });
        Ok(Self::new(bytes?.into_iter().map(char_of).collect::<String>(), Kind::Normal))
    }

    fn is_added(&self) -> bool {
        matches!(self.kind, Kind::Unknown | Kind::Control | Kind::UserDefined)
    }
}

/// A vocabulary, as the files that a repository would have.
pub(super) struct Converted {
    pub(super) tokenizer_json: Vec<u8>,
    /// What `tokenizer_config.json` would say. Where there is one, it counts.
    pub(super) special_tokens: Vec<(&'static str, String)>,
}

/// What is done with text before and after the model.
pub(super) struct Steps {
    normalizer: Value,
    pre_tokenizer: Value,
    decoder: Value,
}

/// Where the space goes that SentencePiece puts before text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    Nowhere,
    /// Before all text between two added tokens.
    Each,
    /// Before the prompt's first text.
    First,
}

impl Steps {
    /// For a vocabulary of bytes. Text is cut by `pre_tokenizer`, a list of steps, and composed before if that `composes`.
    pub(super) fn of_bytes(mut pre_tokenizer: Vec<Value>, composes: bool) -> Self {
        let decoder = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true});
        let is_last = |step: &Value| step["type"] == "ByteLevel";
        if !pre_tokenizer.last().is_some_and(is_last) {
            pre_tokenizer.push(byte_level(false));
        }
        Self {
            normalizer: if composes { json!({"type": "NFC"}) } else { Value::Null },
            pre_tokenizer: json!({"type": "Sequence", "pretokenizers": pre_tokenizer}),
            decoder,
        }
    }

    /// For a vocabulary of characters with `▁` for a space. Text is normalized by the steps of `normalizers` before.
    pub(super) fn of_meta_spaces(mut normalizers: Vec<Value>, prefix: Prefix) -> Self {
        let is_each = prefix == Prefix::Each;
        normalizers.extend(is_each.then(|| json!({"type": "Prepend", "prepend": "▁"})));
        normalizers.push(replace(" ", "▁"));
        let metaspace = || json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false});
        let mut decoders = vec![replace("▁", " "), json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
        if prefix != Prefix::Nowhere {
            decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
        }
        Self {
            normalizer: json!({"type": "Sequence", "normalizers": normalizers}),
            pre_tokenizer: if prefix == Prefix::First { metaspace() } else { Value::Null },
            decoder: json!({"type": "Sequence", "decoders": decoders}),
        }
    }
}

fn replace(from: &str, to: &str) -> Value {
    json!({"type": "Replace", "pattern": {"String": from}, "content": to})
}

/// The step that makes characters of bytes, after it cut text by GPT-2's pattern if it `cuts`.
pub(super) fn byte_level(cuts: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": cuts})
}

/// The step that cuts text into the matches of a pattern, and what is between them.
pub(super) fn split(pattern: &str) -> Value {
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
}

/// A token with its id.
pub(super) type Named<'a> = (usize, &'a str);

/// Two entries that merge.
pub(super) type Merge<'a> = [&'a str; 2];

/// BPE, as a `tokenizer.json` has it.
#[derive(serde::Serialize)]
pub(super) struct Bpe<'a> {
    r#type: &'static str,
    ignore_merges: bool,
    fuse_unk: bool,
    byte_fallback: bool,
    unk_token: Option<&'a str>,
    vocab: Entries<'a>,
    merges: Vec<Merge<'a>>,
}

/// The entries of a vocabulary with their ids, as an object.
struct Entries<'a> {
    vocabulary: &'a Vocabulary,
    /// Whether added tokens are entries, too.
    has_added: bool,
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let is_entry = |token: &Token| token.kind != Kind::Padding && (self.has_added || !token.is_added());
        let all = self.vocabulary.0.iter().enumerate();
        serializer.collect_map(all.filter(|(_, token)| is_entry(token)).map(|(id, token)| (&token.text, id)))
    }
}

impl<'a> Bpe<'a> {
    /// Of bytes. A piece of text that is an entry is that token, whatever its merges, if the model will `ignore_merges`.
    pub(super) fn of_bytes(vocabulary: &'a Vocabulary, merges: Vec<Merge<'a>>, ignore_merges: bool) -> Self {
        Self {
            r#type: "BPE",
            ignore_merges,
            fuse_unk: false,
            byte_fallback: false,
            unk_token: None,
            vocab: Entries { vocabulary, has_added: false },
            merges,
        }
    }

    /// Of characters, as SentencePiece's. What has no entry is `unknown`, or its bytes.
    pub(super) fn of_characters(
        vocabulary: &'a Vocabulary,
        merges: Vec<Merge<'a>>,
        unknown: Option<&'a str>,
        byte_fallback: bool,
    ) -> Self {
        Self {
            r#type: "BPE",
            ignore_merges: false,
            fuse_unk: true,
            byte_fallback,
            unk_token: unknown,
            vocab: Entries { vocabulary, has_added: true },
            merges,
        }
    }
}

impl Vocabulary {
    pub(super) fn new(tokens: Vec<Token>) -> Self {
        Self(tokens)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn text(&self, id: usize) -> Option<&str> {
        self.0.get(id).map(|token| token.text.as_str())
    }

    /// A token with its id, as [`Self::tokenizer_json`] takes it.
    pub(super) fn named(&self, id: Option<usize>) -> Vec<Named<'_>> {
        id.and_then(|id| Some((id, self.text(id)?))).into_iter().collect()
    }

    /// The entries of a Unigram model with their scores. Text is never a token that only control may write: with a space,
    /// which normalizing replaces, its name is not found.
    pub(super) fn scored(&self, scores: &[f64]) -> Vec<(String, f64)> {
        let is_found = |token: &Token| matches!(token.kind, Kind::Normal | Kind::UserDefined | Kind::Byte);
        let name = |token: &Token| if is_found(token) { token.text.clone() } else { format!(" {}", token.text) };
        self.0.iter().zip(scores).map(|(token, score)| (name(token), *score)).collect()
    }

    /// The tokens that are not ordinary text, with their ids.
    pub(super) fn added(&self) -> impl Iterator<Item = (usize, &Token)> {
        self.0.iter().enumerate().filter(|(_, token)| token.is_added())
    }

    /// All merges, the ones that make a token with a low id first.
    pub(super) fn merges_by_id(&self) -> Vec<Merge<'_>> {
        self.pairs().into_iter().map(|(_, pair)| pair).collect()
    }

    /// All merges, the ones that make a token with a high score first, and of those the ones of the longest parts, as
    /// transformers makes a `tokenizer.json` of a SentencePiece model.
    pub(super) fn merges_by_score(&self, scores: &[f64]) -> Vec<Merge<'_>> {
        let score = |id: usize| scores.get(id).copied().unwrap_or_default();
        let length = |text: &str| text.chars().count();
        let lengths = |[left, right]: Merge<'_>| (length(left), length(right));
        let mut pairs = self.pairs();
        pairs.sort_by(|(a, a_pair), (b, b_pair)| {
            score(*b).total_cmp(&score(*a)).then_with(|| lengths(*b_pair).cmp(&lengths(*a_pair)))
        });
        pairs.into_iter().map(|(_, pair)| pair).collect()
    }

    /// All pairs of entries that are an entry together, with its id: in the order of the ids, and of those that make the
    /// same entry, the ones of entries with low ids first.
    fn pairs(&self) -> Vec<(usize, Merge<'_>)> {
        let is_merged = |token: &Token| matches!(token.kind, Kind::Normal | Kind::UserDefined);
        let merged = || self.0.iter().enumerate().filter(|(_, token)| is_merged(token));
        let ids: HashMap<&str, usize> = merged().map(|(id, token)| (token.text.as_str(), id)).collect();
        let mut all = Vec::new();
        let mut pairs = Vec::new();
        for (id, token) in merged() {
            let cuts = token.text.char_indices().skip(1);
            pairs.extend(cuts.filter_map(|(at, _)| {
                let (left, right) = token.text.split_at(at);
                Some((*ids.get(left)?, *ids.get(right)?, [left, right]))
            }));
            pairs.sort_unstable_by_key(|(left, right, _)| (*left, *right));
            all.extend(pairs.drain(..).map(|(.., pair)| (id, pair)));
        }
        all
    }

    /// The contents of a `tokenizer.json`. The tokens of `begin` and `end` are put around texts.
    pub(super) fn tokenizer_json(
        &self,
        steps: &Steps,
        model: &impl Serialize,
        begin: &[Named<'_>],
        end: &[Named<'_>],
    ) -> Result<Vec<u8>> {
        #[derive(serde::Serialize)]
        struct File<'a, M> {
            added_tokens: Vec<Value>,
            normalizer: &'a Value,
            pre_tokenizer: &'a Value,
            post_processor: Option<Value>,
            decoder: &'a Value,
            model: &'a M,
        }
        let file = File {
            added_tokens: self.added().map(|(id, token)| added_token(id, token)).collect(),
            normalizer: &steps.normalizer,
            pre_tokenizer: &steps.pre_tokenizer,
            post_processor: post_processor(begin, end),
            decoder: &steps.decoder,
            model,
        };
        serde_json::to_vec(&file).map_err(|error| ErrorKind::Invalid(error.to_string()).into())
    }
}

fn post_processor(begin: &[Named<'_>], end: &[Named<'_>]) -> Option<Value> {
    if begin.is_empty() && end.is_empty() {
        return None;
    }
    let special = |(_, token): &Named<'_>| json!({"SpecialToken": {"id": token, "type_id": 0}});
    let around = |sequence: &str| -> Vec<Value> {
        let text = json!({"Sequence": {"id": sequence, "type_id": 0}});
        begin.iter().map(special).chain([text]).chain(end.iter().map(special)).collect()
    };
    let all = begin.iter().chain(end);
    let tokens: Map<_, _> =
        all.map(|(id, token)| ((*token).to_owned(), json!({"id": token, "ids": [id], "tokens": [token]}))).collect();
    let (single, pair) = (around("A"), [around("A"), around("B")].concat());
    Some(json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}))
}

fn added_token(id: usize, token: &Token) -> Value {
    json!({
        "id": id, "content": token.text, "special": token.kind != Kind::UserDefined, "single_word": false,
        "lstrip": false, "rstrip": token.rstrip, "normalized": false,
    })
}
