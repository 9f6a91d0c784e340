//! A tokenizer made of its files: what encodes, and what is kept of it for the next time.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;

use serde_json::Value;

use crate::error::{At, Error, ErrorKind, Fault, OfFile, Place, Result};
use crate::idle::Idle;
use crate::panics::caught;
use crate::tokenizer::added::AddedTokenMatcher;
use crate::tokenizer::backend::Backend;
use crate::tokenizer::bpe::{Bpe, Tables};
use crate::tokenizer::bytes::TokenBytes;
use crate::tokenizer::classic::Classic;
use crate::tokenizer::compiled::{self, Head};
use crate::tokenizer::dangling;
use crate::tokenizer::definition::{Definition, Known, TokenizerFiles};
use crate::tokenizer::fast::Fast;
use crate::tokenizer::model_vocabulary::LARGEST_ID;
use crate::tokenizer::{AddedToken, TokenId, Tokenizer, digest_of};

/// What encodes, if it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefers {
    Own,
    Fast,
    Classic,
}

/// metatok's own encoder, if it knows the kind of vocabulary. Libraries read parts of the file, and may panic.
fn own(load: impl FnOnce() -> Result<Bpe>) -> Option<Bpe> {
    caught(load).ok()?.ok()
}

/// The fast library, or the classic one and why it is not the fast one.
fn by_library(json: Value, prefer_fast: bool) -> Result<(Box<dyn Backend>, Option<String>)> {
    dangling::check(&json)?;
    let text = json.to_string();
    let fast = match prefer_fast {
        true => caught(|| Fast::new(json)).map_err(ErrorKind::UnsupportedTokenizer).map_err(Error::from).flatten(),
        false => Err(ErrorKind::Usage("not asked for".into()).into()),
    };
    Ok(match fast {
        Ok(fast) => (Box::new(fast), None),
        Err(reason) => {
            let failed = |what: String| ErrorKind::UnsupportedTokenizer(without_position(&what).to_owned());
            let classic = caught(|| Classic::new(&text)).flatten().map_err(failed)?;
            (Box::new(classic), Some(without_position(&reason.to_string()).to_owned()))
        }
    })
}

/// A library's message without the position at its end: the text that the library read is not the user's file.
fn without_position(message: &str) -> &str {
    let Some((what, position)) = message.rsplit_once(" at line ") else { return message };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match position.split_once(" column ") {
        Some((line, column)) if is_number(line) && is_number(column) => what,
        _ => message,
    }
}

/// Rejects ids of a post-processor as those of other tokens are.
fn check_added_ids([before, after]: [&[TokenId]; 2]) -> Result<()> {
    match before.iter().chain(after).find(|id| **id > LARGEST_ID) {
        Some(id) => {
            let what = format!("it adds the id {id} to texts, which is larger than {LARGEST_ID}");
            Err(ErrorKind::UnsupportedTokenizer(what).with_way_out("use the file of the model's repository"))
                .at("post_processor")
        }
        None => Ok(()),
    }
}

/// What was kept; none if it is damaged.
fn from_kept(bytes: &[u8]) -> Option<(Head, Bpe)> {
    let (head, mut blocks) = compiled::read(bytes)?;
    let tables = Tables::read(&mut blocks)?;
    let own = own(|| Bpe::with_tables(&head.json, || Ok(tables)))?;
    Some((head, own))
}

impl Tokenizer {
    /// Builds a tokenizer from the bytes of its files: with metatok's encoder if it knows the vocabulary's kind, else with
    /// the fast library, or with the classic one if the fast one cannot load the file.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] and [`ErrorKind::Invalid`] name the file and the place of what is wrong.
    /// [`ErrorKind::UnsupportedTokenizer`] says why neither library can load it.
    pub fn new(files: &TokenizerFiles) -> Result<Self> {
        Self::build(files, Prefers::Own)
    }

    /// Like [`Self::new`], but never with metatok's own encoder: meant as a reference to compare with.
    ///
    /// # Errors
    /// The same as for [`Self::new`].
    pub fn library(files: &TokenizerFiles) -> Result<Self> {
        Self::build(files, Prefers::Fast)
    }

    /// Like [`Self::new`], but always with the classic library: slow, and meant as a reference to compare with.
    ///
    /// # Errors
    /// The same as for [`Self::new`].
    pub fn classic(files: &TokenizerFiles) -> Result<Self> {
        Self::build(files, Prefers::Classic)
    }

    fn build(files: &TokenizerFiles, prefers: Prefers) -> Result<Self> {
        let definition = Definition::read(files).of_file(Fault::Model)?;
        match (prefers == Prefers::Own).then(|| own(|| Bpe::new(&definition.json))).flatten() {
            Some(own) => {
                let Definition { json, known } = definition;
                Self::assemble(files.clone(), known, TokenBytes::of(&json), Box::new(own), None)
            }
            None => Self::of_library(files.clone(), definition, prefers != Prefers::Classic),
        }
    }

    /// A tokenizer from files that a library encodes.
    fn of_library(files: TokenizerFiles, definition: Definition, prefer_fast: bool) -> Result<Self> {
        let Definition { json, known } = definition;
        let spelling = TokenBytes::of(&json);
        let (backend, fallback) = by_library(json, prefer_fast).at(Place::file(files.place("tokenizer.json")))?;
        Self::assemble(files, known, spelling, backend, fallback)
    }

    /// A tokenizer from `folder`, which has those that were loaded before. If it is not there, it is made of its files and kept
    /// there for the next time, unless a library encodes.
    pub(crate) fn kept_in(folder: &Path, files: TokenizerFiles) -> Result<Self> {
        let key = compiled::key(&files);
        if let Some((head, own)) = compiled::get(folder, &key).and_then(|bytes| from_kept(&bytes)) {
            return Self::of_head(files, head, own);
        }
        let definition = Definition::read(&files).of_file(Fault::Model)?;
        let Some(own) = own(|| Bpe::new(&definition.json)) else { return Self::of_library(files, definition, true) };
        let Definition { mut json, known } = definition;
        let digest = digest_of(&json, &known, &own.special_tokens()?);
        if let Some(model) = json["model"].as_object_mut() {
            model.retain(|key, _| !["vocab", "merges"].contains(&key.as_str()));
        }
        let head = Head { json, known, digest };
        if let Some(bytes) = compiled::write(&head, |blocks| own.write(blocks)) {
            compiled::put(folder, &key, &bytes);
        }
        Self::of_head(files, head, own)
    }

    fn of_head(files: TokenizerFiles, head: Head, own: Bpe) -> Result<Self> {
        let Head { json, known, digest } = head;
        let tokenizer = Self::assemble(files, known, TokenBytes::of(&json), Box::new(own), None)?;
        Ok(Self { digest: digest.into(), ..tokenizer })
    }

    fn assemble(
        files: TokenizerFiles,
        known: Known,
        spelling: TokenBytes,
        backend: Box<dyn Backend>,
        fallback: Option<String>,
    ) -> Result<Self> {
        let Known { added, vocab_size, unk_token_id, special, conflicts, is_in_python } = known;
        let place = files.place("tokenizer.json");
        let loaded = || -> Result<_> {
            let finder = AddedTokenMatcher::new(added.values(), |form| backend.normalize(form))?;
            let (before, after) = backend.special_tokens()?;
            check_added_ids([&before, &after])?;
            Ok((finder, (before, after)))
        };
        let loaded = caught(loaded).map_err(ErrorKind::UnsupportedTokenizer).map_err(Error::from).flatten();
        let (finder, special_tokens) = loaded.at(Place::file(&place))?;
        let normalizes_neighbours = !is_in_python;
        let neighbours_matter =
            added.values().any(|token| token.lstrip || token.rstrip || normalizes_neighbours && token.normalized);
        // An entry spells these characters as an added token does.
        let is_plain = |token: &AddedToken| token.content.bytes().all(|byte| byte.is_ascii_graphic());
        let is_spelled = |token: &AddedToken| match backend.id_to_token(token.id) {
            Some(entry) => entry == token.content && is_plain(token),
            None => true,
        };
        Ok(Self {
            place,
            has_plain_bytes: spelling.is_byte_level()
                && fallback.is_none()
                && !neighbours_matter
                && added.values().all(is_spelled),
            neighbours_matter,
            normalizes_neighbours,
            special_tokens,
            added,
            vocab_size,
            unk_token_id,
            special,
            conflicts,
            spelling,
            finder,
            finder_as_written: OnceLock::new(),
            backend,
            fallback,
            files,
            digest: OnceLock::new(),
            classic: OnceLock::new(),
            bytes: OnceLock::new(),
            look_ups: AtomicUsize::new(0),
            idle: Idle::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_the_position_in_a_text_that_nobody_has() {
        for (message, expected) in [
            ("Token `x` out of vocabulary at line 1 column 89", "Token `x` out of vocabulary"),
            ("Merges text file invalid at line 1", "Merges text file invalid at line 1"),
            ("at line 1 column 2 of it", "at line 1 column 2 of it"),
            ("", ""),
        ] {
            assert_eq!(without_position(message), expected);
        }
    }
}
