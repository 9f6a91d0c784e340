//! Which runs can be kept, and by what text.

use crate::tokenizer::{AddedToken, Neighbour, Run, Tokenizer, strip};

/// What a run's ids depend on, in addition to whether it opens the prompt; none if they also depend on a neighbour that
/// is normalized together with it.
pub(super) fn cacheable<'a>(tokenizer: &Tokenizer, run: Run<'a>) -> Option<&'a str> {
    if !tokenizer.neighbours_matter() {
        return Some(run.text);
    }
    let token = |neighbour| match neighbour {
        Neighbour::Edge => None,
        Neighbour::Token(id) => tokenizer.added_token(id),
    };
    let (before, after) = (token(run.before), token(run.after));
    let is_normalized = |token: Option<&AddedToken>| token.is_some_and(|token| token.normalized);
    (!is_normalized(before) && !is_normalized(after)).then(|| &run.text[strip(run.text, before, after)])
}
