//! What the tokenizer itself puts around a prompt.

use std::iter::repeat_n;

use crate::assemble::assembly::{Assembly, Offsets};
use crate::assemble::{MediaSpan, Span, TokenizedPrompt};
use crate::render::{Element, Part};
use crate::tokenizer::{AddSpecialTokens, TokenId};

impl Assembly<'_> {
    /// How many tokens there are with what the tokenizer itself may put around them.
    pub(super) fn tokens_at_most(&self) -> usize {
        let (prefix, suffix) = self.assembler.tokenizer.special_tokens_around();
        self.ids.len() + prefix.len() + suffix.len()
    }

    /// Adds what the tokenizer itself puts around a prompt.
    pub(super) fn finish(mut self) -> TokenizedPrompt {
        let (prefix, suffix) = self.assembler.tokenizer.special_tokens_around();
        let (mut omitted, mut omitted_end) = (Vec::new(), Vec::new());
        let (before, after) = match self.special_tokens {
            AddSpecialTokens::Never => (0..0, 0..0),
            AddSpecialTokens::Always => (0..prefix.len(), 0..suffix.len()),
            AddSpecialTokens::Auto => {
                let begun =
                    (0..prefix.len()).find(|&from| self.ids.starts_with(&prefix[from..])).unwrap_or(prefix.len());
                omitted.extend_from_slice(&prefix[begun..]);
                if self.assembler.is_open {
                    omitted_end.extend_from_slice(suffix);
                    (0..begun, 0..0)
                } else {
                    let ended = (1..=suffix.len()).rev().find(|&to| self.ids.ends_with(&suffix[..to])).unwrap_or(0);
                    omitted.extend_from_slice(&suffix[..ended]);
                    (0..begun, ended..suffix.len())
                }
            }
        };
        if !after.is_empty() {
            self.ids.extend_from_slice(&suffix[after.clone()]);
            self.extend(special_part(), self.ids.len() - after.len(), after.len());
        }
        let offsets = self.offsets.take().map(|Offsets { mut of_tokens, text }| {
            of_tokens.extend(repeat_n(text..text, after.len()));
            of_tokens
        });
        let Self { ids: input_ids, spans, media, .. } = self;
        let mut prompt =
            TokenizedPrompt { input_ids, spans, media, offsets, omitted, omitted_end, ..TokenizedPrompt::default() };
        prompt.put_before(&prefix[before]);
        prompt
    }
}

impl TokenizedPrompt {
    /// Puts special tokens before it.
    pub(crate) fn put_before(&mut self, special: &[TokenId]) {
        let added = special.len();
        if added == 0 {
            return;
        }
        self.input_ids.splice(0..0, special.iter().copied());
        if let Some(spans) = &mut self.spans {
            for span in spans.iter_mut() {
                *span = Span { start: span.start + added, end: span.end + added, ..*span };
            }
            spans.insert(0, Span { start: 0, end: added, part: special_part() });
        }
        for span in &mut self.media {
            *span = MediaSpan { start: span.start + added, end: span.end + added, ..*span };
        }
        if let Some(offsets) = &mut self.offsets {
            offsets.splice(0..0, repeat_n(0..0, added));
        }
    }
}

/// Where such a token comes from.
fn special_part() -> Part {
    Part { element: Element::SpecialToken, ..Part::default() }
}
