//! The classic library, `tokenizers` 0.23: loads every file and knows which text each token comes from, but is forty
//! times as slow as the fast library.

use std::ops::Range;

use tokenizers::normalizer::Range as Referential;
use tokenizers::{
    Decoder as _, Encoding, Model as _, NormalizedString, Normalizer as _, OffsetReferential, OffsetType,
    PostProcessor as _, PreTokenizedString, PreTokenizer as _,
};
use tokenizers_classic as tokenizers;

use crate::error::{ErrorKind, Result};
use crate::tokenizer::TokenId;
use crate::tokenizer::backend::{Backend, IdWithBytes, Scratch};
use crate::tokenizer::run::{Chunk, Reader, Run, Steps, encode_run};

pub(crate) struct Classic {
    tokenizer: tokenizers::Tokenizer,
}

impl Classic {
    /// `json` is a `tokenizer.json` without added tokens. The error is the library's.
    pub(crate) fn new(json: &str) -> std::result::Result<Self, String> {
        // Of a wrong merge, the library cuts a character in two and puts that into the text of its error.
        let words = |error: tokenizers::Error| String::from_utf8_lossy(error.to_string().as_bytes()).into_owned();
        let tokenizer = tokenizers::Tokenizer::from_bytes(json).map_err(words)?;
        Ok(Self { tokenizer })
    }

    /// The ids of a run, each with the bytes of the run that it comes from.
    pub(crate) fn ids_with_bytes(&self, reader: Reader<'_>, run: Run<'_>) -> Result<Vec<IdWithBytes>> {
        let mut out = Vec::new();
        encode_run(self, reader, run, &mut out)?;
        Ok(out)
    }
}

impl Backend for Classic {
    fn name(&self) -> &'static str {
        "classic"
    }

    fn encode_run(&self, reader: Reader<'_>, run: Run<'_>, _: &mut Scratch, ids: &mut Vec<TokenId>) -> Result<()> {
        let tokens = self.ids_with_bytes(reader, run)?;
        ids.extend(tokens.into_iter().map(|(id, _)| id));
        Ok(())
    }

    fn normalize(&self, text: &str) -> Result<String> {
        let chunk = Chunk { left: "", text, right: "", offset: 0, opens_prompt: false };
        Ok(Steps::normalize(self, &chunk)?.0.get().to_owned())
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
        // This decoder reads each character as a byte, also those of added tokens, which are not bytes.
        let is_byte_level = matches!(self.tokenizer.get_decoder(), Some(tokenizers::DecoderWrapper::ByteLevel(_)));
        is_byte_level.then(|| self.decode(ids.iter().filter_map(|id| self.id_to_token(*id)).collect()))
    }

    fn encode_run_with_offsets(&self, reader: Reader<'_>, run: Run<'_>) -> Option<Result<Vec<IdWithBytes>>> {
        Some(self.ids_with_bytes(reader, run))
    }

    fn special_tokens(&self) -> Result<(Vec<TokenId>, Vec<TokenId>)> {
        special_tokens_of(self.tokenizer.get_post_processor())
    }
}

/// What a post-processor adds before and after a text.
pub(crate) fn special_tokens_of(
    post_processor: Option<&tokenizers::PostProcessorWrapper>,
) -> Result<(Vec<TokenId>, Vec<TokenId>)> {
    let Some(post_processor) = post_processor else {
        return Ok(Default::default());
    };
    // What surrounds this token after the post-processor is what it adds.
    let probe = TokenId::MAX;
    let encoding = Encoding::new(
        vec![probe],
        vec![0],
        vec![String::new()],
        vec![None],
        vec![(0, 0)],
        vec![0],
        vec![1],
        vec![],
        Default::default(),
    );
    let ids = post_processor.process(encoding, None, true).map_err(failed)?.get_ids().to_vec();
    if ids.iter().filter(|&&id| id == probe).count() > 1 {
        let what = "its post-processor writes a text more than once".to_owned();
        return Err(ErrorKind::UnsupportedTokenizer(what).into());
    }
    let at = ids.iter().position(|&id| id == probe).unwrap_or(ids.len());
    Ok((ids[..at].to_vec(), ids.get(at + 1..).unwrap_or_default().to_vec()))
}

/// A normalized chunk that knows which text it comes from.
pub(crate) struct Aligned(pub(crate) NormalizedString);

impl AsRef<str> for Aligned {
    fn as_ref(&self) -> &str {
        self.0.get()
    }
}

/// Put before a chunk that does not open the prompt, so that its offsets do not begin at 0: this is how the library
/// recognizes the beginning of a prompt.
const NOT_FIRST: &str = "\u{1}";

/// The position of a chunk's byte in its run, counting the text that was put before the chunk.
fn in_run(chunk: &Chunk<'_>, offset: usize) -> usize {
    let before = chunk.left.len() + if chunk.opens_prompt { 0 } else { NOT_FIRST.len() };
    chunk.offset + offset.saturating_sub(before).min(chunk.text.len())
}

impl Steps for Classic {
    type Normalized<'t> = Aligned;
    type Output = Vec<(TokenId, Range<usize>)>;

    fn normalize(&self, chunk: &Chunk<'_>) -> Result<Aligned> {
        let pad = if chunk.opens_prompt { "" } else { NOT_FIRST };
        let joined = NormalizedString::from([pad, chunk.left, chunk.text, chunk.right].concat());
        let mut text = joined
            .slice(Referential::Original(pad.len()..))
            .ok_or_else(|| ErrorKind::Encode("the library rejected a slice at a character boundary".into()))?;
        if let Some(normalizer) = self.tokenizer.get_normalizer() {
            normalizer.normalize(&mut text).map_err(failed)?;
        }
        Ok(Aligned(text))
    }

    fn encode(
        &self,
        chunk: &Chunk<'_>,
        normalized: &Aligned,
        part: Range<usize>,
        out: &mut Self::Output,
    ) -> Result<()> {
        if part.is_empty() {
            return Ok(());
        }
        let part = normalized
            .0
            .slice(Referential::Normalized(part))
            .ok_or_else(|| ErrorKind::Encode("the library rejected a slice at a character boundary".into()))?;
        let mut split = PreTokenizedString::from(part);
        if let Some(pre_tokenizer) = self.tokenizer.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut split).map_err(failed)?;
        }
        let model = self.tokenizer.get_model();
        split.tokenize(|text| model.tokenize(text.get())).map_err(failed)?;
        let whole_words = words_with_losses(&split);
        let encoding = split.into_encoding(None, 0, OffsetType::Byte).map_err(failed)?;
        let in_run = |offset| in_run(chunk, offset);
        out.extend(
            encoding
                .get_ids()
                .iter()
                .zip(encoding.get_offsets())
                .zip(whole_words)
                .map(|((&id, &own), word)| (id, word.unwrap_or(own)))
                .map(|(id, (start, end))| (id, in_run(start)..in_run(end))),
        );
        Ok(())
    }

    fn bytes(&self, chunk: &Chunk<'_>, normalized: &Aligned, part: Range<usize>) -> Range<usize> {
        match normalized.0.slice(Referential::Normalized(part)) {
            Some(part) => {
                let (start, end) = part.offsets_original();
                in_run(chunk, start)..in_run(chunk, end)
            }
            None => chunk.offset..chunk.offset + chunk.text.len(),
        }
    }

    fn push(&self, id: TokenId, bytes: Range<usize>, out: &mut Self::Output) {
        out.push((id, bytes));
    }
}

/// The bytes of each token's whole word, if the model left out characters of that word. It leaves out characters that it
/// does not know if it has no token for them, and then it says wrongly where the others come from.
fn words_with_losses(words: &PreTokenizedString) -> Vec<Option<(usize, usize)>> {
    let words = words.get_splits(OffsetReferential::Original, OffsetType::Byte).into_iter();
    let of_tokens = words.flat_map(|(text, bytes, tokens)| {
        let tokens = tokens.as_deref().unwrap_or_default();
        let is_whole = tokens.last().is_none_or(|last| last.offsets.1 == text.len());
        std::iter::repeat_n((!is_whole).then_some(bytes), tokens.len())
    });
    of_tokens.collect()
}

fn failed(error: tokenizers::Error) -> ErrorKind {
    ErrorKind::Encode(error.to_string())
}
