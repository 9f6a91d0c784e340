//! A built prompt: its ids, and their origins.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, Result};
use crate::render::Part;
use crate::tokenizer::TokenId;

/// A prompt for an engine: its token ids, and what was recorded of them. Spans count tokens, offsets count bytes of UTF-8.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenizedPrompt {
    /// The token ids.
    pub input_ids: Vec<TokenId>,
    /// Where each token comes from, if requested: adjacent, in order, covering all of `input_ids`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<Vec<Span>>,
    /// The tokens of the conversation's images, audio and video, in the prompt's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MediaSpan>,
    /// The bytes of each token in the prompt's text, if requested; none for tokens that the tokenizer adds by itself. No offsets
    /// if ids of the conversation are not whole characters, so that `text` has replacement characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<Range<usize>>>,
    /// The prompt as one string, without what the tokenizer adds by itself, if requested. If the prompt was cut, the text
    /// of the dropped tokens is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The special tokens that the tokenizer would have added but the prompt already has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<TokenId>,
    /// The special tokens that the tokenizer would have added after the prompt, which is to be continued.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted_end: Vec<TokenId>,
    /// Whether the conversation's last message is an answer that was left out because the model generates it. See
    /// [`BuilderOptions::continue_final_message`](crate::BuilderOptions::continue_final_message).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answer_omitted: bool,
    /// Whether the conversation has an image, audio or video: also where a chat template writes its own tokens for it, or none,
    /// so that it is not among `media`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_media: bool,
}

/// The tokens of an image, audio or video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaSpan {
    /// The position of the message in its conversation.
    pub message: usize,
    /// The position of the part in the message's content, see [`crate::Conversation::media_at`].
    pub content_part: usize,
    /// The first token.
    pub start: usize,
    /// One past the last token.
    pub end: usize,
}

/// The label of a token that is not scored: the index that loss functions ignore.
pub const IGNORE_INDEX: i64 = -100;

/// Adjacent tokens with one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first token.
    pub start: usize,
    /// One past the last token.
    pub end: usize,
    /// Where they come from. A token made of several pieces belongs to the piece with its last byte.
    #[serde(flatten)]
    pub part: Part,
}

impl TokenizedPrompt {
    /// The attention mask of a single prompt: one for every token.
    pub fn attention_mask(&self) -> Vec<u8> {
        vec![1; self.input_ids.len()]
    }

    /// The ids of the scored tokens, and [`IGNORE_INDEX`] for all others: the labels of a causal model, which shifts
    /// them itself. `scored` is a range of bytes of the text. A token belongs to its last byte, and the tokenizer's own
    /// tokens are context. Without a range, everything is scored. None if there is a range but offsets were not
    /// requested.
    ///
    /// ```
    /// use metatok::dataset::prompter::ScoredText;
    /// use metatok::{BuilderOptions, Conversation, Model, PromptBuilder, Tokenizer};
    ///
    /// let options = BuilderOptions { offsets: true, ..BuilderOptions::default() };
    /// let builder = PromptBuilder::new(&Model::default(), Tokenizer::demo()?.into(), &options)?;
    /// let text = "Which planet is red? Mars";
    /// let prompt = builder.build(&Conversation::Text(text.into()))?;
    /// let labels = prompt.labels(ScoredText::Last(" Mars".into()).bytes(text)?).expect("offsets were asked for");
    /// let scored: Vec<u32> = labels.iter().filter_map(|&label| label.try_into().ok()).collect();
    /// assert_eq!(builder.tokenizer().decode(&scored, false)?, " Mars");
    /// assert_eq!(labels.len(), prompt.input_ids.len());
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn labels(&self, scored: Option<Range<usize>>) -> Option<Vec<i64>> {
        let Some(scored) = scored else { return Some(self.input_ids.iter().map(|&id| id.into()).collect()) };
        let label = |(&id, token): (&TokenId, &Range<usize>)| {
            let is_scored = token.start < token.end && scored.contains(&(token.end - 1));
            if is_scored { id.into() } else { IGNORE_INDEX }
        };
        Some(self.input_ids.iter().zip(self.offsets.as_ref()?).map(label).collect())
    }

    /// The labels if all tokens are scored except this many at the beginning, which are the context; see
    /// [`PromptBuilder::context_tokens`](crate::PromptBuilder::context_tokens).
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] if nothing is left to score.
    pub fn labels_after_context(&self, context_tokens: usize) -> Result<Vec<i64>> {
        if context_tokens >= self.input_ids.len() {
            let what = "nothing is scored: the text has no more tokens with the answer than without it, because one token covers the boundary";
            return Err(ErrorKind::Conversation(what.into())
                .with_way_out("put a space or a line end between context and answer"));
        }
        let label = |(place, &id): (usize, &TokenId)| if place < context_tokens { IGNORE_INDEX } else { id.into() };
        Ok(self.input_ids.iter().enumerate().map(label).collect())
    }

    /// A mask with one for every token whose origin matches; none if spans were not requested.
    ///
    /// ```
    /// # let builder = metatok::PromptBuilder::demo()?.spans(true);
    /// let prompt = builder.build(&metatok::Conversation::Messages(vec![metatok::ChatMessage::new("user", "Hi!")]))?;
    /// let content = prompt.mask(|part| part.is_content()).expect("spans were asked for");
    /// assert_eq!(content.len(), prompt.input_ids.len());
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn mask(&self, is: impl Fn(&Part) -> bool) -> Option<Vec<u8>> {
        let spans = self.spans.as_deref()?;
        Some(
            spans
                .iter()
                .flat_map(|span| std::iter::repeat_n(u8::from(is(&span.part)), span.end - span.start))
                .collect(),
        )
    }
}
