//! The vocabulary of a GGUF file, as the `tokenizer.json` that it was made from.

use std::collections::HashMap;

use serde::ser::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::gguf::metadata::{Metadata, OTHERWISE};
use crate::tokenizer::gguf::pre_tokenizers::PreTokenizer;

/// Two entries that merge.
type Merge<'a> = [&'a str; 2];

/// The tokens of a file, by id.
pub(super) struct Vocabulary {
    pub(super) tokens: Vec<String>,
    kinds: Vec<Kind>,
    /// Whether the model is Phi-3, whose tokens take the white space after them, but for [`KEEP_SPACE`]. llama.cpp tells it
    /// by its name, too.
    is_phi3: bool,
}

/// The tokens of Phi-3 that leave white space alone.
const KEEP_SPACE: [&str; 3] = ["<unk>", "<s>", "<|endoftext|>"];

/// What `tokenizer.ggml.token_type` says of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of ordinary text. Bytes are, too.
    Normal,
    Unknown,
    Control,
    UserDefined,
    /// A number without a token, so that there are as many as the weights have rows.
    Padding,
}

/// How text becomes tokens.
pub(super) struct Model<'a> {
    normalizer: Value,
    pre_tokenizer: Value,
    decoder: Value,
    options: Value,
    merges: Vec<Merge<'a>>,
    /// Whether added tokens are entries, too.
    has_added: bool,
}

impl Vocabulary {
    pub(super) fn of(metadata: &Metadata) -> Result<Self> {
        let tokens = metadata.texts("tokenizer.ggml.tokens").ok_or_else(|| missing("tokenizer.ggml.tokens"))?.to_vec();
        let types = metadata.ints("tokenizer.ggml.token_type").unwrap_or_default();
        let kind = |(id, token): (usize, &String)| match types.get(id) {
            Some(2) => Kind::Unknown,
            Some(3) => Kind::Control,
            Some(4) => Kind::UserDefined,
            Some(5) if *token == format!("[PAD{id}]") || token.is_empty() => Kind::Padding,
            _ => Kind::Normal,
        };
        let kinds = tokens.iter().enumerate().map(kind).collect();
        let name = metadata.text("general.name").unwrap_or_default().to_lowercase();
        let is_phi3 = ["phi-3", "phi3"].iter().any(|phi3| name.contains(phi3));
        Ok(Self { tokens, kinds, is_phi3 })
    }

    pub(super) fn token(&self, id: usize) -> Option<&str> {
        self.tokens.get(id).map(String::as_str)
    }

    /// The ids of tokens that are not ordinary text.
    pub(super) fn added(&self) -> impl Iterator<Item = usize> {
        let is_added = |kind: &Kind| matches!(kind, Kind::Unknown | Kind::Control | Kind::UserDefined);
        self.kinds.iter().enumerate().filter(move |(_, kind)| is_added(kind)).map(|(id, _)| id)
    }

    /// The entries of a model with their ids.
    fn entries(&self, with_added: bool) -> impl Iterator<Item = (&str, usize)> {
        let is_entry = move |kind: Kind| kind == Kind::Normal || with_added && kind != Kind::Padding;
        let all = self.tokens.iter().zip(&self.kinds).enumerate();
        all.filter(move |(_, (_, kind))| is_entry(**kind)).map(|(id, (token, _))| (token.as_str(), id))
    }

    /// The contents of a `tokenizer.json`. The tokens `begin` and `end` are put around texts.
    pub(super) fn tokenizer_json(
        &self,
        model: &Model<'_>,
        begin: Option<usize>,
        end: Option<usize>,
    ) -> Result<Vec<u8>> {
        let added: Vec<Value> = self
            .added()
            .map(|id| {
                let content = self.tokens[id].as_str();
                json!({
                    "id": id, "content": content, "special": self.kinds[id] != Kind::UserDefined, "single_word": false,
                    "lstrip": false, "rstrip": self.is_phi3 && !KEEP_SPACE.contains(&content), "normalized": false,
                })
            })
            .collect();
        let special = |id: usize| json!({"SpecialToken": {"id": self.tokens[id], "type_id": 0}});
        let text = json!({"Sequence": {"id": "A", "type_id": 0}});
        let around = |text: Value| -> Vec<Value> {
            begin.map(special).into_iter().chain([text]).chain(end.map(special)).collect()
        };
        let special_tokens: serde_json::Map<_, _> = [begin, end]
            .into_iter()
            .flatten()
            .map(|id| (id, self.tokens[id].clone()))
            .map(|(id, token)| (token.clone(), json!({"id": token, "ids": [id], "tokens": [token]})))
            .collect();
        let pair = [around(text.clone()), around(json!({"Sequence": {"id": "B", "type_id": 0}}))].concat();
        let post_processor = json!({
            "type": "TemplateProcessing", "single": around(text), "pair": pair, "special_tokens": special_tokens,
        });
        #[derive(serde::Serialize)]
        struct File<'a> {
            added_tokens: Vec<Value>,
            normalizer: &'a Value,
            pre_tokenizer: &'a Value,
            post_processor: Option<Value>,
            decoder: &'a Value,
            model: BpeJson<'a>,
        }
        #[derive(serde::Serialize)]
        struct BpeJson<'a> {
            r#type: &'static str,
            #[serde(flatten)]
            options: &'a Value,
            vocab: Entries<'a>,
            merges: &'a [Merge<'a>],
        }
        let file = File {
            added_tokens: added,
            normalizer: &model.normalizer,
            pre_tokenizer: &model.pre_tokenizer,
            post_processor: (begin.is_some() || end.is_some()).then_some(post_processor),
            decoder: &model.decoder,
            model: BpeJson {
                r#type: "BPE",
                options: &model.options,
                vocab: Entries(self, model.has_added),
                merges: &model.merges,
            },
        };
        serde_json::to_vec(&file).map_err(|error| ErrorKind::Invalid(error.to_string()).into())
    }
}

/// The entries of a vocabulary, as an object.
struct Entries<'a>(&'a Vocabulary, bool);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.entries(self.1))
    }
}

impl<'a> Model<'a> {
    /// Byte-level BPE, `tokenizer.ggml.model` of `gpt2`.
    pub(super) fn of_bytes(metadata: &'a Metadata, pre_tokenizer: &PreTokenizer) -> Result<Self> {
        Ok(Self {
            normalizer: if pre_tokenizer.composes { json!({"type": "NFC"}) } else { Value::Null },
            pre_tokenizer: pre_tokenizer.json(),
            decoder: json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}),
            options: json!({"ignore_merges": pre_tokenizer.ignore_merges}),
            merges: listed_merges(metadata)?,
            has_added: false,
        })
    }

    /// BPE of characters as SentencePiece's, with its merges, `gemma4`.
    pub(super) fn of_characters(metadata: &'a Metadata) -> Result<Self> {
        Ok(Self::with_meta_spaces(listed_merges(metadata)?, false, None))
    }

    /// SentencePiece's BPE, `llama`: scores tell what merges first.
    pub(super) fn of_scores(metadata: &Metadata, vocabulary: &'a Vocabulary) -> Result<Self> {
        let scores = metadata.floats("tokenizer.ggml.scores").ok_or_else(|| missing("tokenizer.ggml.scores"))?;
        let prepends = metadata.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true);
        let unknown = metadata.index("tokenizer.ggml.unknown_token_id").unwrap_or_default();
        Ok(Self::with_meta_spaces(merges_by_score(vocabulary, &scores), prepends, vocabulary.token(unknown)))
    }

    fn with_meta_spaces(merges: Vec<Merge<'a>>, prepends: bool, unknown: Option<&str>) -> Self {
        let replace = |from: &str, to: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": to});
        let prepend = prepends.then(|| json!({"type": "Prepend", "prepend": "▁"}));
        let normalizers: Vec<Value> = prepend.into_iter().chain([replace(" ", "▁")]).collect();
        let strip = prepends.then(|| json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
        let decoders = [replace("▁", " "), json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
        let decoders: Vec<Value> = decoders.into_iter().chain(strip).collect();
        Self {
            normalizer: json!({"type": "Sequence", "normalizers": normalizers}),
            pre_tokenizer: Value::Null,
            decoder: json!({"type": "Sequence", "decoders": decoders}),
            options: json!({"unk_token": unknown, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false}),
            merges,
            has_added: true,
        }
    }
}

/// The merges that a file lists.
fn listed_merges(metadata: &Metadata) -> Result<Vec<Merge<'_>>> {
    const KEY: &str = "tokenizer.ggml.merges";
    let merges = metadata.texts(KEY).ok_or_else(|| missing(KEY))?;
    let parted = merges.iter().enumerate().map(|(at, merge)| {
        // The first entry may itself be a space.
        let space = merge.char_indices().skip(1).find(|(_, c)| *c == ' ').map(|(at, _)| at);
        let parts = space.map(|space| [&merge[..space], &merge[space + 1..]]);
        parts.ok_or_else(|| ErrorKind::Invalid(format!("{KEY}[{at}] is {merge:?}, which is not two entries")).into())
    });
    parted.collect()
}

/// The merges of a vocabulary of scores: all pairs of entries that are an entry together, the ones with the highest score
/// first, and of those the ones of the longest parts, as transformers makes a `tokenizer.json` of a SentencePiece model.
fn merges_by_score<'a>(vocabulary: &'a Vocabulary, scores: &[f64]) -> Vec<Merge<'a>> {
    let ids: HashMap<&str, usize> = vocabulary.entries(true).collect();
    let mut merges = Vec::new();
    for (token, id) in vocabulary.entries(true) {
        let score = scores.get(id).copied().unwrap_or_default();
        let mut pairs: Vec<_> = token
            .char_indices()
            .skip(1)
            .filter_map(|(at, _)| {
                let (left, right) = token.split_at(at);
                Some((*ids.get(left)?, *ids.get(right)?, [left, right]))
            })
            .collect();
        pairs.sort_by_key(|(left, right, _)| (*left, *right));
        merges.extend(pairs.into_iter().map(|(.., pair)| (score, pair)));
    }
    let length = |text: &str| text.chars().count();
    merges.sort_by(|(a, [a_left, a_right]), (b, [b_left, b_right])| {
        let lengths = |left, right| (length(left), length(right));
        b.total_cmp(a).then_with(|| lengths(b_left, b_right).cmp(&lengths(a_left, a_right)))
    });
    merges.into_iter().map(|(_, pair)| pair).collect()
}

fn missing(key: &str) -> crate::Error {
    ErrorKind::Invalid(format!("it has no {key}")).with_way_out(OTHERWISE)
}
