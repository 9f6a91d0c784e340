//! Many answers at once, whose tokens come in any order: each is watched for its end by a stream in a map.

use std::collections::HashMap;

use metatok::PromptBuilder;
use metatok::stop::{FinishReason, TokenStream};

/// An answer that is still written.
struct Answer {
    stream: TokenStream,
    text: String,
}

pub(crate) fn main() -> metatok::Result<()> {
    let trimmer = PromptBuilder::demo()?.trimmer()?;
    let new = |request: u64| (request, Answer { stream: trimmer.stream(), text: String::new() });
    let mut answers: HashMap<u64, Answer> = [7, 8].map(new).into();

    let mut finished = Vec::new();
    for (request, id) in [(7, 44), (8, 773), (7, 695), (8, 13), (7, 1052), (8, 1050)] {
        let Some(Answer { stream, text }) = answers.get_mut(&request) else { continue };
        if stream.push(id, text)?.is_some() {
            finished.extend(answers.remove(&request).map(|answer| (request, answer)));
        }
    }

    assert!(answers.is_empty());
    let said: Vec<_> = finished
        .iter_mut()
        .map(|(request, Answer { stream, text })| {
            (*request, stream.finish(text), stream.token_ids().len(), text.as_str())
        })
        .collect();
    let expected = [(7, FinishReason::StopToken(1052), 2, "Mars"), (8, FinishReason::StopToken(1050), 2, "Paris.")];
    assert_eq!(said, expected);
    Ok(())
}
