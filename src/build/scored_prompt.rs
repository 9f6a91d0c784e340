//! Texts to score, with the ids that are scored.

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::{PromptBuilder, Session};
use crate::conversation::Conversation;
use crate::dataset::ScoredText;
use crate::error::Result;
use crate::render::Element;

impl PromptBuilder {
    /// Builds a text to score, with its labels: the ids that are scored, and -100 for all others.
    ///
    /// ```
    /// use metatok::dataset::records::Record;
    /// use metatok::{BuilderOptions, Mode, Model, PromptBuilder, Tokenizer};
    ///
    /// let options = BuilderOptions { mode: Mode::Score, ..BuilderOptions::default() };
    /// let builder = PromptBuilder::new(&Model::load("demo")?, Tokenizer::demo()?.into(), &options)?;
    /// let record = Record::parse(r#"{"prompt": "The red planet is", "completion": " Mars."}"#)?;
    /// let (conversation, scored) = record.into_conversation(Mode::Score)?;
    /// let (prompt, labels) = builder.build_scored(&conversation, &scored)?;
    /// let scored: Vec<u32> = labels.into_iter().flatten().filter_map(|label| label.try_into().ok()).collect();
    /// assert_eq!(builder.tokenizer().decode(&scored, false)?, " Mars.");
    /// assert!(prompt.input_ids.ends_with(&scored));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::build`]; if nothing is scored.
    pub fn build_scored(
        &self,
        conversation: &Conversation,
        scored: &ScoredText,
    ) -> Result<(TokenizedPrompt, Option<Vec<i64>>)> {
        let conversation = &*self.prepared(conversation)?;
        let (own, mut session) = (self.detail(), self.of_prepared().session());
        let mut prompt = session.build_with(conversation, detail_for(own, scored))?;
        begin_without_context(&mut prompt, conversation, scored, self)?;
        let labels = labels_of(&prompt, conversation, scored, &session)?;
        let TokenizedPrompt { text, spans, offsets, .. } = prompt;
        let text = text.filter(|_| own.text);
        let (spans, offsets) = (spans.filter(|_| own.spans), offsets.filter(|_| own.offsets));
        Ok((TokenizedPrompt { text, spans, offsets, ..prompt }, labels))
    }
}

/// What must be recorded of a prompt so that its labels are known.
pub(super) fn detail_for(detail: Detail, scored: &ScoredText) -> Detail {
    match scored {
        ScoredText::After(_) => Detail { offsets: true, text: true, ..detail },
        ScoredText::Last(_) => Detail { offsets: true, text: true, spans: true, ..detail },
        ScoredText::Whole | ScoredText::Continuation(_) | ScoredText::Messages(_) => detail,
    }
}

/// Puts a context before a text that has none, so that the text's first token has a likelihood: the tokenizer's BOS, or else
/// its eos, as in lm-evaluation-harness.
pub(super) fn begin_without_context(
    prompt: &mut TokenizedPrompt,
    conversation: &Conversation,
    scored: &ScoredText,
    builder: &PromptBuilder,
) -> Result<()> {
    let (Conversation::Text(text), ScoredText::Continuation(bytes)) = (conversation, scored) else { return Ok(()) };
    let context = text.len().checked_sub(*bytes).and_then(|end| text.get(..end)).unwrap_or_default();
    if !context.trim().is_empty() || builder.context_tokens(conversation, *bytes)? > 0 {
        return Ok(());
    }
    let special = builder.tokenizer().special_token_ids();
    if let Some(id) = special.bos.or(special.eos).filter(|id| prompt.input_ids.first() != Some(id)) {
        prompt.put_before(&[id]);
    }
    Ok(())
}

/// The ids of the scored tokens.
pub(super) fn labels_of(
    prompt: &TokenizedPrompt,
    conversation: &Conversation,
    scored: &ScoredText,
    session: &Session,
) -> Result<Option<Vec<i64>>> {
    if let ScoredText::Continuation(bytes) = scored {
        // The first token never has a likelihood.
        let context = session.builder().context_tokens(conversation, *bytes)?.max(1);
        return prompt.labels_after_context(context).map(Some);
    }
    if let ScoredText::Messages(count) = scored {
        let before = session.builder().tokens_before(conversation, *count, &prompt.input_ids)?;
        return prompt.labels_after_context(before).map(Some);
    }
    let text = prompt.text.as_deref().unwrap_or_default();
    // What the template writes after it may have the same text.
    let end = if let ScoredText::Last(_) = scored { end_of_content(prompt) } else { None };
    Ok(prompt.labels(scored.bytes(end.and_then(|end| text.get(..end)).unwrap_or(text))?))
}

/// How many bytes of the text there are up to the end of its last content.
fn end_of_content(prompt: &TokenizedPrompt) -> Option<usize> {
    let last = prompt.spans.as_ref()?.iter().rfind(|span| span.part.element == Element::Content)?;
    prompt.offsets.as_ref()?.get(last.end.checked_sub(1)?).map(|token| token.end)
}
