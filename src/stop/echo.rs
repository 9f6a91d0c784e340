//! Engines that return the prompt before their answer.

use crate::tokenizer::TokenId;

/// Generated ids without the prompt before them, for engines that return it too. The prompt may be padded on the left,
/// as in the output of transformers' `generate()`: any one id, repeated.
///
/// ```
/// assert_eq!(metatok::stop::without_echo(&[1, 2], &[0, 0, 1, 2, 773, 13]), [773, 13]);
/// assert_eq!(metatok::stop::without_echo(&[1, 2], &[773, 13]), [773, 13]);
/// ```
pub fn without_echo<'i>(prompt: &[TokenId], ids: &'i [TokenId]) -> &'i [TokenId] {
    let as_first = |of: &[TokenId]| of.iter().take_while(|id| Some(*id) == ids.first()).count();
    let (padding, own) = (as_first(ids), as_first(prompt));
    // A prompt that goes on after ids like the padding can begin at one place only.
    let start = if own == prompt.len() { 0 } else { padding.saturating_sub(own) };
    ids[start..].strip_prefix(prompt).unwrap_or(ids)
}
