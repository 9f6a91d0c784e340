//! Reading a `tokenizer.json`. What this encoder does not know exactly is left to the libraries.

use serde_json::{Map, Value};
use tokenizers_classic::{DecoderWrapper, PostProcessorWrapper};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::long_words::LongWords;
use crate::tokenizer::bpe::merges::{Merges, NOBODY};
use crate::tokenizer::bpe::model::{Cutting, Model, find_words};
use crate::tokenizer::bpe::split::{Cuts, Seams};
use crate::tokenizer::bpe::symbols::Symbols;
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::bpe::words::Words;
use crate::tokenizer::bpe::{Bpe, Normalizer, Prefix};
use crate::tokenizer::classic::special_tokens_of;
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// What a vocabulary's tables are made of.
pub(crate) struct Tables {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) merges: Merges,
    /// None if they are still to be found.
    pub(crate) found: Option<Found>,
}

/// What is found in vocabulary and merges.
pub(crate) struct Found {
    words: Words,
    long_words: LongWords,
    reach: Reach,
}

/// How far merges reach in a text.
enum Reach {
    Bytes(Atoms),
    Characters(Seams),
}

/// What tells that the vocabulary is one of bytes.
const BYTES: &[u8] = b"bytes";

impl Found {
    fn find(
        vocabulary: &Vocabulary,
        symbols: &Symbols,
        merges: &Merges,
        ignore_merges: bool,
        spaces: &Spaces,
    ) -> Option<Self> {
        let reach = match symbols {
            Symbols::Bytes(_) => Reach::Bytes(Atoms::new(vocabulary, symbols, merges)),
            Symbols::Characters(_) => Reach::Characters(Seams::new(vocabulary, spaces.split)?),
        };
        let long_words = if ignore_merges { LongWords::new(vocabulary, symbols) } else { LongWords::default() };
        Some(Self { words: find_words(vocabulary, symbols, merges, ignore_merges)?, long_words, reach })
    }

    fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let (words, long_words) = (Words::read(blocks)?, LongWords::read(blocks)?);
        let reach = match blocks.bytes()? {
            BYTES => Reach::Bytes(Atoms::read(blocks)?),
            _ => Reach::Characters(Seams::read(blocks)?),
        };
        Some(Self { words, long_words, reach })
    }
}

impl Tables {
    fn of(model: &Value) -> Result<Self> {
        let vocabulary = vocabulary(&model["vocab"])?;
        let merges = merges(&model["merges"], &vocabulary)?;
        Ok(Self { vocabulary, merges, found: None })
    }

    /// The model that these tables are of: one of bytes if words are cut from texts, else one of characters.
    fn model(self, cuts: Option<Cuts>, spaces: &Spaces, ignore_merges: bool) -> Result<Model> {
        let Self { vocabulary, merges, found } = self;
        let symbols = if cuts.is_some() { Symbols::of_bytes(&vocabulary) } else { Symbols::of_characters(&vocabulary) };
        let symbols = symbols.ok_or_else(|| unsupported("a vocabulary without all bytes"))?;
        let found = found.or_else(|| Found::find(&vocabulary, &symbols, &merges, ignore_merges, spaces));
        let Found { words, long_words, reach } = found.ok_or_else(|| unsupported("a merge of tokens for bytes"))?;
        let cutting = match (cuts, reach) {
            (Some(cuts), Reach::Bytes(atoms)) => Cutting::Words(cuts, atoms),
            (None, Reach::Characters(seams)) => Cutting::Seams(seams),
            _ => return Err(unsupported("what was kept of the vocabulary")),
        };
        Ok(Model { vocabulary, words, long_words, merges, symbols, cutting, ignore_merges })
    }

    /// What [`Bpe::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let (vocabulary, merges) = (Vocabulary::read(blocks)?, Merges::read(blocks)?);
        Some(Self { vocabulary, merges, found: Some(Found::read(blocks)?) })
    }
}

impl Bpe {
    /// `json` is a `tokenizer.json` without added tokens.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedTokenizer`] says what is left to the libraries.
    pub(crate) fn new(json: &Value) -> Result<Self> {
        Self::with_tables(json, || Tables::of(&json["model"]))
    }

    /// The tables for [`Tables::read`].
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        let Model { vocabulary, merges, words, long_words, cutting, .. } = &self.model;
        vocabulary.write(blocks);
        merges.write(blocks);
        words.write(blocks);
        long_words.write(blocks);
        match cutting {
            Cutting::Words(_, atoms) => {
                blocks.bytes(BYTES);
                atoms.write(blocks);
            }
            Cutting::Seams(seams) => {
                blocks.bytes(b"characters");
                seams.write(blocks);
            }
        }
    }

    /// Makes an encoder whose vocabulary and merges are known. `json` need not have them.
    ///
    /// # Errors
    /// The same as for [`Self::new`].
    pub(crate) fn with_tables(json: &Value, tables: impl FnOnce() -> Result<Tables>) -> Result<Self> {
        let model = &json["model"];
        check_model(model)?;
        let (normalizer, pre_tokenizer) = (&json["normalizer"], &json["pre_tokenizer"]);
        let known = match model["byte_fallback"] != true {
            true => Cuts::of(pre_tokenizer).map(|cuts| (Some(cuts), Spaces::ORDINARY)),
            false => Spaces::of(normalizer, pre_tokenizer).map(|spaces| (None, spaces)),
        };
        let (cuts, spaces) = known.ok_or_else(|| unsupported("the pre-tokenizer"))?;
        let normalizer = match cuts {
            Some(_) => normalizer_of_bytes(normalizer)?,
            None if spaces.marked => Normalizer::MarksSpaces { prepends: spaces.prefix == Prefix::Always },
            None => Normalizer::None,
        };
        let post_processor: Option<PostProcessorWrapper> = read(&json["post_processor"], "post-processor")?;
        let special_tokens = special_tokens_of(post_processor.as_ref())?;
        let decoder: Option<DecoderWrapper> = read(&json["decoder"], "decoder")?;
        let ignore_merges = model["ignore_merges"] == true;
        if ignore_merges && cuts.is_none() {
            // A part of a text between seams may be an entry where the text is none.
            return Err(unsupported("a vocabulary of characters whose entries ignore merges"));
        }
        let model = tables()?.model(cuts, &spaces, ignore_merges)?;
        Ok(Self { model, normalizer, prefix: spaces.prefix, decoder, special_tokens })
    }
}

/// Rejects a model with settings that this encoder does not know.
fn check_model(model: &Value) -> Result<()> {
    for (key, allowed) in [
        ("type", &[Value::Null, "BPE".into()][..]),
        ("continuing_subword_prefix", &[Value::Null, "".into()]),
        ("end_of_word_suffix", &[Value::Null, "".into()]),
        ("dropout", &[Value::Null, 0.0.into(), 0.into()]),
    ] {
        if !allowed.contains(&model[key]) {
            return Err(unsupported(&format!("the model's {key}")));
        }
    }
    Ok(())
}

fn normalizer_of_bytes(normalizer: &Value) -> Result<Normalizer> {
    let is_empty = normalizer["normalizers"].as_array().is_some_and(Vec::is_empty);
    Ok(if is_empty { Normalizer::None } else { Normalizer::of_bytes(read(normalizer, "normalizer")?) })
}

fn unsupported(what: &str) -> crate::Error {
    ErrorKind::UnsupportedTokenizer(format!("{what} is not known")).into()
}

/// A part of the tokenizer as the library reads it.
fn read<T: for<'de> serde::Deserialize<'de>>(json: &Value, what: &str) -> Result<Option<T>> {
    Ok(serde_json::from_value(json.clone())
        .map_err(|error| ErrorKind::UnsupportedTokenizer(format!("{what}: {error}")))?)
}

fn vocabulary(vocab: &Value) -> Result<Vocabulary> {
    let entries = vocab.as_object().ok_or_else(|| unsupported("the vocabulary"))?;
    let mut vocabulary = Vocabulary::with_capacity(entries.len(), entries.keys().map(String::len).sum());
    for (entry, id) in entries {
        let id = id.as_u64().and_then(|id| TokenId::try_from(id).ok());
        let id = id.filter(|id| *id < NOBODY).ok_or_else(|| unsupported("an id"))?;
        if vocabulary.entry(id).is_some() {
            return Err(unsupported("a vocabulary with two entries of one id"));
        }
        vocabulary.insert(entry, id);
    }
    Ok(vocabulary)
}

/// The merges by ids, each with what it makes.
fn merges(merges: &Value, vocabulary: &Vocabulary) -> Result<Merges> {
    let list = merges.as_array().ok_or_else(|| unsupported("the merges"))?;
    let mut all = Vec::with_capacity(list.len());
    for merge in list {
        let pair = match merge {
            Value::String(pair) => pair.split_once(' ').filter(|(_, right)| !right.contains(' ')),
            Value::Array(pair) => match &pair[..] {
                [Value::String(left), Value::String(right)] => Some((left.as_str(), right.as_str())),
                _ => None,
            },
            _ => None,
        };
        let (left, right) = pair.ok_or_else(|| unsupported("a merge"))?;
        let ids = [vocabulary.id(left), vocabulary.id(right), vocabulary.id_of_joined(&[left, right])];
        let [Some(left), Some(right), Some(merged)] = ids else {
            return Err(unsupported("a merge without an entry"));
        };
        all.push([left, right, merged]);
    }
    Merges::new(&all).ok_or_else(|| unsupported("so long a list of merges"))
}

/// What happens to the spaces of a text.
struct Spaces {
    prefix: Prefix,
    /// Whether the normalizer makes meta spaces of them.
    marked: bool,
    /// Whether the text is cut before each of them.
    split: bool,
}

impl Spaces {
    /// What a byte-level vocabulary does with spaces: nothing.
    const ORDINARY: Self = Self { prefix: Prefix::Never, marked: false, split: false };

    /// What a character-level vocabulary does with spaces; none if spaces are not just meta spaces.
    fn of(normalizer: &Value, pre_tokenizer: &Value) -> Option<Self> {
        let is_meta_space = |value: &Value| value == "▁";
        let is_space = |step: &Value| step["pattern"]["String"] == " ";
        let steps = match normalizer["type"].as_str() {
            // Libraries guess the kind of a normalizer that does not name it.
            None if !normalizer.is_null() => return None,
            None => &[][..],
            Some("Sequence") => normalizer["normalizers"].as_array()?.as_slice(),
            Some(_) => std::slice::from_ref(normalizer),
        };
        let (prepends, replaces) = match steps {
            [first, rest @ ..] if first["type"] == "Prepend" && is_meta_space(&first["prepend"]) => (true, rest),
            steps => (false, steps),
        };
        let marked = match replaces {
            [] => false,
            [step] if step["type"] == "Replace" && is_space(step) && is_meta_space(&step["content"]) => true,
            _ => return None,
        };
        let pre_tokenizer = match pre_tokenizer["pretokenizers"].as_array().map(Vec::as_slice) {
            Some([only]) if pre_tokenizer["type"] == "Sequence" => only,
            _ => pre_tokenizer,
        };
        let of_normalizer = if prepends { Prefix::Always } else { Prefix::Never };
        let (prefix, split) = match pre_tokenizer["type"].as_str() {
            None if marked && pre_tokenizer.is_null() => (of_normalizer, false),
            // There are no spaces left to split at.
            Some("Split") if marked && is_space(pre_tokenizer) && pre_tokenizer["invert"] != true => {
                (of_normalizer, false)
            }
            Some("Metaspace") if !prepends => metaspace(pre_tokenizer.as_object()?)?,
            _ => return None,
        };
        Some(Self { prefix, marked, split })
    }
}

/// Where this step puts a meta space before text, and whether it cuts.
fn metaspace(step: &Map<String, Value>) -> Option<(Prefix, bool)> {
    let key = |key: &str| step.get(key).unwrap_or(&Value::Null);
    if key("replacement") != "▁" {
        return None;
    }
    let scheme = key("prepend_scheme").as_str().unwrap_or("always");
    let prefix = match (scheme, key("add_prefix_space").as_bool()) {
        ("never", _) => Prefix::Never,
        ("always", None | Some(true)) => Prefix::IfMissing,
        ("first", None | Some(true)) => Prefix::IfMissingAtStart,
        _ => return None,
    };
    let split = match key("split") {
        Value::Null => true,
        split => split.as_bool()?,
    };
    Some((prefix, split))
}
