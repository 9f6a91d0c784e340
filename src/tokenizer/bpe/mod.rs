//! metatok's own encoder, for the vocabularies of nearly all language models: byte-pair encoding of bytes or characters.
//!
//! Text is cut into pieces, words mostly, and the tokens of a piece are looked up or merged. What is not known exactly
//! is left to the libraries: another model, normalizer or pre-tokenizer than those here.

mod atoms;
mod batch;
mod definition;
mod encoder;
mod filler;
mod key;
mod known;
mod large_pages;
#[cfg(test)]
mod laws;
mod located;
mod long_words;
mod merger;
mod merges;
mod missed;
mod model;
mod pairs;
mod pieces;
mod places;
mod split;
mod symbols;
mod vocabulary;
mod words;

use std::borrow::Cow;
use std::ops::Range;

use tokenizers_classic::{Decoder as _, DecoderWrapper, NormalizedString, Normalizer as _, NormalizerWrapper};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::TokenId;
use crate::tokenizer::added::Form;
use crate::tokenizer::backend::{Backend, IdWithBytes, Scratch};
use crate::tokenizer::composed::{is_compatibly_composed, is_composed};
use crate::tokenizer::run::{Chunk, Reader, Run, Steps, encode_run};
pub(crate) use definition::Tables;
use encoder::Buffers;
use located::{Located, LocatedPass};
use model::Model;
pub(crate) use split::{DEEPSEEK, GPT2, KIMI, LINE_END, O200K, TEKKEN, THREES};
use symbols::{META_SPACE, Symbols};

/// A tokenizer of this encoder.
pub(crate) struct Bpe {
    model: Model,
    normalizer: Normalizer,
    prefix: Prefix,
    decoder: Option<DecoderWrapper>,
    special_tokens: (Vec<TokenId>, Vec<TokenId>),
}

/// What happens to text before it is cut.
enum Normalizer {
    None,
    /// Characters are composed, unless a text certainly is.
    Composes {
        library: NormalizerWrapper,
        is_composed: fn(&str) -> bool,
    },
    /// Spaces become meta spaces, of which one may be put before a text. The encoder takes one for the other, so that
    /// ordinary text stays as it is.
    MarksSpaces {
        prepends: bool,
    },
    Other(NormalizerWrapper),
}

/// Whether a meta space is put before a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    Never,
    /// By the normalizer.
    Always,
    /// By the pre-tokenizer, unless there is one.
    IfMissing,
    /// By the pre-tokenizer, at the begin of a prompt, unless there is one.
    IfMissingAtStart,
}

impl Normalizer {
    /// The normalizer of a byte-level vocabulary.
    fn of_bytes(library: Option<NormalizerWrapper>) -> Self {
        match library {
            None => Self::None,
            Some(library @ NormalizerWrapper::NFC(_)) => Self::Composes { library, is_composed },
            Some(library @ NormalizerWrapper::NFKC(_)) => {
                Self::Composes { library, is_composed: is_compatibly_composed }
            }
            Some(library) => Self::Other(library),
        }
    }

    /// What the library makes of a text.
    fn apply<'t>(&self, text: Cow<'t, str>) -> Result<Cow<'t, str>> {
        let library = match self {
            Self::None => return Ok(text),
            Self::MarksSpaces { prepends } => return Ok(marked(&text, *prepends).into()),
            Self::Composes { is_composed, .. } if is_composed(&text) => return Ok(text),
            Self::Composes { library, .. } | Self::Other(library) => library,
        };
        let mut normalized = NormalizedString::from(text.as_ref());
        library.normalize(&mut normalized).map_err(failed)?;
        Ok(Cow::Owned(normalized.get().to_owned()))
    }
}

fn marked(text: &str, prepends: bool) -> String {
    let mut marked = String::with_capacity(text.len() + text.len() / 2);
    if prepends && !text.is_empty() {
        marked.push(META_SPACE);
    }
    for part in text.split_inclusive(' ') {
        match part.strip_suffix(' ') {
            Some(word) => {
                marked.push_str(word);
                marked.push(META_SPACE);
            }
            None => marked.push_str(part),
        }
    }
    marked
}

/// The steps for one run.
struct Pass<'a> {
    bpe: &'a Bpe,
    /// Whether the encoder gets text as it is, in which it takes spaces for meta spaces.
    is_raw: bool,
}

/// Where the tokens go, and what makes them.
struct Out<'a> {
    buffers: &'a mut Buffers,
    ids: &'a mut Vec<TokenId>,
}

impl Backend for Bpe {
    fn name(&self) -> &'static str {
        "metatok"
    }

    fn encode_run(
        &self,
        reader: Reader<'_>,
        run: Run<'_>,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let buffers = scratch.get_or_insert_with(Buffers::default);
        buffers.begin();
        self.encode_known(reader, run, buffers, ids)?;
        self.model.fill_in(buffers, ids);
        Ok(())
    }

    fn encode_runs(
        &self,
        reader: Reader<'_>,
        runs: &mut dyn Iterator<Item = Run<'_>>,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        let buffers = scratch.get_or_insert_with(Buffers::default);
        buffers.begin();
        for run in runs {
            self.encode_known(reader, run, buffers, ids)?;
            self.model.end_run(buffers, ids);
        }
        self.model.fill_in(buffers, ids);
        ends.extend(buffers.run_ends());
        Ok(())
    }

    fn normalize(&self, text: &str) -> Result<String> {
        Ok(self.normalizer.apply(text.into())?.into_owned())
    }

    fn id_to_token(&self, id: TokenId) -> Option<String> {
        self.model.vocabulary.entry(id).map(str::to_owned)
    }

    fn decode(&self, tokens: Vec<String>) -> Result<String> {
        match &self.decoder {
            Some(decoder) => Ok(decoder.decode(tokens).map_err(failed)?),
            None => Ok(tokens.join(" ")),
        }
    }

    fn decode_ids(&self, ids: &[TokenId]) -> Option<Result<String>> {
        // This decoder reads each character as a byte, also those of added tokens, which are not bytes.
        let is_byte_level = matches!(self.decoder, Some(DecoderWrapper::ByteLevel(_)));
        is_byte_level.then(|| self.decode(ids.iter().filter_map(|id| self.id_to_token(*id)).collect()))
    }

    fn encode_run_with_offsets(&self, reader: Reader<'_>, run: Run<'_>) -> Option<Result<Vec<IdWithBytes>>> {
        let normalizer = match &self.normalizer {
            Normalizer::Composes { library, is_composed } if !is_composed(run.text) => library,
            Normalizer::Other(library) => library,
            // The tokens' own bytes tell where they come from.
            Normalizer::None | Normalizer::Composes { .. } | Normalizer::MarksSpaces { .. } => return None,
        };
        let mut out = Located::default();
        let done = encode_run(&LocatedPass { model: &self.model, normalizer }, reader, run, &mut out);
        Some(done.map(|()| out.tokens))
    }

    fn keeps_bytes(&self, text: &str) -> bool {
        matches!(self.model.symbols, Symbols::Bytes(_))
            && match self.normalizer {
                Normalizer::None => true,
                Normalizer::Composes { is_composed, .. } => is_composed(text),
                Normalizer::MarksSpaces { .. } | Normalizer::Other(_) => false,
            }
    }

    fn special_tokens(&self) -> Result<(Vec<TokenId>, Vec<TokenId>)> {
        Ok(self.special_tokens.clone())
    }
}

impl Bpe {
    /// Appends the ids of a run, without those of words that are new.
    fn encode_known(
        &self,
        reader: Reader<'_>,
        run: Run<'_>,
        buffers: &mut Buffers,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let is_raw = matches!(self.normalizer, Normalizer::MarksSpaces { .. })
            && reader.finder.is_empty(Form::Normalized)
            && reader.normalized(run.before).is_none()
            && reader.normalized(run.after).is_none();
        encode_run(&Pass { bpe: self, is_raw }, reader, run, &mut Out { buffers, ids })
    }
}

impl<'a> Steps for Pass<'a> {
    type Normalized<'t> = Cow<'t, str>;
    type Output = Out<'a>;

    fn normalize<'t>(&self, chunk: &Chunk<'t>) -> Result<Cow<'t, str>> {
        if self.is_raw {
            return Ok(chunk.text.into());
        }
        let text = match (chunk.left, chunk.right) {
            ("", "") => chunk.text.into(),
            (left, right) => [left, chunk.text, right].concat().into(),
        };
        self.bpe.normalizer.apply(text)
    }

    fn encode(
        &self,
        chunk: &Chunk<'_>,
        normalized: &Cow<'_, str>,
        part: Range<usize>,
        out: &mut Out<'a>,
    ) -> Result<()> {
        let is_first = chunk.opens_prompt && part.start == 0;
        let text = &normalized[part];
        let is_marked = || text.starts_with([' ', META_SPACE]);
        let has_prefix = !text.is_empty()
            && match self.bpe.prefix {
                Prefix::Never => false,
                // The library has put it into the normalized text.
                Prefix::Always => self.is_raw,
                Prefix::IfMissing => !is_marked(),
                Prefix::IfMissingAtStart => is_first && !is_marked(),
            };
        self.bpe.model.encode_known(text, has_prefix, out.buffers, out.ids);
        Ok(())
    }

    fn push(&self, id: TokenId, _: Range<usize>, out: &mut Out<'a>) {
        out.ids.push(id);
    }
}

fn failed(error: tokenizers_classic::Error) -> ErrorKind {
    ErrorKind::Encode(error.to_string())
}
