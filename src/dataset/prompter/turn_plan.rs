//! The turns of a chat that a model generates, one after the other.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::Deserialize;

use crate::conversation::{ChatMessage, Content, ContentRef, Conversation, Item, Message, Prompt, Section};
use crate::dataset::prompter::MaxOutLen;
use crate::error::{Error, ErrorKind, Result, by_name};

/// Which of the model's turns are generated, and what the earlier turns contain. OpenCompass and AISBench:
/// `infer_mode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InferMode {
    /// All of them, with the model's own answers in earlier turns.
    #[default]
    Every,
    /// Those that are empty, with the model's own answers in earlier turns. OpenCompass: `multiround`.
    EveryEmpty,
    /// All of them, with the dataset's answers in earlier turns.
    EveryWithGt,
    /// The last one only, with the dataset's answers in earlier turns.
    Last,
}

impl InferMode {
    /// Whether earlier turns contain the model's own answers.
    pub fn takes_answers(self) -> bool {
        matches!(self, Self::Every | Self::EveryEmpty)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Every => "every",
            Self::EveryEmpty => "every_empty",
            Self::EveryWithGt => "every_with_gt",
            Self::Last => "last",
        }
    }
}

impl FromStr for InferMode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let all = [Self::Every, Self::EveryEmpty, Self::EveryWithGt, Self::Last];
        by_name("infer_mode", name, all.map(|mode| (mode.name(), mode)))
    }
}

/// Whether a content is more than white space.
fn is_not_blank(content: ContentRef<'_>) -> bool {
    content.only_text().map_or(!content.is_empty(), |text| !text.trim().is_empty())
}

impl fmt::Display for InferMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Generates the model's turns in a dialogue.
///
/// ```
/// use metatok::dataset::prompter::{InferMode, TurnPlan};
/// use metatok::{ChatMessage, Conversation};
///
/// let chat = [("user", "1+1=?"), ("assistant", "2"), ("user", "and 1 more?"), ("assistant", "3")];
/// let chat = chat.map(|(role, content)| ChatMessage::new(role, content)).to_vec();
/// let mut plan = TurnPlan::new(Conversation::Messages(chat), InferMode::Every)?;
/// assert_eq!(plan.prompt(), Some(Conversation::Messages(vec![ChatMessage::new("user", "1+1=?")])));
/// plan.answer("two");
/// let Some(Conversation::Messages(prompt)) = plan.prompt() else { panic!("there is a second turn") };
/// assert_eq!(prompt[1], ChatMessage::new("assistant", "two"));
/// assert_eq!(plan.turns_left(), 1);
/// plan.answer("three");
/// assert_eq!((plan.prompt(), plan.turns_left()), (None, 0));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TurnPlan {
    dialogue: PlannedDialogue,
    /// The messages of each in-context example, if these are messages of their own: none is a turn to generate.
    examples: Vec<Range<usize>>,
    mode: InferMode,
    /// The message that the model generates next.
    next: Option<usize>,
    /// How many turns the model has before it.
    number: usize,
}

/// The dialogue whose turns are planned.
#[derive(Debug, Clone, PartialEq)]
enum PlannedDialogue {
    Messages(Vec<ChatMessage>),
    /// What every prompt has before and after the round, with the markers, and the round.
    List {
        before: Vec<Item>,
        round: Vec<Item>,
        after: Vec<Item>,
    },
}

impl TurnPlan {
    /// Plans a dialogue whose model turns contain the dataset's answers: messages of `assistant`, or messages of BOT in
    /// the round of a prompt list.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] if the model has no turn in it.
    pub fn new(conversation: Conversation, mode: InferMode) -> Result<Self> {
        Self::with_examples(conversation, mode, Vec::new())
    }

    /// Plans a dialogue whose messages in the ranges `examples` are in-context examples: what the model says there is no
    /// turn.
    ///
    /// # Errors
    /// The same as for [`Self::new`].
    pub fn with_examples(conversation: Conversation, mode: InferMode, examples: Vec<Range<usize>>) -> Result<Self> {
        let mut plan = Self { dialogue: PlannedDialogue::new(conversation)?, examples, mode, next: None, number: 0 };
        plan.next = match mode {
            InferMode::Last => (0..plan.dialogue.len()).rev().find(|&i| plan.is_models(i)),
            InferMode::Every | InferMode::EveryEmpty | InferMode::EveryWithGt => plan.turn_from(0),
        };
        if plan.next.is_none() {
            let what = match &plan.dialogue {
                _ if mode == InferMode::EveryEmpty && plan.turns() > 0 => {
                    "infer_mode every_empty (multiround) asks only for empty turns, but all have text"
                }
                PlannedDialogue::Messages(_) if !plan.examples.is_empty() => {
                    "outside its examples there is no message of role \"assistant\""
                }
                PlannedDialogue::Messages(_) => "there is no message of role \"assistant\"",
                PlannedDialogue::List { round, .. } if round.is_empty() => {
                    "its round is empty, or the lists of its turns are"
                }
                PlannedDialogue::List { .. } => "there is no message of role \"BOT\" in the round",
            };
            return Err(ErrorKind::Row(format!("the model has no turn in this dialogue: {what}")).into());
        }
        plan.number = plan.next.map_or(0, |next| plan.turns_in(0..next));
        Ok(plan)
    }

    /// What comes before the turn that is generated next; none when all are answered.
    pub fn prompt(&self) -> Option<Conversation> {
        self.next.map(|next| match &self.dialogue {
            PlannedDialogue::Messages(messages) => Conversation::Messages(messages[..next].to_vec()),
            PlannedDialogue::List { before, round, after } => {
                Conversation::List([before, &round[..next], after].concat())
            }
        })
    }

    /// Which of the model's turns is generated next, from 0.
    pub fn turn(&self) -> Option<usize> {
        self.next.map(|_| self.number)
    }

    /// Which of the model's turns are generated after that one.
    pub fn later_turns(&self) -> Vec<usize> {
        let next = self.next.map(|next| (next, self.number));
        let left = std::iter::successors(next, |&(turn, number)| {
            let after = self.turn_after(turn)?;
            Some((after, number + self.turns_in(turn..after)))
        });
        left.skip(1).map(|(_, number)| number).collect()
    }

    /// How many turns the model has among these messages.
    fn turns_in(&self, messages: Range<usize>) -> usize {
        messages.filter(|&i| self.is_models(i)).count()
    }

    /// How many turns the model has in the dialogue, generated or not.
    pub fn turns(&self) -> usize {
        self.turns_in(0..self.dialogue.len())
    }

    /// The messages of each in-context example, if these are messages of their own.
    pub(crate) fn examples(&self) -> &[Range<usize>] {
        &self.examples
    }

    /// How many turns are still to be generated.
    pub fn turns_left(&self) -> usize {
        std::iter::successors(self.next, |turn| self.turn_after(*turn)).count()
    }

    /// Adds the model's answer and moves on to the next turn. If [`InferMode::takes_answers`], it replaces the
    /// dataset's own answer and any text that the template put around it.
    pub fn answer(&mut self, content: impl Into<Content>) {
        let Some(turn) = self.next else { return };
        if self.mode.takes_answers() {
            self.dialogue.set(turn, content.into());
        }
        self.next = self.turn_after(turn);
        self.number += self.next.map_or(0, |next| self.turns_in(turn..next));
    }

    /// Whether the dialogue ends with something that is said to the model, which no turn answers: the references do not ask
    /// it.
    pub fn leaves_question(&self) -> bool {
        let last = (0..self.dialogue.len()).rev().find(|&i| self.is_models(i));
        let is_example = |i: usize| self.examples.iter().any(|example| example.contains(&i));
        last.is_some_and(|last| (last + 1..self.dialogue.len()).any(|i| self.dialogue.asks(i) && !is_example(i)))
    }

    /// Records that the model failed to answer, so that the later turns are not generated.
    pub fn fail(&mut self) {
        self.next = None;
    }

    /// Which turns are generated.
    pub fn mode(&self) -> InferMode {
        self.mode
    }

    /// How long the next answer may be, according to the row.
    ///
    /// # Errors
    /// The same as for [`MaxOutLen::of_turn`].
    pub fn max_out_len(&self, row: &MaxOutLen) -> Result<Option<u64>> {
        match (self.mode, self.turn()) {
            (_, None) => Ok(None),
            (InferMode::Last, _) => Ok(row.of_last()),
            (InferMode::Every | InferMode::EveryEmpty | InferMode::EveryWithGt, Some(turn)) => row.of_turn(turn),
        }
    }

    /// Whether prompts depend on the model's answers.
    pub fn needs_answers(&self) -> bool {
        self.mode.takes_answers() && self.next.is_some_and(|next| self.turn_from(next + 1).is_some())
    }

    fn turn_after(&self, turn: usize) -> Option<usize> {
        match self.mode {
            InferMode::Last => None,
            InferMode::Every | InferMode::EveryEmpty | InferMode::EveryWithGt => self.turn_from(turn + 1),
        }
    }

    fn turn_from(&self, from: usize) -> Option<usize> {
        let is_asked =
            |i: &usize| self.is_models(*i) && (self.mode != InferMode::EveryEmpty || self.dialogue.is_empty(*i));
        (from..self.dialogue.len()).find(is_asked)
    }

    fn is_models(&self, message: usize) -> bool {
        self.dialogue.is_models(message) && !self.examples.iter().any(|example| example.contains(&message))
    }
}

impl PlannedDialogue {
    fn new(conversation: Conversation) -> Result<Self> {
        let mut items = match conversation {
            Conversation::Messages(messages) => return Ok(Self::Messages(messages)),
            Conversation::List(items) => items,
            Conversation::Chat(_) => return Err(conversation.would_be_lost()),
            Conversation::Text(_) => {
                let what = "a string has no turns; write the template as a dialogue {round = [ … ]}";
                return Err(ErrorKind::Dataset(what.into()).into());
            }
        };
        let is_marker = |item: &Item, opens: bool| matches!(item, Item::Marker(marker) if marker.section == Section::Round && marker.opens == opens);
        let start = items.iter().position(|item| is_marker(item, true)).map_or(0, |at| at + 1);
        let end = items.iter().rposition(|item| is_marker(item, false)).unwrap_or(items.len()).max(start);
        let after = items.split_off(end);
        let round = items.split_off(start);
        Ok(Self::List { before: items, round, after })
    }

    fn len(&self) -> usize {
        match self {
            Self::Messages(messages) => messages.len(),
            Self::List { round, .. } => round.len(),
        }
    }

    fn is_models(&self, index: usize) -> bool {
        match self {
            Self::Messages(messages) => messages[index].role == "assistant",
            Self::List { round, .. } => matches!(&round[index], Item::Message(message) if message.role == "BOT"),
        }
    }

    /// Whether somebody else says something there.
    fn asks(&self, index: usize) -> bool {
        match self {
            Self::Messages(messages) => {
                messages[index].role == "user" && is_not_blank(messages[index].content.content_ref())
            }
            Self::List { round, .. } => match &round[index] {
                Item::Message(Message { role, prompt, .. }) => {
                    role == "HUMAN" && prompt.content_ref().is_some_and(is_not_blank)
                }
                Item::Text(_) | Item::Marker(_) => false,
            },
        }
    }

    fn is_empty(&self, index: usize) -> bool {
        match self {
            Self::Messages(messages) => messages[index].content.is_empty(),
            Self::List { round, .. } => match &round[index] {
                Item::Message(Message { prompt: Prompt::Text(text), .. }) => text.is_empty(),
                _ => true,
            },
        }
    }

    fn set(&mut self, index: usize, content: Content) {
        match self {
            Self::Messages(messages) => messages[index].content = content,
            Self::List { round, .. } => {
                if let Item::Message(message) = &mut round[index] {
                    message.prompt = content.into();
                }
            }
        }
    }
}
