//! An agent that is kept for hours: its dialogue fits into the context, reuses the engine's cache, and survives a restart.

use std::error::Error;

use metatok::truncate::Truncation;
use metatok::turns::DialogueState;
use metatok::{ContextBudget, Dialogue, PromptBuilder, TokenId};

/// Stands for an engine: it takes a prompt and says how many of its tokens it had to compute.
fn engine(prompt: &[TokenId], known: usize) -> (Vec<TokenId>, usize) {
    // "Mars", and <|im_end|>.
    (vec![44, 695, 1052], prompt.len() - known)
}

/// Asks a question, and gives the number of tokens that the engine had to compute.
fn ask(dialogue: &mut Dialogue, question: &str) -> metatok::Result<usize> {
    dialogue.push(("user", question));
    let next = dialogue.next_prompt()?;
    assert!(next.prompt.input_ids.len() <= 56, "there is room for the answer");
    let (answer, computed) = engine(&next.prompt.input_ids, next.prefix_tokens);
    dialogue.answer_ids(&answer)?;
    Ok(computed)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let builder = PromptBuilder::demo()?;
    let budget = ContextBudget::new(64, 8).truncation(Truncation::OldestTurns);
    let mut dialogue = builder.dialogue().budget(budget);
    dialogue.push(("system", "Be brief."));

    let first = ask(&mut dialogue, "Which planet is red?")?;
    let second = ask(&mut dialogue, "Is it Mars?")?;
    assert!(second < first, "the first prompt and its answer are in the cache");

    // The program ends here, and goes on tomorrow.
    let json = serde_json::to_string(&dialogue.state())?;
    drop(dialogue);
    let state: DialogueState = serde_json::from_str(&json)?;
    let mut dialogue = builder.resume(state)?;

    for question in ["Is it far?", "Why is it red?", "Who lives there?"] {
        ask(&mut dialogue, question)?;
    }
    assert!(dialogue.messages().len() < 11, "the oldest turns are gone");
    assert_eq!(dialogue.messages()[0].role, "system", "and what stands before the turns is not");
    Ok(())
}
