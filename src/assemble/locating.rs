//! Where the tokens of a run come from: the piece that each belongs to, and its bytes.

use std::ops::Range;

use crate::assemble::assembly::{Assembly, Offsets, joined};
use crate::assemble::cacheable::cacheable;
use crate::assemble::owners::{Owners, texts};
use crate::assemble::split_runs::{SplitRun, split_runs};
use crate::assemble::{AssembleScratch, MediaSpan, Span};
use crate::compile::Atom;
use crate::error::Result;
use crate::render::{Element, Part, Segment};
use crate::tokenizer::{Run, RunCache, Spelled};

impl Assembly<'_> {
    /// Whether the places of the tokens of these segments are wanted.
    pub(super) fn are_located(&self, segments: &[Segment<'_>]) -> bool {
        self.spans.is_some()
            || self.offsets.is_some()
            || segments.iter().any(|segment| segment.part.element == Element::Media)
    }

    /// Records where a token comes from that takes this many bytes of the text.
    pub(super) fn locate_token(&mut self, part: Part, length: usize) {
        self.extend(part, self.ids.len() - 1, 1);
        if let Some(Offsets { of_tokens, text }) = &mut self.offsets {
            let start = *text;
            *text += length;
            of_tokens.push(start..*text);
        }
    }

    /// Records where all tokens come from, now that they are there, if that can be known.
    pub(super) fn locate_all(&mut self, segments: &[Segment<'_>], scratch: &mut AssembleScratch) -> Result<()> {
        let Some(run_ends) = self.run_ends.take() else { return Ok(()) };
        // Media are located.
        let media = std::mem::take(&mut self.media);
        self.spans = Some(Vec::with_capacity(segments.len() + 2));
        let mut tokens = segments.iter().filter(|segment| matches!(segment.atom, Atom::Token(_)));
        for SplitRun { pieces, before, after, ids } in split_runs(segments, &run_ends) {
            let AssembleScratch { text, cache, .. } = &mut *scratch;
            let run = Run { text: joined(pieces, text), before, after };
            let end = ids.end;
            self.locate(run, pieces, ids, None, cache)?;
            if let Some(token) = tokens.next() {
                self.extend(token.part, end, 1);
            }
        }
        self.media = media;
        Ok(())
    }

    /// Records where the tokens of a run come from, if that is wanted. Their bytes may be known.
    pub(super) fn locate(
        &mut self,
        run: Run<'_>,
        pieces: &[Segment<'_>],
        tokens: Range<usize>,
        known: Option<Vec<Range<usize>>>,
        cache: &mut RunCache,
    ) -> Result<()> {
        if !tokens.is_empty() && self.are_located(pieces) {
            let needs_bytes = self.offsets.is_some();
            let have_one_part = |part: Part| pieces.iter().all(|piece| piece.part == part);
            match pieces.first().filter(|first| have_one_part(first.part)) {
                Some(piece) if !needs_bytes => self.extend(piece.part, tokens.start, tokens.len()),
                _ => match if known.is_none() { self.spelled(run, &tokens, cache) } else { Spelled::Otherwise } {
                    Spelled::Otherwise => self.locate_each(run, pieces, tokens, known)?,
                    spelled => self.locate_spelled(run, pieces, tokens, spelled),
                },
            }
        }
        if let Some(offsets) = &mut self.offsets {
            offsets.text += run.text.len();
        }
        Ok(())
    }

    /// How the tokens of a run are its text.
    fn spelled(&self, run: Run<'_>, tokens: &Range<usize>, cache: &mut RunCache) -> Spelled {
        let tokenizer = &self.assembler.tokenizer;
        match cacheable(tokenizer, run) {
            Some(text) if !text.is_empty() && tokenizer.keeps_bytes(text) => {
                debug_assert_eq!(tokenizer.spelled(text, &self.ids[tokens.clone()]), Spelled::Exactly, "{text:?}");
                Spelled::Exactly
            }
            Some(text) if !text.is_empty() => {
                let ids = &self.ids[tokens.clone()];
                cache.spelled(text, run.opens_prompt(), || tokenizer.spelled(text, ids))
            }
            _ => Spelled::Otherwise,
        }
    }

    /// Records how many tokens each piece has, and the bytes of each token.
    fn locate_spelled(&mut self, run: Run<'_>, pieces: &[Segment<'_>], tokens: Range<usize>, spelled: Spelled) {
        if let Some(Offsets { of_tokens, text }) = &mut self.offsets {
            self.assembler.tokenizer.spelled_offsets(run, spelled, &self.ids[tokens.clone()], *text, of_tokens);
        }
        let mut end = 0;
        let ends = texts(pieces).map(|(text, _)| {
            end += text.len();
            end
        });
        let mut ends: Vec<usize> = ends.collect();
        self.assembler.tokenizer.tokens_until(run, spelled, &self.ids[tokens.clone()], &mut ends);
        // What comes after the last byte is the last piece's.
        if let Some(last) = ends.last_mut() {
            *last = tokens.len();
        }
        let mut start = 0;
        for ((_, part), end) in texts(pieces).zip(ends) {
            self.extend(part, tokens.start + start, end - start);
            start = end;
        }
    }

    /// Records the place of each token.
    fn locate_each(
        &mut self,
        run: Run<'_>,
        pieces: &[Segment<'_>],
        tokens: Range<usize>,
        known: Option<Vec<Range<usize>>>,
    ) -> Result<()> {
        let assembler = self.assembler;
        let offsets = match known {
            Some(offsets) => offsets,
            None => assembler.tokenizer.offsets(assembler.finder(), run, &self.ids[tokens.clone()])?,
        };
        let owners = Owners::new(pieces);
        if let Some(Offsets { of_tokens, text }) = &mut self.offsets {
            of_tokens.extend(offsets.iter().map(|bytes| *text + bytes.start..*text + bytes.end));
        }
        let mut at = tokens.start;
        for same in offsets.chunk_by(|a, b| owners.of(a) == owners.of(b)) {
            self.extend(owners.of(&same[0]), at, same.len());
            at += same.len();
        }
        Ok(())
    }

    /// Records that this many tokens from the first one on come from a piece.
    pub(super) fn extend(&mut self, part: Part, first: usize, count: usize) {
        if count == 0 {
            return;
        }
        if part.element == Element::Media {
            self.extend_media(part, first, count);
        }
        let Some(spans) = &mut self.spans else { return };
        match spans.last_mut() {
            Some(last) if last.part == part => last.end += count,
            last => {
                let start = last.map_or(0, |last| last.end);
                spans.push(Span { start, end: start + count, part });
            }
        }
    }

    /// Records that tokens belong to the placeholder of an image, audio or video.
    fn extend_media(&mut self, part: Part, first: usize, count: usize) {
        let (Some(message), Some(content_part)) = (part.message, part.content_part) else { return };
        let (message, content_part) = (message as usize, content_part as usize);
        match self.media.last_mut() {
            Some(last) if (last.message, last.content_part, last.end) == (message, content_part, first) => {
                last.end += count;
            }
            _ => self.media.push(MediaSpan { message, content_part, start: first, end: first + count }),
        }
    }
}
