//! The roles of a compiled template, and the entries of its round.

use crate::compile::atom::Atom;
use crate::compile::thoughts::Thoughts;
use crate::error::{ErrorKind, Result};
use crate::template::Trim;

/// An entry of a compiled round, in order.
#[derive(Debug)]
pub(crate) enum CompiledItem {
    Role(usize),
    Text(Box<[Atom]>),
}

/// How a role speaks.
#[derive(Debug)]
pub(crate) struct CompiledRole {
    pub(crate) name: String,
    pub(crate) api_role: Option<String>,
    pub(crate) begin: Box<[Atom]>,
    pub(crate) prompt: Box<[Atom]>,
    pub(crate) end: Box<[Atom]>,
    pub(crate) generate: bool,
    pub(crate) generation_prompt: Option<Box<[Atom]>>,
    /// The role's position in the round; none for a reserved role.
    pub(crate) position: Option<usize>,
    /// The role in whose next turn this one speaks, if it has no turn of its own.
    pub(crate) merge_into: Option<usize>,
    /// Whether that is the other role's last turn, and not its next one.
    pub(crate) merges_into_last: bool,
    pub(crate) trim: Trim,
    /// Whether a message with empty content writes nothing.
    pub(crate) omits_empty: bool,
    pub(crate) thoughts: Option<Thoughts>,
    /// Whether its messages are left out.
    pub(crate) silent: bool,
    /// Why its messages are errors.
    pub(crate) refuse: Option<String>,
    pub(crate) default_prompt: bool,
    /// Why the role cannot speak with this tokenizer.
    pub(super) unusable: Option<String>,
}

impl CompiledRole {
    /// Whether the messages of this role are left out.
    ///
    /// # Errors
    /// The template refuses them.
    #[inline]
    pub(crate) fn is_left_out(&self, name: &str) -> Result<bool> {
        match &self.refuse {
            None => Ok(self.silent),
            Some(reason) => Err(ErrorKind::RefusedRole { role: name.to_owned(), reason: reason.clone() }.into()),
        }
    }

    /// Rejects a role that needs a token which the tokenizer lacks.
    pub(crate) fn check_usable(&self) -> Result<()> {
        match &self.unusable {
            None => Ok(()),
            Some(why) => {
                let what = format!("role {:?} cannot speak with this tokenizer: {why}", self.name);
                Err(ErrorKind::Conversation(what).into())
            }
        }
    }
}
