//! The fast library, `tokenizers` 1.0: driven step by step, so that runs keep their surroundings
//! and added tokens their declared ids.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use tokenizers::decoders::Decoder as _;
use tokenizers::pipeline::{
    EncodeOptions, Model as _, Normalizer as _, PipelineModel, PipelineModelScratch, PipelineNormalizer, PipelineToken,
    PipelineTokenizer, PreTokenizer as _, PreTokenizerScratch, Span, normalize_all,
};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::TokenId;
use crate::tokenizer::backend::{Backend, Scratch};
use crate::tokenizer::bytes::byte_of;
use crate::tokenizer::composed::is_composed;
use crate::tokenizer::read_otherwise::read_otherwise;
use crate::tokenizer::run::{Chunk, Reader, Run, Steps, encode_run};

pub(crate) struct Fast {
    tokenizer: PipelineTokenizer,
    /// How many of the normalizers the file declares as such. There may be one more, `Metaspace`, which the library
    /// moves here from the pre-tokenizers. It must run after the normalized added tokens are found, or text after such
    /// a token would lose its prefix space.
    declared: usize,
    /// Whether the normalizers only compose characters (NFC).
    only_composes: bool,
}

impl Fast {
    /// `json` is a `tokenizer.json` without added tokens.
    pub(crate) fn new(mut json: Value) -> Result<Self> {
        let unsupported = |error: String| ErrorKind::UnsupportedTokenizer(error);
        if let Some(what) = read_otherwise(&json) {
            return Err(unsupported(what).into());
        }
        let entry_without_bytes = entry_without_bytes(&json);
        fill_byte_fallback(&mut json);
        tokenizers::canonicalize_value(&mut json).map_err(|error| unsupported(error.to_string()))?;
        unwrap_sequence_of_one(&mut json["pre_tokenizer"]);
        let text = json.to_string();
        drop(json);
        let tokenizer = tokenizers::from_json(&text).map_err(|error| unsupported(error.to_string()))?;
        if let (Some(entry), true) = (entry_without_bytes, is_byte_level(&tokenizer)) {
            return Err(unsupported(format!("the fast library reads {entry:?} as its characters' bytes")).into());
        }
        // A pattern that the library does not support only fails when text is split with it.
        tokenizer
            .encode_into("A b, 12 é\n法", &EncodeOptions::no_specials(), &mut Vec::new())
            .map_err(|error| unsupported(error.to_string()))?;
        let normalizers = tokenizer.get_normalizers();
        let declared = match normalizers.last() {
            Some(PipelineNormalizer::Metaspace(_)) => normalizers.len() - 1,
            _ => normalizers.len(),
        };
        let only_composes = matches!(&normalizers[..declared], [PipelineNormalizer::NFC(_)]);
        Ok(Self { tokenizer, declared, only_composes })
    }
}

/// An entry with characters that stand for no byte, which no text can be if the vocabulary is one of bytes. The library
/// finds it all the same: Command R has all emoji so.
fn entry_without_bytes(json: &Value) -> Option<String> {
    let mut entries = json["model"]["vocab"].as_object()?.keys();
    entries.find(|entry| entry.chars().any(|c| byte_of(c).is_none())).cloned()
}

fn is_byte_level(tokenizer: &PipelineTokenizer) -> bool {
    matches!(tokenizer.get_model(), PipelineModel::BPE(model) if model.is_byte_level())
}

/// A sequence of one is replaced by its element, which saves the library a pass over the split text.
fn unwrap_sequence_of_one(pre_tokenizer: &mut Value) {
    let members = pre_tokenizer.get_mut("pretokenizers").and_then(Value::as_array_mut);
    if let Some([_]) = members.as_deref().map(Vec::as_slice) {
        *pre_tokenizer = pre_tokenizer["pretokenizers"][0].take();
    }
}

/// The library rejects a byte-fallback vocabulary that lacks a `<0xNN>` entry. If the character itself is in the
/// vocabulary, the entry is never used, so one is added after the others.
fn fill_byte_fallback(json: &mut Value) {
    let Some(model) = json.get_mut("model") else { return };
    if model.get("byte_fallback").and_then(Value::as_bool) != Some(true) {
        return;
    }
    let Some(vocab) = model.get_mut("vocab").and_then(Value::as_object_mut) else { return };
    let mut next_id = vocab.values().filter_map(Value::as_u64).max().map_or(0, |id| id + 1);
    for byte in 0..0x80_u8 {
        let entry = format!("<0x{byte:02X}>");
        if !vocab.contains_key(&entry) && vocab.contains_key(char::from(byte).encode_utf8(&mut [0; 4]) as &str) {
            vocab.insert(entry, next_id.into());
            next_id += 1;
        }
    }
}

/// Buffers that live as long as a thread encodes; the model's contains a cache of words.
pub(crate) struct Buffers {
    model: PipelineModelScratch,
    split: PreTokenizerScratch,
    spans: Vec<Span>,
    tokens: Vec<PipelineToken>,
}

impl Backend for Fast {
    fn name(&self) -> &'static str {
        "fast"
    }

    fn encode_run(
        &self,
        reader: Reader<'_>,
        run: Run<'_>,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let buffers = scratch.get_or_insert_with(|| Buffers {
            model: self.tokenizer.get_model().init_scratch(),
            split: PreTokenizerScratch::default(),
            spans: Vec::new(),
            tokens: Vec::new(),
        });
        buffers.tokens.clear();
        encode_run(self, reader, run, buffers)?;
        ids.extend_from_slice(PipelineToken::cast_slice(&buffers.tokens));
        Ok(())
    }

    fn normalize(&self, text: &str) -> Result<String> {
        let chunk = Chunk { left: "", text, right: "", offset: 0, opens_prompt: false };
        Ok(Steps::normalize(self, &chunk)?.into_owned())
    }

    fn id_to_token(&self, id: TokenId) -> Option<String> {
        self.tokenizer.get_model().id_to_token(id)
    }

    fn decode(&self, tokens: Vec<String>) -> Result<String> {
        match self.tokenizer.get_decoder() {
            Some(decoder) => Ok(decoder.decode(tokens).map_err(failed)?),
            None => Ok(tokens.join(" ")),
        }
    }

    fn decode_ids(&self, ids: &[TokenId]) -> Option<Result<String>> {
        // Without a decoder, tokens stand side by side.
        let decodes = is_byte_level(&self.tokenizer) && self.tokenizer.get_decoder().is_some();
        decodes.then(|| self.tokenizer.decode(ids, false).map_err(|error| failed(error).into()))
    }

    fn special_tokens(&self) -> Result<(Vec<TokenId>, Vec<TokenId>)> {
        let template = &self.tokenizer.get_post_processor().single;
        let ids = |tokens: &[(PipelineToken, u8)]| tokens.iter().map(|(token, _)| token.id()).collect();
        Ok((ids(&template.prefix), ids(&template.suffix)))
    }
}

impl Steps for Fast {
    type Normalized<'t> = Cow<'t, str>;
    type Output = Buffers;

    fn normalize<'t>(&self, chunk: &Chunk<'t>) -> Result<Cow<'t, str>> {
        let normalizers = &self.tokenizer.get_normalizers()[..self.declared];
        // The offset only matters to Metaspace, which is not among these.
        let normalize = |text: &'t str| normalize_all(normalizers, text, 0).map_err(|error| failed(error).into());
        if chunk.left.is_empty() && chunk.right.is_empty() {
            if self.only_composes && is_composed(chunk.text) {
                return Ok(Cow::Borrowed(chunk.text));
            }
            return normalize(chunk.text);
        }
        let joined = [chunk.left, chunk.text, chunk.right].concat();
        let normalized = normalize_all(normalizers, &joined, 0).map_err(failed)?;
        Ok(Cow::Owned(normalized.into_owned()))
    }

    fn encode(
        &self,
        chunk: &Chunk<'_>,
        normalized: &Cow<'_, str>,
        part: Range<usize>,
        out: &mut Buffers,
    ) -> Result<()> {
        if part.is_empty() {
            return Ok(());
        }
        let offset = usize::from(!chunk.opens_prompt || part.start > 0);
        let mut text = Cow::Borrowed(&normalized[part]);
        if let [PipelineNormalizer::Metaspace(metaspace)] = &self.tokenizer.get_normalizers()[self.declared..] {
            text = Cow::Owned(metaspace.normalize(&text, offset).map_err(failed)?.into_owned());
        }
        out.spans.clear();
        self.tokenizer.get_pre_tokenizer().pre_tokenize(&text, &mut out.split, &mut out.spans).map_err(failed)?;
        self.tokenizer
            .get_model()
            .tokenize_spans(&text, &out.spans, &mut out.model, &mut out.tokens)
            .map_err(failed)?;
        Ok(())
    }

    fn push(&self, id: TokenId, _: Range<usize>, out: &mut Buffers) {
        out.tokens.push(id.into());
    }
}

fn failed(error: tokenizers::Error) -> ErrorKind {
    ErrorKind::Encode(error.to_string())
}
