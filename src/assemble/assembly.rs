//! A prompt on its way from segments to token ids. This is the only place where text is encoded.

use std::ops::Range;

use crate::assemble::ahead::is_nothing;
use crate::assemble::beginning::Wanted;
use crate::assemble::cacheable::cacheable;
use crate::assemble::messages_before::Start;
use crate::assemble::own_tokens::OwnTokens;
use crate::assemble::owners::texts;
use crate::assemble::{AssembleScratch, Assembler, Detail, MediaSpan, Span, TokenizedPrompt, seams};
use crate::compile::Atom;
use crate::error::Result;
use crate::render::Segment;
use crate::tokenizer::RunCache;
use crate::tokenizer::{AddSpecialTokens, Neighbour, Run, Scratch, TokenId};

/// Once this many prompts one after the other were too long, the next one probably is, too.
const MANY: u32 = 4;

impl Assembler {
    /// Assembles a prompt, replacing the one in `prompt`.
    pub(crate) fn assemble(
        &self,
        segments: &[Segment<'_>],
        detail: Detail,
        scratch: &mut AssembleScratch,
        prompt: &mut TokenizedPrompt,
    ) -> Result<()> {
        self.assemble_from(Start::default(), segments, detail, scratch, prompt).map(drop)
    }

    /// Assembles a prompt whose first segments are known from the previous prompt. Returns false if the rest does not fit after
    /// them.
    pub(crate) fn assemble_from(
        &self,
        start: Start,
        segments: &[Segment<'_>],
        detail: Detail,
        scratch: &mut AssembleScratch,
        prompt: &mut TokenizedPrompt,
    ) -> Result<bool> {
        self.check_ids(segments)?;
        let mut assembly = Assembly::new(self, start, segments.len(), detail, scratch, prompt);
        let has_spans = assembly.spans.is_some();
        let cut = match self.cuts() {
            true => Some(seams::cut(segments, self.template_cut, &self.tokenizer)?),
            false => None,
        };
        let cut = cut.as_deref().unwrap_or(segments);
        if !assembly.segments(start, cut, scratch)? {
            prompt.input_ids = assembly.ids;
            return Ok(false);
        }
        if let Some(tokens) = detail.spans_beyond {
            let is_longer = assembly.tokens_at_most() > tokens;
            if is_longer && !has_spans && start != Start::default() {
                // Of those before, it is not known where tokens come from.
                prompt.input_ids = assembly.ids;
                return Ok(false);
            }
            scratch.longer_count = if is_longer { scratch.longer_count.saturating_add(1) } else { 0 };
            if is_longer && detail.will_be_shortened {
                match &assembly.run_ends {
                    Some(run_ends) => scratch.last_too_long.set(start, cut, &assembly.ids, run_ends),
                    None => scratch.last_too_long.clear(),
                }
            }
            if is_longer && !has_spans {
                assembly.locate_all(cut, scratch)?;
            }
        }
        let text = detail.text.then(|| {
            let mut text = prompt.text.take().unwrap_or_default().into_bytes();
            text.clear();
            let beginning = &scratch.beginnings[usize::from(detail.is_shortened)];
            beginning.write_text_before(start, &mut text, |token, text| self.write_token(token, text));
            self.write_text(segments, &mut text);
            text
        });
        *prompt = assembly.finish();
        prompt.text = text.map(|text| {
            String::from_utf8(text).unwrap_or_else(|error| {
                // Ids that were given need not be text, and what stands for them has another length.
                prompt.offsets = None;
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            })
        });
        scratch.capacity = prompt.input_ids.len();
        scratch.spans_capacity = prompt.spans.as_ref().map_or(scratch.spans_capacity, Vec::len);
        Ok(true)
    }
}

pub(super) struct Assembly<'p> {
    pub(super) assembler: &'p Assembler,
    pub(super) ids: Vec<TokenId>,
    pub(super) spans: Option<Vec<Span>>,
    /// How many tokens there were after each run, if it is to be known later where they come from.
    pub(super) run_ends: Option<Vec<usize>>,
    /// How many runs there are after the one that is encoded.
    runs_behind: usize,
    pub(super) media: Vec<MediaSpan>,
    pub(super) offsets: Option<Offsets>,
    is_shortened: bool,
    pub(super) special_tokens: AddSpecialTokens,
    /// The neighbour before the run that is being collected.
    before: Neighbour,
}

/// How a prompt begins.
enum AsBefore {
    /// With this many segments of the prompt before.
    Segments(usize),
    /// Ids depend on where text comes from.
    Unknown,
    /// Its segments do not fit after those before.
    Unfit,
}

/// How a run was encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoded {
    /// It was found again.
    Found,
    New,
    /// With reserved tokens, where they matter.
    WithReserved,
}

/// The positions in the text of the tokens so far.
pub(super) struct Offsets {
    pub(super) of_tokens: Vec<Range<usize>>,
    /// The length of the text so far.
    pub(super) text: usize,
}

impl<'p> Assembly<'p> {
    /// Begins a prompt of `segments` segments, in the memory of `prompt`.
    fn new(
        assembler: &'p Assembler,
        start: Start,
        segments: usize,
        detail: Detail,
        scratch: &AssembleScratch,
        prompt: &mut TokenizedPrompt,
    ) -> Self {
        // If all prompts are too long, spans take less at once than later.
        let has_spans = detail.spans || detail.spans_beyond.is_some() && scratch.longer_count >= MANY;
        let has_run_ends = detail.spans_beyond.is_some() && (!has_spans || detail.will_be_shortened);
        let mut ids = std::mem::take(&mut prompt.input_ids);
        ids.clear();
        ids.reserve(scratch.capacity);
        Self {
            assembler,
            ids,
            spans: has_spans.then(|| emptied(prompt.spans.take(), scratch.spans_capacity)),
            run_ends: has_run_ends.then(|| Vec::with_capacity(start.runs + segments)),
            runs_behind: 0,
            media: Vec::new(),
            offsets: detail
                .offsets
                .then(|| Offsets { of_tokens: emptied(prompt.offsets.take(), scratch.capacity), text: 0 }),
            is_shortened: detail.is_shortened,
            special_tokens: match detail.is_string {
                true => assembler.special_tokens_of_strings,
                false => assembler.special_tokens,
            },
            before: Neighbour::Edge,
        }
    }

    /// False if segments do not fit after those of the prompt before.
    fn segments(&mut self, start: Start, segments: &[Segment<'_>], scratch: &mut AssembleScratch) -> Result<bool> {
        let (mut is_known, mut start) = match self.begin_as_before(start, segments, scratch) {
            AsBefore::Unfit => return Ok(false),
            AsBefore::Unknown => (false, 0),
            AsBefore::Segments(common) => (true, common),
        };
        let vocab_size = self.assembler.tokenizer.vocab_size();
        if self.is_shortened {
            // Most of its runs are known from the prompt that was too long.
            scratch.ahead.clear();
            let is_token = |segment: &&Segment<'_>| matches!(segment.atom, Atom::Token(_));
            self.runs_behind = segments[start..].iter().filter(is_token).count();
        } else {
            let AssembleScratch { ahead, cache, tokenizer: buffers, .. } = scratch;
            ahead.encode(self.assembler, self.before, &segments[start..], cache, buffers)?;
        }
        for (i, segment) in segments.iter().enumerate().skip(start) {
            if let Atom::Token(id) = segment.atom {
                if id as usize >= vocab_size {
                    self.assembler.check_id(id, segment.part)?;
                }
                is_known &= self.run(&segments[start..i], Neighbour::Token(id), scratch)?;
                let length = if self.offsets.is_some() { self.assembler.length_in_text(id) } else { 0 };
                self.token(id, segment, length);
                if is_known {
                    let offsets = self.offsets.as_ref().map(|offsets| &*offsets.of_tokens);
                    let beginning = &mut scratch.beginnings[usize::from(self.is_shortened)];
                    beginning.push(&segments[start..=i], id, &self.ids, self.spans.as_deref(), offsets);
                }
                start = i + 1;
            }
        }
        self.run(&segments[start..], Neighbour::Edge, scratch)?;
        Ok(true)
    }

    /// Writes the ids that these segments, and those before them, have in common with the prompt before.
    fn begin_as_before(&mut self, start: Start, segments: &[Segment<'_>], scratch: &mut AssembleScratch) -> AsBefore {
        if self.assembler.own_tokens_merge {
            return if start == Start::default() { AsBefore::Unknown } else { AsBefore::Unfit };
        }
        let wanted = Wanted { spans: self.spans.is_some(), offsets: self.offsets.is_some() };
        let AssembleScratch { beginnings, cache, .. } = scratch;
        let common = beginnings[usize::from(self.is_shortened)].common(segments, start, wanted);
        if !common.fits {
            return AsBefore::Unfit;
        }
        self.ids.extend_from_slice(common.ids);
        if let Some(ends) = &mut self.run_ends {
            ends.extend(common.run_ends());
        }
        if let Some(spans) = &mut self.spans {
            spans.extend_from_slice(common.spans);
        }
        if let Some(Offsets { of_tokens, text }) = &mut self.offsets {
            of_tokens.extend_from_slice(common.offsets);
            *text = common.offsets.last().map_or(0, |last| last.end);
        }
        self.before = common.ids.last().map_or(Neighbour::Edge, |id| Neighbour::Token(*id));
        cache.count_found(common.runs, common.bytes);
        AsBefore::Segments(common.segments)
    }

    /// A token that takes this many bytes of the text.
    #[inline]
    fn token(&mut self, id: TokenId, segment: &Segment<'_>, length: usize) {
        self.ids.push(id);
        self.before = Neighbour::Token(id);
        if self.are_located(std::slice::from_ref(segment)) {
            self.locate_token(segment.part, length);
        }
    }

    /// Encodes the texts between two tokens, or between a token and an end of the prompt, and returns whether they were
    /// found again.
    fn run(&mut self, pieces: &[Segment<'_>], after: Neighbour, scratch: &mut AssembleScratch) -> Result<bool> {
        let is_found = self.encode_run(pieces, None, after, scratch)?;
        self.runs_behind = self.runs_behind.saturating_sub(1);
        if let Some(ends) = &mut self.run_ends {
            ends.push(self.ids.len());
        }
        Ok(is_found)
    }

    /// Encodes a run. `own` lists the template's reserved tokens, if known. Returns whether the run was found again.
    fn encode_run(
        &mut self,
        pieces: &[Segment<'_>],
        own: Option<&OwnTokens>,
        after: Neighbour,
        scratch: &mut AssembleScratch,
    ) -> Result<bool> {
        let assembler = self.assembler;
        let AssembleScratch { text, tokenizer: buffers, cache, last_too_long, ahead, .. } = scratch;
        if is_nothing(pieces, &assembler.tokenizer) {
            return Ok(true);
        }
        let ahead = if own.is_none() { ahead.next() } else { None };
        let text = ahead.as_ref().map_or_else(|| joined(pieces, text), |run| run.text);
        let run = Run { text, before: self.before, after };
        let first = self.ids.len();
        let known = if self.is_shortened { last_too_long.get(self.runs_behind, run) } else { None };
        let encoded = match (known, ahead) {
            (Some(ids), _) => {
                self.ids.extend_from_slice(ids);
                Encoded::Found
            }
            (None, Some(ahead)) => {
                self.ids.extend_from_slice(ahead.ids);
                if ahead.is_found { Encoded::Found } else { self.encoded(first) }
            }
            (None, None) => self.encode(run, buffers, cache)?,
        };
        let found = if own.is_none() { assembler.own_tokens(run, pieces)? } else { None };
        let own = own.or(found.as_ref());
        if let Some(own) = own.filter(|own| !own.is_empty())
            && assembler.is_merged_away(own, run, &self.ids[first..])?
        {
            self.ids.truncate(first);
            self.run_cut(pieces, own, after, scratch)?;
            return Ok(false);
        }
        let offsets = match encoded {
            Encoded::WithReserved => Some(self.write_out(run, pieces, own, first)?),
            Encoded::Found | Encoded::New => None,
        };
        if offsets.is_some() {
            self.run_ends = None;
        }
        self.locate(run, pieces, first..self.ids.len(), offsets, cache)?;
        Ok(encoded == Encoded::Found)
    }

    /// Encodes a run that is cut at the template's own reserved tokens.
    fn run_cut(
        &mut self,
        pieces: &[Segment<'_>],
        own: &OwnTokens,
        after: Neighbour,
        scratch: &mut AssembleScratch,
    ) -> Result<()> {
        self.run_ends = None;
        let texts: Vec<_> = texts(pieces).collect();
        let length = texts.iter().map(|(text, _)| text.len()).sum();
        let mut segments = Vec::new();
        seams::cut_texts(&texts, &own.cuts(length), &mut segments);
        let mut lengths = own.lengths();
        let none_left = OwnTokens::default();
        let mut start = 0;
        for (i, segment) in segments.iter().enumerate() {
            if let Atom::Token(id) = segment.atom {
                self.encode_run(&segments[start..i], Some(&none_left), Neighbour::Token(id), scratch)?;
                self.token(id, segment, lengths.next().unwrap_or_default());
                start = i + 1;
            }
        }
        self.encode_run(&segments[start..], Some(&none_left), after, scratch)?;
        Ok(())
    }

    /// Appends the ids of a run.
    fn encode(&mut self, run: Run<'_>, buffers: &mut Scratch, cache: &mut RunCache) -> Result<Encoded> {
        let assembler = self.assembler;
        let first = self.ids.len();
        let place = match cacheable(&assembler.tokenizer, run).map(|key| (key, cache.get(key, run.opens_prompt()))) {
            Some((_, Ok(ids))) => {
                self.ids.extend_from_slice(ids);
                return Ok(Encoded::Found);
            }
            Some((key, Err(Some(place)))) => Some((key, place)),
            _ => None,
        };
        assembler.tokenizer.encode_run(assembler.finder(), run, buffers, &mut self.ids)?;
        let encoded = self.encoded(first);
        if let Some((key, place)) = place.filter(|_| encoded == Encoded::New) {
            cache.put(place, key, run.opens_prompt(), &self.ids[first..]);
        }
        Ok(encoded)
    }

    /// How a run was encoded that was not found again, of which this is the first token.
    fn encoded(&self, first: usize) -> Encoded {
        if self.assembler.is_clean(&self.ids[first..]) { Encoded::New } else { Encoded::WithReserved }
    }
}

/// A list without anything in it, in the memory of this one if there is one.
fn emptied<T>(list: Option<Vec<T>>, capacity: usize) -> Vec<T> {
    let mut list = list.unwrap_or_default();
    list.clear();
    list.reserve(capacity);
    list
}

/// The text of a run, in this memory if it has more than one piece.
pub(super) fn joined<'t>(pieces: &[Segment<'t>], text: &'t mut String) -> &'t str {
    if let [Segment { atom: Atom::Text(text), .. }] = pieces {
        return text;
    }
    text.clear();
    texts(pieces).for_each(|(piece, _)| text.push_str(piece));
    text
}
