//! The hot path allocates little for a prompt, and nothing for each of its tokens, runs or messages.

use allocation_counter::measure;
use metatok::{ChatMessage, Conversation, PromptBuilder, Session, TokenizedPrompt};

use crate::harness::{Tests, tests};

pub(crate) fn tests() -> Tests {
    tests![a_dialogue_costs_the_same_whatever_its_length, appending_to_a_flat_buffer]
}

/// Contents that the session has not seen, so that no cache of whole runs helps.
fn dialogue(turns: usize, seed: usize) -> Conversation {
    let role = |turn: usize| if turn.is_multiple_of(2) { "user" } else { "assistant" };
    let message = |turn| ChatMessage::new(role(turn), format!("What is {seed} and {turn}? It is {}.", seed * turn));
    Conversation::Messages((0..2 * turns + 1).map(message).collect())
}

/// Lets buffers grow to what the largest prompt needs.
fn warmed_up(builder: &PromptBuilder, prompt: &mut TokenizedPrompt) -> Session {
    let mut session = builder.session();
    for seed in 0..20 {
        session.build_into(&dialogue(200, 1000 + seed), prompt).expect("it builds");
    }
    session
}

fn a_dialogue_costs_the_same_whatever_its_length() {
    let (builder, mut prompt) = (PromptBuilder::demo().expect("it is embedded"), TokenizedPrompt::default());
    let mut session = warmed_up(&builder, &mut prompt);
    let mut allocations = |turns, seed| {
        let conversation = dialogue(turns, seed);
        measure(|| session.build_into(&conversation, &mut prompt).expect("it builds")).count_total
    };
    let (short, long) = (allocations(1, 1), allocations(150, 2));
    assert!(long <= short + 2, "{short} allocations for 3 messages, but {long} for 301");
    assert!(short <= 8, "{short} allocations for a prompt");
}

fn appending_to_a_flat_buffer() {
    let (builder, mut prompt) = (PromptBuilder::demo().expect("it is embedded"), TokenizedPrompt::default());
    let mut session = warmed_up(&builder, &mut prompt);
    let mut ids = Vec::with_capacity(1 << 16);
    session.append(&dialogue(200, 3), &mut ids).expect("it builds");
    let conversation = dialogue(100, 4);
    let mut append = || session.append(&conversation, &mut ids).expect("it builds");
    let allocations = measure(|| assert!(!append().is_empty())).count_total;
    assert!(allocations <= 8, "{allocations} allocations for a prompt");
}
