//! The turns of a dialogue as token ids, where each prompt begins with what the engine has seen.

use std::fmt;

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::{PromptBuilder, Session};
use crate::conversation::{ContentPart, Conversation};
use crate::dataset::TurnPlan;
use crate::error::Result;
use crate::render::{Element, Part};
use crate::tokenizer::TokenId;

/// Yields the prompt of one turn after the other, and takes the model's answers.
///
/// An answer given as ids is written as those ids, so that the next prompt begins with exactly the tokens
/// that the engine has in its cache; [`TurnPrompt::prefix_tokens`] says how many.
///
/// ```
/// use metatok::dataset::prompter::{InferMode, TurnPlan};
/// use metatok::{Conversation, PromptBuilder};
///
/// let dialogue: Conversation = serde_json::from_str(r#"[
///     {"role": "user", "content": "1+1=?"}, {"role": "assistant", "content": ""},
///     {"role": "user", "content": "And 1 more?"}, {"role": "assistant", "content": ""}
/// ]"#)?;
/// let builder = PromptBuilder::demo()?;
/// let mut turns = builder.turns(TurnPlan::new(dialogue, InferMode::Every)?);
/// let first = turns.next_prompt()?.expect("there are two turns").prompt;
/// // What the engine gives: "2", and <|im_end|>.
/// turns.answer_ids(&[17, 1052])?;
/// let second = turns.next_prompt()?.expect("there are two turns");
/// assert_eq!(second.prefix_tokens, first.input_ids.len() + 2);
/// assert!(second.prompt.input_ids.starts_with(&[first.input_ids, vec![17, 1052]].concat()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Turns {
    session: Session,
    plan: TurnPlan,
    seen: Option<Seen>,
    strip_thoughts: bool,
}

/// What stands at the end of a model's thoughts.
const END_OF_THOUGHTS: &str = "</think>";

/// What a model said behind its thoughts, if it had any.
pub(crate) fn without_thoughts(text: &str) -> &str {
    text.rsplit_once(END_OF_THOUGHTS).map_or(text, |(_, said)| said.trim_start_matches('\n'))
}

/// The prompt of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnPrompt {
    /// Which of the model's turns, from 0.
    pub turn: usize,
    /// What it was made of.
    pub conversation: Conversation,
    /// The prompt.
    pub prompt: TokenizedPrompt,
    /// How many of its first tokens are the first of what the engine has seen: the prompt of the turn
    /// before, and the answer to it.
    pub prefix_tokens: usize,
    /// Why these are not all of them, if they are not.
    pub prefix_break: Option<PrefixBreak>,
}

/// What the engine has seen.
#[derive(Debug)]
struct Seen {
    conversation: Conversation,
    ids: Vec<TokenId>,
    /// How many of the ids are the prompt's.
    prompt: usize,
    answer: Answer,
}

/// In what form the answer came.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Answer {
    None,
    Text,
    Ids,
}

/// Why a prompt does not begin with all that the engine has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrefixBreak {
    /// Not its own answers but the dataset's stand in the turns before.
    DatasetAnswers,
    /// The turns before open with other tokens than the one that was to be answered, as where a model's
    /// thoughts are left out of them.
    GenerationPrompt {
        /// What the prompt ended with.
        text: String,
    },
    /// The tokenizer puts this token behind every prompt.
    SpecialToken(String),
    /// The answer ended with this token, and the template ends the turn with another.
    StopToken(String),
    /// The thoughts were taken out of the answer.
    Thoughts,
    /// The answer was given as text, which is tokenized together with what stands before it.
    AnswerAsText,
    /// What stands before the answer is written otherwise where more follows.
    Earlier,
}

impl fmt::Display for PrefixBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DatasetAnswers => f.write_str("the dataset's answers stand in the turns before, not the model's"),
            Self::GenerationPrompt { text } => {
                write!(f, "the prompt ended with {text:?}, and a turn that was answered does not open so")
            }
            Self::SpecialToken(token) => write!(f, "the tokenizer puts \"{token}\" after every prompt"),
            Self::StopToken(token) => {
                write!(f, "the answer ended with \"{token}\", and the template ends the turn with another token")
            }
            Self::Thoughts => f.write_str("the thoughts were taken out of the answer"),
            Self::AnswerAsText => f.write_str(
                "the answer was given as text, whose first letters are one token with what stands before it; give its ids",
            ),
            Self::Earlier => f.write_str(
                "the template or the tokenizer writes what stands before the answer otherwise where more follows",
            ),
        }
    }
}

impl PromptBuilder {
    /// The turns of a dialogue as prompts, one after the other.
    pub fn turns(&self, plan: TurnPlan) -> Turns {
        Turns { session: self.session(), plan, seen: None, strip_thoughts: false }
    }
}

impl Turns {
    /// Whether a model's thoughts, up to `</think>`, are taken out of its answers before they go back in.
    #[must_use]
    pub fn strip_thoughts(mut self, strip: bool) -> Self {
        self.strip_thoughts = strip;
        self
    }

    /// The prompt of the turn that is to be answered next; nothing when all were. Without an answer it is
    /// the same again.
    ///
    /// # Errors
    /// As [`PromptBuilder::build`].
    pub fn next_prompt(&mut self) -> Result<Option<TurnPrompt>> {
        let (Some(conversation), Some(turn)) = (self.plan.prompt(), self.plan.turn()) else { return Ok(None) };
        let prompt = self.session.build(&conversation)?;
        let (prefix_tokens, prefix_break) = match &self.seen {
            None | Some(Seen { answer: Answer::None, .. }) => (0, None),
            Some(seen) => {
                let prefix = common_prefix(&seen.ids, &prompt.input_ids);
                (prefix, (prefix < seen.ids.len()).then(|| self.prefix_break(seen, prefix)).transpose()?)
            }
        };
        if self.seen.as_ref().is_none_or(|seen| seen.answer != Answer::None) {
            let ids = prompt.input_ids.clone();
            let prompt = ids.len();
            self.seen = Some(Seen { conversation: conversation.clone(), ids, prompt, answer: Answer::None });
        }
        Ok(Some(TurnPrompt { turn, conversation, prompt, prefix_tokens, prefix_break }))
    }

    /// Takes the answer as the engine's ids, to the first stop id: what comes behind it does not count, and
    /// the template itself writes how a turn ends.
    ///
    /// # Errors
    /// Names an id outside the vocabulary.
    pub fn answer_ids(&mut self, ids: &[TokenId]) -> Result<()> {
        for &id in ids {
            self.session.builder().tokenizer().check_id(id.into())?;
        }
        let is_stop = |id: &TokenId| self.session.builder().stop().ids().iter().any(|stop| stop.id == *id);
        let end = ids.iter().position(is_stop);
        let said = &ids[..end.unwrap_or(ids.len())];
        if let Some(seen) = &mut self.seen {
            seen.ids.extend_from_slice(&ids[..end.map_or(ids.len(), |end| end + 1)]);
            seen.answer = Answer::Ids;
        }
        let said = if self.strip_thoughts { self.without_thoughts(said)? } else { ContentPart::Ids(said.to_vec()) };
        self.plan.answer(vec![said]);
        Ok(())
    }

    /// What ids say behind the model's thoughts: as ids where the end of thoughts is a token, else as text.
    fn without_thoughts(&self, said: &[TokenId]) -> Result<ContentPart> {
        let tokenizer = self.session.builder().tokenizer();
        let Some(end) = tokenizer.token_to_id(END_OF_THOUGHTS) else {
            let text = tokenizer.decode(said, false)?;
            let behind = without_thoughts(&text);
            let has_thoughts = behind.len() < text.len();
            return Ok(if has_thoughts { ContentPart::text(behind) } else { ContentPart::Ids(said.to_vec()) });
        };
        let Some(end) = said.iter().rposition(|&id| id == end) else { return Ok(ContentPart::Ids(said.to_vec())) };
        let is_line_end = |id: &&TokenId| {
            tokenizer
                .token_bytes(**id)
                .is_some_and(|bytes| !bytes.is_empty() && bytes.iter().all(|byte| *byte == b'\n'))
        };
        let behind = &said[end + 1..];
        let line_ends = behind.iter().take_while(is_line_end).count();
        Ok(ContentPart::Ids(behind[line_ends..].to_vec()))
    }

    /// Takes the answer as text.
    pub fn answer_text(&mut self, text: impl Into<String>) {
        if let Some(seen) = &mut self.seen {
            seen.answer = Answer::Text;
        }
        let text = text.into();
        self.plan.answer(if self.strip_thoughts { without_thoughts(&text) } else { &text });
    }

    /// What is asked for, and what was answered.
    pub fn plan(&self) -> &TurnPlan {
        &self.plan
    }

    /// There is no answer: the engine failed. The turns behind are not asked for.
    pub fn fail(&mut self) {
        self.plan.fail();
    }

    /// What the difference behind `prefix` tokens comes from.
    fn prefix_break(&self, seen: &Seen, prefix: usize) -> Result<PrefixBreak> {
        let tokenizer = self.session.builder().tokenizer();
        let name = |id: TokenId| tokenizer.display_token(id);
        if prefix >= seen.prompt && self.strip_thoughts && seen.answer == Answer::Ids {
            return Ok(PrefixBreak::Thoughts);
        }
        if prefix >= seen.prompt {
            let is_last = prefix + 1 == seen.ids.len();
            return Ok(match self.plan.mode() {
                mode if mode.takes_answers() && is_last => PrefixBreak::StopToken(name(seen.ids[prefix])),
                mode if mode.takes_answers() => PrefixBreak::Earlier,
                _ => PrefixBreak::DatasetAnswers,
            });
        }
        let before = self.session.builder().build_with(&seen.conversation, Detail::ALL)?;
        let spans = before.spans.unwrap_or_default();
        let part = spans.iter().find(|span| span.end > prefix).map_or_else(Part::default, |span| span.part);
        Ok(match part.element {
            Element::GenerationPrompt if seen.answer == Answer::Text && prefix + 1 == seen.prompt => {
                PrefixBreak::AnswerAsText
            }
            Element::GenerationPrompt => {
                let own = spans.iter().filter(|span| span.part.element == Element::GenerationPrompt);
                let own: Vec<TokenId> = own.flat_map(|span| &before.input_ids[span.start..span.end]).copied().collect();
                PrefixBreak::GenerationPrompt { text: tokenizer.decode(&own, false)? }
            }
            Element::SpecialToken => PrefixBreak::SpecialToken(name(seen.ids[prefix])),
            _ => PrefixBreak::Earlier,
        })
    }
}

fn common_prefix(seen: &[TokenId], ids: &[TokenId]) -> usize {
    seen.iter().zip(ids).take_while(|(a, b)| a == b).count()
}
