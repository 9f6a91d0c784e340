//! Tokenizers: Hugging Face's files in, ids out, the same whatever encodes.
//!
//! ```
//! use metatok::Tokenizer;
//!
//! let tokenizer = Tokenizer::demo()?;
//! let ids = tokenizer.encode("<|im_start|>user\nHi!")?;
//! assert_eq!(ids[0], 1051);
//! assert_eq!(tokenizer.decode(&ids, false)?, "<|im_start|>user\nHi!");
//! # Ok::<(), metatok::Error>(())
//! ```

mod add_special_tokens;
mod added;
mod added_tokens;
mod align;
mod backend;
mod bpe;
mod byte_table;
mod bytes;
mod charsmap;
mod classic;
mod compiled;
mod composed;
mod control_like;
mod cut;
mod dangling;
mod decode;
mod definition;
mod display;
mod fast;
mod files;
mod first_bytes;
mod first_lines;
mod formats;
mod glyph;
#[cfg(feature = "hub")]
mod hub;
mod hub_name;
mod lines;
mod load;
mod make;
mod model_vocabulary;
mod named_tokens;
mod not_a_tokenizer;
mod offsets;
mod pages;
mod read_otherwise;
mod respell;
mod run;
mod run_cache;
mod spelled;
mod token_bytes;
mod token_id;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::digest::digest_of_list;
use crate::error::{Error, ErrorKind, Place, Result, counted};
use crate::idle::Idle;
use crate::panics::caught;
pub use add_special_tokens::AddSpecialTokens;
pub use added::AddedToken;
pub(crate) use added::AddedTokenMatcher;
use backend::Backend;
pub(crate) use backend::Scratch;
pub(crate) use byte_table::ByteTable;
use bytes::TokenBytes;
use classic::Classic;
pub use compiled::TokenizerCache;
pub(crate) use cut::Cut;
pub(crate) use definition::parse as parse_file;
use definition::{Definition, Known};
pub use definition::{SpecialTokenIds, TokenizerFiles};
pub(crate) use files::place_of;
pub(crate) use glyph::{Glyph, drawn, glyphs};
pub(crate) use hub_name::looks_like_a_repository;
pub(crate) use load::dataset_file;
#[cfg(feature = "candle")]
pub(crate) use load::{find_model_file, model_file};
pub(crate) use load::{is_model, tokenizer_file};
pub(crate) use named_tokens::NamedTokens;
use run::Reader;
pub(crate) use run::{Neighbour, Run, strip};
pub(crate) use run_cache::{Counts, LONG as LONG_RUN, RunCache};
pub(crate) use spelled::Spelled;
pub use token_id::TokenId;

/// A tokenizer and the contents of its files.
///
/// The ids are those of the `tokenizers` library, with three intentional differences: added tokens that only
/// `tokenizer_config.json` declares exist, every added token has its declared id, and nothing is truncated or padded, even
/// if `tokenizer.json` declares it (`transformers` ignores that, too).
///
/// ```
/// let tokenizer = metatok::Tokenizer::demo()?;
/// let ids = tokenizer.encode("<|im_start|>user\nHello!<|im_end|>")?;
/// assert_eq!(tokenizer.decode(&ids, false)?, "<|im_start|>user\nHello!<|im_end|>");
/// assert_eq!(tokenizer.token_to_id("<|im_start|>"), Some(ids[0]));
/// # Ok::<(), metatok::Error>(())
/// ```
pub struct Tokenizer {
    files: TokenizerFiles,
    /// The name of its `tokenizer.json` in messages.
    place: String,
    added: BTreeMap<TokenId, AddedToken>,
    vocab_size: usize,
    unk_token_id: Option<TokenId>,
    special: SpecialTokenIds,
    conflicts: Vec<String>,
    spelling: TokenBytes,
    special_tokens: (Vec<TokenId>, Vec<TokenId>),
    finder: AddedTokenMatcher,
    /// For text that the normalizer changes: it finds tokens as they are written.
    finder_as_written: OnceLock<AddedTokenMatcher>,
    neighbours_matter: bool,
    normalizes_neighbours: bool,
    /// Whether what the backend says of a text's bytes holds with added tokens, too.
    has_plain_bytes: bool,
    backend: Box<dyn Backend>,
    /// Why the classic library is used, if it is.
    fallback: Option<String>,
    /// The tokenizer's part of a fingerprint.
    digest: OnceLock<String>,
    /// For offsets that the fast library does not know.
    classic: OnceLock<std::result::Result<Classic, String>>,
    bytes: OnceLock<Arc<ByteTable>>,
    /// How many tokens were looked up without it.
    look_ups: AtomicUsize,
    /// What earlier calls of [`Self::encode`] remember.
    idle: Idle<Scratch>,
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { vocab_size, special, fallback, .. } = self;
        let mut debug = f.debug_struct("Tokenizer");
        debug.field("name", &self.name()).field("vocab_size", vocab_size).field("special_token_ids", special);
        debug.field("fallback", fallback).finish_non_exhaustive()
    }
}

/// A hash of everything in the files that determines ids.
fn digest_of(json: &Value, known: &Known, special_tokens: &(Vec<TokenId>, Vec<TokenId>)) -> String {
    digest_of_list(&[json, &json!(known.added), &json!(known.special), &json!(special_tokens)])
}

impl Tokenizer {
    /// Where the tokenizer comes from: a path, a repository, or a built-in model's name.
    pub fn name(&self) -> &str {
        &self.files.name
    }

    /// The contents of its files, of which [`Self::from_files`] makes the same tokenizer again.
    pub fn source(&self) -> &TokenizerFiles {
        &self.files
    }

    /// What encodes, `"metatok"`, `"fast"` or `"classic"`, and why it is the classic library.
    pub fn backend(&self) -> (&'static str, Option<&str>) {
        (self.backend.name(), self.fallback.as_deref())
    }

    /// One more than the largest id, including added tokens.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// The added tokens in the order of their ids.
    pub fn added_tokens(&self) -> impl Iterator<Item = &AddedToken> {
        self.added.values()
    }

    /// The special tokens that the files name.
    pub fn special_token_ids(&self) -> &SpecialTokenIds {
        &self.special
    }

    /// A hash of everything in the files that determines ids: 16 digits.
    pub(crate) fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let Definition { json, known } = Definition::read(&self.files).expect("it was read before");
            digest_of(&json, &known, &self.special_tokens)
        })
    }

    /// Contradictions between the tokenizer's files about a token or id, as sentences.
    pub fn conflicts(&self) -> &[String] {
        &self.conflicts
    }

    /// The contradictions that make prompts wrong: nothing stops at the eos that the files name, or a token has the
    /// id of ordinary text.
    pub(crate) fn grave_conflicts(&self) -> impl Iterator<Item = String> {
        let mut conflicts = self.conflicts.iter().filter(|_| self.special.eos.is_none());
        let eos = conflicts.find(|conflict| conflict.starts_with("eos_token ")).cloned();
        let mut doubled = self.conflicts.iter().filter(|conflict| conflict.ends_with(added_tokens::BOTH));
        let first = doubled.next().map(|first| match doubled.count() {
            0 => first.clone(),
            more => format!("{first}; the same holds for {}", counted(more, "other token")),
        });
        eos.into_iter().chain(first)
    }

    /// The id for text that the model has no entry for, if there is one.
    pub fn unk_token_id(&self) -> Option<TokenId> {
        self.unk_token_id
    }

    /// The ids that the tokenizer's post-processor adds before and after a text.
    pub fn special_tokens_around(&self) -> (&[TokenId], &[TokenId]) {
        (&self.special_tokens.0, &self.special_tokens.1)
    }

    /// The ids of a text, with added tokens found in it and nothing added around it: the `tokenizers` library's
    /// `encode(text, add_special_tokens=False)`.
    ///
    /// The tokenizer remembers words for the next call: up to about 25 MB for each thread that encodes at the same time,
    /// for at most twice as many threads as cores.
    ///
    /// # Errors
    /// [`ErrorKind::Encode`] if the library fails.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>> {
        let (mut scratch, mut ids) = (self.idle.take(), Vec::new());
        self.encode_into(text, &mut scratch, &mut ids)?;
        self.idle.put(scratch);
        Ok(ids)
    }

    pub(crate) fn encode_into(&self, text: &str, scratch: &mut Scratch, ids: &mut Vec<TokenId>) -> Result<()> {
        let run = Run { text, before: Neighbour::Edge, after: Neighbour::Edge };
        self.encode_run(&self.finder, run, scratch, ids)
    }

    /// The token with this id: an added token's text, or the model's entry in the spelling of its vocabulary (`Ġhello`,
    /// `▁hello`).
    pub fn id_to_token(&self, id: TokenId) -> Option<String> {
        match self.added.get(&id) {
            Some(token) => Some(token.content.clone()),
            // The library may have an additional entry, which it requires but never uses.
            None if id as usize >= self.vocab_size => None,
            None => self.backend.id_to_token(id),
        }
    }

    /// Whether the model has this id by itself, and not only the added tokens.
    pub(crate) fn is_entry(&self, id: TokenId) -> bool {
        self.backend.id_to_token(id).is_some()
    }

    /// The id of an added token's text or of a vocabulary entry. For the latter it reads the whole vocabulary: meant
    /// for templates, not for text.
    pub fn token_to_id(&self, token: &str) -> Option<TokenId> {
        let added = self.added.values().find(|added| added.content == token).map(|added| added.id);
        added.or_else(|| {
            let ids = 0..TokenId::try_from(self.vocab_size).unwrap_or(TokenId::MAX);
            ids.into_iter()
                .find(|&id| !self.added.contains_key(&id) && self.backend.id_to_token(id).as_deref() == Some(token))
        })
    }

    /// `id` as the id of an existing token.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideVocabulary`] or [`ErrorKind::UnusedTokenId`].
    pub fn check_id(&self, id: i128) -> Result<TokenId> {
        let token_id = TokenId::try_from(id).ok().filter(|&id| (id as usize) < self.vocab_size);
        let token_id = token_id.ok_or(ErrorKind::OutsideVocabulary { id, size: self.vocab_size })?;
        match self.id_to_token(token_id) {
            Some(_) => Ok(token_id),
            None => Err(self.missing(token_id)),
        }
    }

    fn missing(&self, id: TokenId) -> Error {
        if (id as usize) < self.vocab_size {
            ErrorKind::UnusedTokenId(id).into()
        } else {
            ErrorKind::OutsideVocabulary { id: id.into(), size: self.vocab_size }.into()
        }
    }

    /// Finds every added token except those in `hidden`.
    pub(crate) fn finder_without(&self, hidden: impl Fn(&AddedToken) -> bool) -> Result<AddedTokenMatcher> {
        AddedTokenMatcher::new(self.added.values().filter(|token| !hidden(token)), |form| self.normalize(form))
    }

    /// Finds every added token.
    pub(crate) fn finder(&self) -> &AddedTokenMatcher {
        &self.finder
    }

    /// The added token with this id.
    pub(crate) fn added_token(&self, id: TokenId) -> Option<&AddedToken> {
        self.added.get(&id)
    }

    /// Whether any added token has a flag that affects the text next to it.
    pub(crate) fn neighbours_matter(&self) -> bool {
        self.neighbours_matter
    }

    fn reader<'a>(&'a self, finder: &'a AddedTokenMatcher) -> Reader<'a> {
        let Self { added, neighbours_matter, normalizes_neighbours, .. } = self;
        Reader { added, neighbours_matter: *neighbours_matter, normalizes_neighbours: *normalizes_neighbours, finder }
    }

    /// Appends the ids of a run, in which only the tokens of `finder` are found.
    pub(crate) fn encode_run(
        &self,
        finder: &AddedTokenMatcher,
        run: Run<'_>,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let encoded = self.try_library(|| self.backend.encode_run(self.reader(finder), run, scratch, ids));
        if encoded.is_err() {
            *scratch = Scratch::default();
        }
        encoded
    }

    /// Appends the ids of several runs, as [`Self::encode_run`] does, and where those of each end. Their new words are merged
    /// together, which takes less time.
    pub(crate) fn encode_runs<'r>(
        &self,
        finder: &AddedTokenMatcher,
        mut runs: impl Iterator<Item = Run<'r>>,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        let reader = self.reader(finder);
        let encoded = self.try_library(|| self.backend.encode_runs(reader, &mut runs, scratch, ids, ends));
        if encoded.is_err() {
            *scratch = Scratch::default();
        }
        encoded
    }

    /// The normalizer's output for a text.
    fn normalize(&self, text: &str) -> Result<String> {
        self.try_library(|| self.backend.normalize(text))
    }

    /// A library's result. If it fails or panics, the error names the file.
    fn try_library<T>(&self, library: impl FnOnce() -> Result<T>) -> Result<T> {
        let result = caught(library).map_err(ErrorKind::Encode).map_err(Error::from).flatten();
        result.map_err(|error| error.at(Place::file(&self.place)))
    }
}
