//! Writes a vocabulary as a `tokenizer.json`.

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::{Map, Value, json};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::formats::steps::Steps;
use crate::tokenizer::formats::vocabulary::{Merge, Token, TokenType, TokenWithId, Vocabulary};

/// What becomes a `tokenizer.json`.
pub(super) struct TokenizerJson<'a, M> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) steps: Steps,
    pub(super) model: M,
    /// The tokens that are put before and after a prompt.
    pub(super) around: [Vec<TokenWithId<'a>>; 2],
}

/// BPE, as a `tokenizer.json` has it.
#[derive(Serialize)]
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
    with_added: bool,
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let is_entry = |token: &Token| !token.text.is_empty() && (self.with_added || !token.is_added());
        let entries = self.vocabulary.iter().filter(|(_, token)| is_entry(token));
        serializer.collect_map(entries.map(|(id, token)| (&token.text, id)))
    }
}

impl<'a> Bpe<'a> {
    /// A model of bytes. With `ignore_merges`, text that is an entry becomes that token, whatever its merges.
    pub(super) fn of_bytes(vocabulary: &'a Vocabulary, merges: Vec<Merge<'a>>, ignore_merges: bool) -> Self {
        let vocab = Entries { vocabulary, with_added: false };
        Self { ignore_merges, fuse_unk: false, ..Self::new(vocab, merges) }
    }

    /// A model of characters, as SentencePiece's. Text without an entry becomes its bytes with `byte_fallback`, else `unk_token`.
    pub(super) fn of_characters(
        vocabulary: &'a Vocabulary,
        merges: Vec<Merge<'a>>,
        unk_token: Option<&'a str>,
        byte_fallback: bool,
    ) -> Self {
        let vocab = Entries { vocabulary, with_added: true };
        Self { unk_token, byte_fallback, ..Self::new(vocab, merges) }
    }

    fn new(vocab: Entries<'a>, merges: Vec<Merge<'a>>) -> Self {
        Self {
            r#type: "BPE",
            ignore_merges: false,
            fuse_unk: true,
            byte_fallback: false,
            unk_token: None,
            vocab,
            merges,
        }
    }
}

impl<M: Serialize> TokenizerJson<'_, M> {
    /// The content of the file.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        #[derive(Serialize)]
        struct File<'a, M> {
            added_tokens: Vec<Value>,
            normalizer: &'a Value,
            pre_tokenizer: &'a Value,
            post_processor: Option<Value>,
            decoder: &'a Value,
            model: &'a M,
        }
        let Self { vocabulary, steps, model, around } = self;
        let file = File {
            added_tokens: vocabulary.added().map(|(id, token)| added_token(id, token)).collect(),
            normalizer: &steps.normalizer,
            pre_tokenizer: &steps.pre_tokenizer,
            post_processor: post_processor(around),
            decoder: &steps.decoder,
            model,
        };
        serde_json::to_vec(&file).map_err(|error| ErrorKind::Invalid(error.to_string()).into())
    }
}

fn post_processor([before, after]: &[Vec<TokenWithId<'_>>; 2]) -> Option<Value> {
    if before.is_empty() && after.is_empty() {
        return None;
    }
    let special = |(_, token): &TokenWithId<'_>| json!({"SpecialToken": {"id": token, "type_id": 0}});
    let around = |sequence: &str| -> Vec<Value> {
        let text = json!({"Sequence": {"id": sequence, "type_id": 0}});
        before.iter().map(special).chain([text]).chain(after.iter().map(special)).collect()
    };
    let all = before.iter().chain(after);
    let tokens: Map<_, _> =
        all.map(|(id, token)| ((*token).to_owned(), json!({"id": token, "ids": [id], "tokens": [token]}))).collect();
    let (single, pair) = (around("A"), [around("A"), around("B")].concat());
    Some(json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}))
}

fn added_token(id: usize, token: &Token) -> Value {
    json!({
        "id": id, "content": token.text, "special": token.kind != TokenType::UserDefined, "single_word": false,
        "lstrip": false, "rstrip": token.rstrip, "normalized": false,
    })
}
