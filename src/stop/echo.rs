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
    let padding = ids.iter().take_while(|id| Some(*id) == ids.first()).count();
    (0..=padding).find_map(|start| ids[start..].strip_prefix(prompt)).unwrap_or(ids)
}
