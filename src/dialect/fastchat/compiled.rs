//! The texts of a conversation template, cut at their control tokens.

use crate::compile::Atom;
use crate::dialect::fastchat::layout::Layout;
use crate::dialect::fastchat::style::SeparatorStyle;
use crate::dialect::fastchat::template::SystemPiece;
use crate::tokenizer::TokenId;

pub(super) type Atoms = Box<[Atom]>;

/// What a conversation template writes around messages.
#[derive(Debug)]
pub(super) struct CompiledConversation {
    pub(super) style: SeparatorStyle,
    pub(super) layout: Layout<Atoms>,
    pub(super) system: Vec<SystemPiece<Atoms>>,
    pub(super) system_message: Atoms,
    /// Whether the template has a system message of its own.
    pub(super) has_system_message: bool,
    /// Whether it writes text around any system message.
    pub(super) has_text_around: bool,
    pub(super) roles: [Atoms; 2],
    /// The strings of the tokens that may be at the end of the text that [`Layout::finish`] trims.
    pub(super) token_texts: Vec<(TokenId, String)>,
}
