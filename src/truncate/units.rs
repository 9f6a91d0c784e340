//! The turns and examples of a conversation that may be dropped entirely, and the conversation without some of them.

use std::ops::Range;

use foldhash::{HashMap, HashMapExt};

use crate::assemble::TokenizedPrompt;
use crate::builder::PromptBuilder;
use crate::conversation::{Chat, Conversation, Item, Section};
use crate::truncate::Truncation;
use crate::truncate::turn_side::TurnSide;

/// What may be dropped, in the order in which it is dropped. Messages do not mark examples, so `examples_of_messages` says
/// which they are.
pub(super) fn units(
    conversation: &Conversation,
    examples_of_messages: &[Range<usize>],
    truncation: Truncation,
    builder: &PromptBuilder,
) -> Vec<Vec<usize>> {
    let mut units = match (conversation, truncation) {
        (Conversation::Text(_), _) => Vec::new(),
        (Conversation::List(items), Truncation::OldestTurns) => turns(sides(items, builder)),
        (Conversation::List(items), _) => examples(items),
        (Conversation::Messages(_) | Conversation::Chat(_), Truncation::OldestTurns) => {
            let messages = conversation.messages().unwrap_or_default();
            turns(messages.iter().map(|message| TurnSide::of_role(&message.role, builder)))
        }
        (Conversation::Messages(_) | Conversation::Chat(_), _) => {
            examples_of_messages.iter().map(|messages| messages.clone().collect()).collect()
        }
    };
    if truncation == Truncation::LastExamples {
        units.reverse();
    }
    units
}

/// The side of each item: only the first round has turns.
fn sides<'a>(items: &'a [Item], builder: &'a PromptBuilder) -> impl Iterator<Item = TurnSide> + 'a {
    let is_round = |item: &Item| matches!(item, Item::Marker(marker) if marker.section == Section::Round);
    items.iter().scan(0, move |markers, item| {
        *markers += usize::from(is_round(item));
        Some(match item {
            Item::Message(message) if *markers == 1 => TurnSide::of_item(message, builder),
            _ => TurnSide::Outside,
        })
    })
}

/// The turns except the last: the others' messages, and the model's answer to them.
fn turns(sides: impl Iterator<Item = TurnSide>) -> Vec<Vec<usize>> {
    let mut turns: Vec<Vec<usize>> = Vec::new();
    let mut before = TurnSide::Model;
    for (i, side) in sides.enumerate() {
        if side == TurnSide::Outside {
            continue;
        }
        let opens = side == TurnSide::Other && before == TurnSide::Model;
        match turns.last_mut().filter(|_| !opens) {
            Some(turn) => turn.push(i),
            None => {
                // Most turns are a question and an answer.
                let mut turn = Vec::with_capacity(2);
                turn.push(i);
                turns.push(turn);
            }
        }
        before = side;
    }
    turns.pop();
    turns
}

/// The examples of a prompt list: its sections `ice`, including markers.
fn examples(items: &[Item]) -> Vec<Vec<usize>> {
    let mut examples: Vec<Vec<usize>> = Vec::new();
    let mut is_open = false;
    for (i, item) in items.iter().enumerate() {
        let marker = match item {
            Item::Marker(marker) if marker.section == Section::Ice => Some(marker.opens),
            _ => None,
        };
        if marker == Some(true) {
            examples.push(Vec::new());
            is_open = true;
        }
        if let Some(example) = examples.last_mut().filter(|_| is_open) {
            example.push(i);
        }
        is_open &= marker != Some(false);
    }
    examples
}

/// The numbers of a prompt list's examples that have one of these items, which are in order.
pub(super) fn examples_among(gone: &[usize], conversation: &Conversation) -> Vec<usize> {
    let Conversation::List(items) = conversation else { return Vec::new() };
    let is_gone = |(_, example): &(usize, Vec<usize>)| example.iter().any(|item| gone.binary_search(item).is_ok());
    examples(items).into_iter().enumerate().filter(is_gone).map(|(number, _)| number).collect()
}

/// The number of tokens that are probably left for each number of units that are dropped, from none on, by what each
/// message has in the whole prompt.
pub(super) fn estimates(units: &[Vec<usize>], prompt: &TokenizedPrompt) -> Vec<usize> {
    let spans = prompt.spans.as_deref().unwrap_or_default();
    let mut of_message: HashMap<usize, usize> = HashMap::with_capacity(spans.len());
    for (message, span) in spans.iter().filter_map(|span| Some((span.part.message? as usize, span))) {
        *of_message.entry(message).or_default() += span.end - span.start;
    }
    // What chat templates write around a message does not know of it.
    let attributed: usize = of_message.values().sum();
    let around = (prompt.input_ids.len() - attributed) / of_message.len().max(1);
    let tokens = |at: &usize| of_message.get(at).map_or(0, |tokens| tokens + around);
    let mut left = prompt.input_ids.len();
    let after = units.iter().map(|unit| {
        left = left.saturating_sub(unit.iter().map(tokens).sum());
        left
    });
    std::iter::once(prompt.input_ids.len()).chain(after).collect()
}

/// A conversation without the messages, or items, at these positions, which are in order.
pub(super) fn without_items(conversation: &Conversation, gone: &[usize]) -> Conversation {
    fn kept<T: Clone>(all: &[T], gone: &[usize]) -> Vec<T> {
        let mut kept = Vec::with_capacity(all.len().saturating_sub(gone.len()));
        let is_kept = |(i, _): &(usize, &T)| gone.binary_search(i).is_err();
        kept.extend(all.iter().enumerate().filter(is_kept).map(|(_, one)| one.clone()));
        kept
    }
    match conversation {
        Conversation::Text(text) => Conversation::Text(text.clone()),
        Conversation::List(items) => Conversation::List(kept(items, gone)),
        Conversation::Messages(messages) => Conversation::Messages(kept(messages, gone)),
        Conversation::Chat(chat) => {
            Conversation::Chat(Box::new(Chat { messages: kept(&chat.messages, gone), ..(**chat).clone() }))
        }
    }
}
