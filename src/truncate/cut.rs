//! The tokens of the content that are cut from a prompt, and the prompt without them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::assemble::{MediaSpan, Span, TokenizedPrompt};
use crate::builder::PromptBuilder;
use crate::render::Element;
use crate::truncate::Truncation;

/// Dropped tokens of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutTokens {
    /// The position of the message.
    pub message: usize,
    /// How many.
    pub tokens: usize,
}

/// Tokens that are cut: ranges in order, each with how many are cut before it.
pub(super) struct Cut(Vec<(Range<usize>, usize)>);

impl Cut {
    /// Chooses `excess` tokens, and with them the rest of characters that they have a part of; none if the content is
    /// not enough.
    pub(super) fn choose(
        builder: &PromptBuilder,
        prompt: &TokenizedPrompt,
        excess: usize,
        truncation: Truncation,
    ) -> Option<Self> {
        let ids = &prompt.input_ids;
        let mut said = Self(Vec::new());
        for Span { start, end, .. } in prompt.spans.iter().flatten().filter(|span| may_go(span)) {
            let mut from = *start;
            if builder.has_reserved(&ids[*start..*end]) {
                for at in (*start..*end).filter(|at| builder.is_reserved(ids[*at])) {
                    said.push(from..at);
                    from = at + 1;
                }
            }
            said.push(from..*end);
        }
        let kept = said.count().checked_sub(excess)?;
        let (mut start, mut end) = match truncation {
            Truncation::Left => (0, excess),
            Truncation::Right => (kept, said.count()),
            _ => (kept / 2, kept / 2 + excess),
        };
        // No half of a character is left on either side.
        let is_rest = |number: usize| {
            let bytes = said.get(number).and_then(|at| builder.tokenizer().token_bytes(ids[at])).unwrap_or_default();
            bytes.first().is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000)
        };
        while end < said.count() && is_rest(end) {
            end += 1;
        }
        while start > 0 && start < said.count() && is_rest(start) {
            start -= 1;
        }
        Some(said.part(start..end))
    }

    fn push(&mut self, tokens: Range<usize>) {
        if !tokens.is_empty() {
            self.0.push((tokens, self.count()));
        }
    }

    fn count(&self) -> usize {
        self.0.last().map_or(0, |(last, before)| before + last.len())
    }

    /// The position of the token with this number among them.
    fn get(&self, number: usize) -> Option<usize> {
        let next = self.0.partition_point(|(_, before)| *before <= number);
        let (range, before) = self.0.get(next.checked_sub(1)?)?;
        Some(range.start + (number - before)).filter(|at| range.contains(at))
    }

    /// Those with these numbers.
    fn part(&self, numbers: Range<usize>) -> Self {
        let mut part = Self(Vec::new());
        for (range, before) in &self.0 {
            let within = |number: usize| range.start + number.clamp(*before, before + range.len()) - before;
            part.push(within(numbers.start)..within(numbers.end));
        }
        part
    }

    /// How many are cut before this token.
    fn before(&self, at: usize) -> usize {
        let next = self.0.partition_point(|(range, _)| range.start < at);
        match next.checked_sub(1).and_then(|last| self.0.get(last)) {
            Some((range, before)) => before + at.min(range.end) - range.start,
            None => 0,
        }
    }

    /// How many tokens each message loses.
    pub(super) fn by_message(&self, prompt: &TokenizedPrompt) -> Vec<CutTokens> {
        let mut all: Vec<CutTokens> = Vec::new();
        for span in prompt.spans.iter().flatten() {
            let tokens = self.before(span.end) - self.before(span.start);
            let Some(message) = span.part.message.map(|message| message as usize) else { continue };
            match all.last_mut().filter(|last| last.message == message) {
                Some(last) => last.tokens += tokens,
                None if tokens > 0 => all.push(CutTokens { message, tokens }),
                None => {}
            }
        }
        all
    }

    /// The text of the prompt without theirs. If it is unknown which text is whose, it is what the other tokens spell.
    pub(super) fn text_left(&self, builder: &PromptBuilder, prompt: &TokenizedPrompt) -> String {
        match (&prompt.text, &prompt.offsets) {
            (Some(text), Some(offsets)) => self.without_bytes(text, offsets),
            _ => self.spelled_by_others(builder, prompt),
        }
    }

    fn without_bytes(&self, text: &str, offsets: &[Range<usize>]) -> String {
        let has_bytes = |bytes: &&Range<usize>| !bytes.is_empty();
        let (mut left, mut kept_from) = (String::with_capacity(text.len()), 0);
        for (gone, _) in &self.0 {
            // What no token has, such as an accent that was composed with its letter, goes with the token before it.
            let end_before = offsets[..gone.start].iter().rfind(has_bytes).map_or(0, |bytes| bytes.end);
            let start_after = offsets[gone.end..].iter().find(has_bytes).map_or(text.len(), |bytes| bytes.start);
            let start = offsets[gone.start].start.max(end_before);
            left.push_str(text.get(kept_from..start).unwrap_or_default());
            kept_from = start_after.max(start);
        }
        left.push_str(text.get(kept_from..).unwrap_or_default());
        left
    }

    fn spelled_by_others(&self, builder: &PromptBuilder, prompt: &TokenizedPrompt) -> String {
        let mut bytes = Vec::new();
        let written = prompt.spans.iter().flatten().filter(|span| span.part.element != Element::SpecialToken);
        for at in written.flat_map(|span| span.start..span.end) {
            if self.before(at) == self.before(at + 1) {
                bytes.extend_from_slice(&builder.tokenizer().bytes_in_text(prompt.input_ids[at]).unwrap_or_default());
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The prompt without them.
    pub(super) fn without(&self, prompt: TokenizedPrompt) -> TokenizedPrompt {
        let mut input_ids = Vec::with_capacity(prompt.input_ids.len() - self.count());
        let mut start = 0;
        for (gone, _) in &self.0 {
            input_ids.extend_from_slice(&prompt.input_ids[start..gone.start]);
            start = gone.end;
        }
        input_ids.extend_from_slice(&prompt.input_ids[start..]);
        let moved = |at: usize| at - self.before(at);
        let spans = prompt.spans.map(|spans| {
            let spans = spans.into_iter().map(|span| Span { start: moved(span.start), end: moved(span.end), ..span });
            spans.filter(|span| span.start < span.end).collect()
        });
        let media = prompt.media.into_iter();
        let media = media.map(|span| MediaSpan { start: moved(span.start), end: moved(span.end), ..span }).collect();
        TokenizedPrompt { input_ids, spans, media, offsets: None, text: None, ..prompt }
    }
}

/// Whether tokens with this origin may be cut: those of a message, not of tools or of the template's own system prompt.
fn may_go(span: &Span) -> bool {
    span.part.message.is_some() && matches!(span.part.element, Element::Content | Element::DefaultPrompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(ranges: &[Range<usize>]) -> Cut {
        let mut cut = Cut(Vec::new());
        ranges.iter().for_each(|range| cut.push(range.clone()));
        cut
    }

    #[test]
    fn numbers_and_positions() {
        let said = cut(&[2..5, 5..5, 7..8, 10..14]);
        let positions: Vec<usize> = (0..said.count()).filter_map(|number| said.get(number)).collect();
        assert_eq!(positions, [2, 3, 4, 7, 10, 11, 12, 13]);
        assert_eq!(said.get(said.count()), None);
        for (start, end) in (0..=8).flat_map(|start| (start..=8).map(move |end| (start, end))) {
            let part = said.part(start..end);
            let left: Vec<usize> = (0..part.count()).filter_map(|number| part.get(number)).collect();
            assert_eq!(left, positions[start..end]);
            for at in 0..16 {
                assert_eq!(part.before(at), left.iter().filter(|gone| **gone < at).count(), "{left:?}, {at}");
            }
        }
        assert_eq!(cut(&[]).before(3), 0);
    }

    #[test]
    fn the_text_of_what_is_left() {
        // The tokenizer's own tokens have no bytes, three tokens share the octopus, and no token has the accent.
        let text = "ab 🐙 e\u{301} z";
        let offsets = [0..0, 0..2, 2..3, 3..7, 3..7, 3..7, 7..9, 11..13, 0..0];
        let left = |ranges: &[Range<usize>]| cut(ranges).without_bytes(text, &offsets);
        assert_eq!(left(&[]), text);
        assert_eq!(left(std::slice::from_ref(&(1..2))), " 🐙 e\u{301} z");
        assert_eq!(left(std::slice::from_ref(&(3..6))), "ab  e\u{301} z");
        assert_eq!(left(std::slice::from_ref(&(6..7))), "ab 🐙 z");
        assert_eq!(left(std::slice::from_ref(&(7..8))), "ab 🐙 e\u{301}");
        assert_eq!(left(&[1..3, 6..8]), "🐙");
        // Of a character that is kept in part, all is.
        assert_eq!(left(&[2..4, 6..8]), "ab🐙");
    }
}
