//! Cutting text by the library's steps, for patterns without a way of their own. Any other way is compared with this one.

use tokenizers_classic::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer as _, PreTokenizerWrapper};

/// The ends of the pieces of a text by the library.
pub(super) fn ends_by(library: &PreTokenizerWrapper, text: &str) -> Vec<usize> {
    let mut cut = PreTokenizedString::from(text);
    library.pre_tokenize(&mut cut).expect("a step that only cuts takes any text");
    let pieces = cut.get_splits(OffsetReferential::Original, OffsetType::Byte);
    pieces.iter().map(|(_, (_, end), _)| *end).collect()
}
