//! Prompts within a budget of tokens, and what was dropped for it.
//!
//! ```
//! use metatok::truncate::Truncation;
//! use metatok::{ContextBudget, Conversation, PromptBuilder};
//!
//! let budget = ContextBudget::new(6, 2).truncation(Truncation::Left);
//! let fitted = PromptBuilder::demo()?.build_within(&Conversation::Text("Which planet is red?".into()), &budget)?;
//! assert_eq!(fitted.prompt.input_ids.len(), 4);
//! assert!(fitted.truncated.is_some());
//! # Ok::<(), metatok::Error>(())
//! ```
//!
//! Only the content of the conversation is ever cut, as ids: control tokens, the template's own words, the tokenizer's
//! own tokens, the generation prompt and placeholders of images stay whole.

mod budget;
mod by_estimate;
mod cut;
mod numbers;
mod truncation;
mod turn_side;
mod units;

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::{PromptBuilder, Session};
use crate::conversation::{Conversation, Mode};
use crate::error::{ErrorKind, Result, Setting, way_out};
use crate::fewest_dropped::Left;
pub use budget::ContextBudget;
use by_estimate::fewest_dropped_by_estimate;
use cut::Cut;
pub use cut::CutTokens;
use numbers::Numbers;
pub use truncation::Truncation;
use units::{estimates, examples_among, units, without_items};

/// A prompt that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fitted {
    /// The prompt. Its spans and media number messages and examples as the whole conversation does.
    pub prompt: TokenizedPrompt,
    /// What was dropped; none if it fitted unchanged.
    pub truncated: Option<Truncated>,
    /// What a chat wrapper made of the rest, if whole messages were dropped. Then spans and media number its messages.
    pub conversation: Option<Conversation>,
}

/// What was dropped from a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncated {
    /// How many tokens it had.
    pub from: usize,
    /// How many it has.
    pub to: usize,
    /// The dropped tokens, message by message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<CutTokens>,
    /// The messages, or items of a prompt list, that were dropped entirely, by their positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<usize>,
}

/// A conversation and what of it can be dropped, in this order.
struct Droppable<'c> {
    conversation: &'c Conversation,
    /// The positions of messages or items that go together.
    units: Vec<Vec<usize>>,
    /// How many tokens each unit probably has, if that is known.
    estimates: Vec<usize>,
}

impl Fitted {
    /// A prompt of which nothing was dropped.
    pub(crate) fn whole(prompt: TokenizedPrompt) -> Self {
        Self { prompt, truncated: None, conversation: None }
    }

    /// This prompt with the numbers of the whole conversation, unless a chat wrapper made others.
    fn numbered_as(mut self, whole: &Conversation) -> Self {
        if let (Some(truncated), None) = (&self.truncated, &self.conversation) {
            let messages = Numbers::without(&truncated.messages);
            let examples = Numbers::without(&examples_among(&truncated.messages, whole));
            for part in self.prompt.spans.iter_mut().flatten().map(|span| &mut span.part) {
                part.message = part.message.map(|message| messages.among_all(message as usize) as u32);
                part.example = part.example.map(|example| examples.among_all(example as usize) as u32);
            }
            self.prompt.media.iter_mut().for_each(|media| media.message = messages.among_all(media.message));
        }
        self
    }
}

impl PromptBuilder {
    /// Builds a prompt that leaves room for its answer, and reports what was dropped.
    ///
    /// ```
    /// use metatok::truncate::Truncation;
    /// use metatok::{ChatMessage, ContextBudget, Conversation, PromptBuilder};
    ///
    /// let turns = [("user", "1+1=?"), ("assistant", "2"), ("user", "And 1 more?")];
    /// let turns = turns.map(|(role, content)| ChatMessage::new(role, content)).to_vec();
    /// let budget = ContextBudget { max_seq_len: 24, max_out_len: 4, truncation: Truncation::OldestTurns };
    /// let fitted = PromptBuilder::demo()?.build_within(&Conversation::Messages(turns), &budget)?;
    /// assert!(fitted.prompt.input_ids.len() <= 20);
    /// assert_eq!(fitted.truncated.map(|truncated| truncated.messages), Some(vec![0, 1]));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::build`], [`ErrorKind::TooLong`] if nothing more can be dropped, and [`ErrorKind::Usage`] for
    /// texts to score, which are never truncated.
    pub fn build_within(&self, conversation: &Conversation, budget: &ContextBudget) -> Result<Fitted> {
        self.fit(conversation, &*self.prepared(conversation)?, &[], budget)
    }

    /// [`Self::build_within`], for a conversation that is also [`Self::prepared`], and the messages of each of its examples,
    /// which a prompt list marks itself.
    pub(crate) fn fit(
        &self,
        conversation: &Conversation,
        prepared: &Conversation,
        examples: &[Range<usize>],
        budget: &ContextBudget,
    ) -> Result<Fitted> {
        Ok(self.fit_rest(conversation, prepared, examples, budget)?.numbered_as(conversation))
    }

    /// [`Self::fit`], but spans and media number the rest that is kept. Examples and turns are dropped before a conversation
    /// is prepared, because afterwards they may no longer be told apart.
    pub(crate) fn fit_rest(
        &self,
        conversation: &Conversation,
        prepared: &Conversation,
        examples: &[Range<usize>],
        budget: &ContextBudget,
    ) -> Result<Fitted> {
        if self.mode() == Mode::Score && budget.truncation != Truncation::Refuse {
            let what = "a text to score is never truncated, because the scored part would be lost";
            let way_out = way_out!["reject long texts with ", Setting::TRUNCATE.set_to("refuse")];
            return Err(ErrorKind::Usage(what.into()).with_way_out(way_out));
        }
        let mut session = self.of_prepared().session();
        let limit = budget.limit();
        // Chat templates render twice for spans, which prompts that fit need not.
        let asks_origins = budget.truncation != Truncation::Refuse && !self.writes_all_keys();
        let spans_beyond = asks_origins.then_some(limit);
        let will_be_shortened = asks_origins && !budget.truncation.cuts_tokens();
        let detail = Detail { spans_beyond, will_be_shortened, ..self.detail() };
        let mut prompt = session.build_with(prepared, detail)?;
        let from = prompt.input_ids.len();
        if from <= limit {
            if !self.detail().spans {
                prompt.spans = None;
            }
            return Ok(Fitted::whole(prompt));
        }
        if budget.truncation == Truncation::Refuse {
            return Err(budget.too_long(from));
        }
        let cuts_text = budget.truncation.cuts_tokens() && self.detail().text;
        let prompt = match prompt.spans {
            Some(_) if !cuts_text || prompt.offsets.is_some() => prompt,
            _ => {
                let detail = Detail { spans: true, offsets: cuts_text, text: cuts_text, ..Detail::default() };
                session.build_with(prepared, detail)?
            }
        };
        if budget.truncation.cuts_tokens() {
            return self.cut(prompt, budget);
        }
        let units = units(conversation, examples, budget.truncation, self);
        let is_as_counted = std::ptr::eq(conversation, prepared);
        let estimates = if is_as_counted { estimates(&units, &prompt) } else { Vec::new() };
        let droppable = Droppable { conversation, units, estimates };
        self.build_dropping(&droppable, budget, prompt, &mut session)
    }

    /// The prompt without the tokens that exceed the budget.
    fn cut(&self, prompt: TokenizedPrompt, budget: &ContextBudget) -> Result<Fitted> {
        let from = prompt.input_ids.len();
        let cut = Cut::choose(self, &prompt, from - budget.limit(), budget.truncation);
        let cut = cut.ok_or_else(|| budget.too_long(from))?;
        let tokens = cut.by_message(&prompt);
        let text = self.detail().text.then(|| cut.text_left(self, &prompt));
        let mut prompt = TokenizedPrompt { text, ..cut.without(prompt) };
        self.check_not_empty(&prompt)?;
        if !self.detail().spans {
            prompt.spans = None;
        }
        let to = prompt.input_ids.len();
        let truncated = Some(Truncated { from, to, tokens, messages: Vec::new() });
        Ok(Fitted { prompt, truncated, conversation: None })
    }

    /// The prompt of the longest conversation that fits after whole units are dropped, in place of the whole prompt.
    fn build_dropping(
        &self,
        droppable: &Droppable<'_>,
        budget: &ContextBudget,
        mut prompt: TokenizedPrompt,
        session: &mut Session,
    ) -> Result<Fitted> {
        let Droppable { conversation, units, estimates } = droppable;
        let from = prompt.input_ids.len();
        let detail = Detail { is_shortened: true, ..self.detail() };
        let (mut last, mut fewest) = (None, from);
        let dropped = fewest_dropped_by_estimate(units.len(), estimates, budget.limit(), |count| {
            let mut gone = units[..count].concat();
            gone.sort_unstable();
            let left = without_items(conversation, &gone);
            let left = self.prepared(&left)?;
            match session.build_any(&left, detail, &mut prompt) {
                Ok(()) => {}
                // A chat template accepts the conversation, and may refuse what is left.
                Err(error) if matches!(error.kind(), ErrorKind::Conversation(_)) => return Ok(Left::NO_PROMPT),
                Err(error) => return Err(error),
            }
            last = Some((gone, made_by_wrapper(left)));
            let tokens = prompt.input_ids.len();
            fewest = fewest.min(tokens);
            Ok(Left { tokens, prompt: FixedState::with_seed(0).hash_one(&prompt.input_ids) })
        })?;
        match last.filter(|_| dropped.is_some()) {
            Some((messages, conversation)) => {
                self.check_not_empty(&prompt)?;
                let to = prompt.input_ids.len();
                let truncated = Truncated { from, to, tokens: Vec::new(), messages };
                Ok(Fitted { prompt, truncated: Some(truncated), conversation })
            }
            None => Err(budget.too_long(fewest)),
        }
    }
}

/// What was prepared, if a chat wrapper made it; else its messages have the places of those that it was prepared from.
fn made_by_wrapper(prepared: Cow<'_, Conversation>) -> Option<Conversation> {
    match prepared {
        Cow::Owned(Conversation::Messages(messages)) => Some(Conversation::Messages(messages)),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    }
}
