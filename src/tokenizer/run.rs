//! Encoding a run: the text between two control tokens, exactly as if it were in the whole prompt.
//!
//! A tokenizer's result for a run depends on its surroundings in four ways only: a token next to it may strip white
//! space (`lstrip`, `rstrip`); a token flagged `normalized` is normalized together with the run; some tokenizers mark
//! the beginning of the prompt; and added tokens inside the run cut it again.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::Result;
use crate::tokenizer::added::{AddedTokenMatcher, Form};
use crate::tokenizer::{AddedToken, TokenId};

/// The existing added tokens, and those that are searched for in a text.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) added: &'a BTreeMap<TokenId, AddedToken>,
    pub(crate) neighbours_matter: bool,
    /// Whether a token beside a text that is flagged `normalized` is normalized with it. A tokenizer in Python takes all tokens
    /// out before. Source: `PreTrainedTokenizer.tokenize` in transformers.
    pub(crate) normalizes_neighbours: bool,
    pub(crate) finder: &'a AddedTokenMatcher,
}

impl<'a> Reader<'a> {
    /// The token beside a text, if it is normalized with the text.
    pub(crate) fn normalized(&self, neighbour: Neighbour) -> Option<&'a AddedToken> {
        self.token(neighbour).filter(|token| self.normalizes_neighbours && token.normalized)
    }

    /// The token beside a text, if any token could matter to it.
    fn token(&self, neighbour: Neighbour) -> Option<&'a AddedToken> {
        match neighbour {
            Neighbour::Token(id) if self.neighbours_matter => self.added.get(&id),
            _ => None,
        }
    }
}

/// A run of text and its neighbours on either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run<'a> {
    pub(crate) text: &'a str,
    pub(crate) before: Neighbour,
    pub(crate) after: Neighbour,
}

impl Run<'_> {
    /// Whether nothing comes before it in the prompt.
    pub(crate) fn opens_prompt(&self) -> bool {
        self.before == Neighbour::Edge
    }
}

/// The neighbour of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Neighbour {
    /// Nothing: the prompt begins or ends here.
    Edge,
    Token(TokenId),
}

/// The part of a run between two tokens that are found before normalizing.
pub(crate) struct Chunk<'a> {
    /// The content of the `normalized` token on the left, which is normalized with the text.
    pub(crate) left: &'a str,
    pub(crate) text: &'a str,
    /// The content of the `normalized` token on the right, which is normalized with the text.
    pub(crate) right: &'a str,
    /// Where the text begins in its run.
    pub(crate) offset: usize,
    /// Whether nothing comes before it in the prompt.
    pub(crate) opens_prompt: bool,
}

/// The steps of a tokenizer library for encoding a run.
pub(crate) trait Steps {
    type Normalized<'t>: AsRef<str>;
    type Output;

    /// The normalizer on `left`, `text` and `right` as one string.
    fn normalize<'t>(&self, chunk: &Chunk<'t>) -> Result<Self::Normalized<'t>>;
    /// The pre-tokenizer and the model on a part of the normalized text.
    fn encode(
        &self,
        chunk: &Chunk,
        normalized: &Self::Normalized<'_>,
        part: Range<usize>,
        out: &mut Self::Output,
    ) -> Result<()>;
    /// The bytes of the run that a part of the normalized text comes from; all of the chunk's bytes if the library does
    /// not know.
    fn bytes(&self, chunk: &Chunk, _normalized: &Self::Normalized<'_>, _part: Range<usize>) -> Range<usize> {
        chunk.offset..chunk.offset + chunk.text.len()
    }
    /// An added token found in the run, at these bytes of it.
    fn push(&self, id: TokenId, bytes: Range<usize>, out: &mut Self::Output);
}

/// Encodes a run into `out`. Only the added tokens in `finder` are found in it.
pub(crate) fn encode_run<S: Steps>(steps: &S, reader: Reader<'_>, run: Run<'_>, out: &mut S::Output) -> Result<()> {
    let finder = reader.finder;
    let (before, after) = (reader.normalized(run.before), reader.normalized(run.after));
    let bytes = strip(run.text, reader.token(run.before), reader.token(run.after));
    if bytes.is_empty() && before.is_none() && after.is_none() {
        return Ok(());
    }
    let [before, after] = [before, after].map(|token| token.map_or("", |token| &*token.content));

    let text = &run.text[bytes.clone()];
    let mut chunk = Chunk { left: before, text: "", right: "", offset: bytes.start, opens_prompt: run.opens_prompt() };
    let mut start = 0;
    for (id, found) in finder.find(Form::Raw, text) {
        chunk.text = &text[start..found.start];
        encode_chunk(steps, finder, &chunk, out)?;
        steps.push(id, bytes.start + found.start..bytes.start + found.end, out);
        start = found.end;
        chunk = Chunk { left: "", text: "", right: "", offset: bytes.start + start, opens_prompt: false };
    }
    chunk.text = &text[start..];
    chunk.right = after;
    encode_chunk(steps, finder, &chunk, out)
}

/// The bytes of a run that its neighbours leave.
pub(crate) fn strip(text: &str, before: Option<&AddedToken>, after: Option<&AddedToken>) -> Range<usize> {
    let mut bytes = 0..text.len();
    if before.is_some_and(|token| token.rstrip) {
        bytes.start = text.len() - text.trim_start().len();
    }
    if after.is_some_and(|token| token.lstrip) {
        bytes.end = text.trim_end().len().max(bytes.start);
    }
    bytes
}

fn encode_chunk<S: Steps>(steps: &S, finder: &AddedTokenMatcher, chunk: &Chunk<'_>, out: &mut S::Output) -> Result<()> {
    if chunk.left.is_empty() && chunk.text.is_empty() && chunk.right.is_empty() {
        return Ok(());
    }
    let normalized = steps.normalize(chunk)?;
    let Some(part) = between(steps, normalized.as_ref(), chunk)? else {
        // The normalizer merged a neighbour with the text. The neighbour is still a control token, so the text is read
        // without it.
        let alone = Chunk { left: "", right: "", ..*chunk };
        return encode_chunk(steps, finder, &alone, out);
    };
    if finder.is_empty(Form::Normalized) {
        return steps.encode(chunk, &normalized, part, out);
    }
    let mut start = part.start;
    for (id, found) in finder.find(Form::Normalized, &normalized.as_ref()[part.clone()]) {
        let found = part.start + found.start..part.start + found.end;
        steps.encode(chunk, &normalized, start..found.start, out)?;
        steps.push(id, steps.bytes(chunk, &normalized, found.clone()), out);
        start = found.end;
    }
    steps.encode(chunk, &normalized, start..part.end, out)
}

/// The position of the text in the normalized chunk, without its neighbours.
fn between<S: Steps>(steps: &S, normalized: &str, chunk: &Chunk<'_>) -> Result<Option<Range<usize>>> {
    let mut part = 0..normalized.len();
    if !chunk.left.is_empty() {
        let form = normalized_form(steps, chunk.left)?;
        match [form.as_ref(), chunk.left].into_iter().find(|form| normalized.starts_with(form)) {
            Some(form) => part.start = form.len(),
            None => return Ok(None),
        }
    }
    if !chunk.right.is_empty() {
        let form = normalized_form(steps, chunk.right)?;
        match [form.as_ref(), chunk.right].into_iter().find(|form| normalized[part.clone()].ends_with(form)) {
            Some(form) => part.end -= form.len(),
            None => return Ok(None),
        }
    }
    Ok(Some(part))
}

fn normalized_form<'t, S: Steps>(steps: &S, text: &'t str) -> Result<S::Normalized<'t>> {
    steps.normalize(&Chunk { left: "", text, right: "", offset: 0, opens_prompt: false })
}
