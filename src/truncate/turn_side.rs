//! The side of a turn on which a message is.

use crate::builder::PromptBuilder;
use crate::conversation::{Message, openai_role};

/// The side of a turn on which a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnSide {
    /// The model, or a tool that it calls within its turn.
    Model,
    /// Anyone else, who opens a turn after the model.
    Other,
    /// Outside of the turns.
    Outside,
}

/// The roles of tools' results, which come between two messages of the model or before one.
const TOOLS: [&str; 6] = ["tool", "function", "ipython", "observation", "tool_response", "environment"];

impl TurnSide {
    /// The side of a role, by the names that all templates know, and by those of this one.
    pub(super) fn of_role(role: &str, builder: &PromptBuilder) -> Self {
        let by_name = |name: &str| match openai_role(name).unwrap_or(name) {
            "assistant" | "model" => Self::Model,
            "system" | "developer" => Self::Outside,
            name if TOOLS.contains(&name) => Self::Model,
            _ => Self::Other,
        };
        match by_name(role) {
            Self::Other if builder.speaks_for_model(role) => Self::Model,
            Self::Other if builder.speaks_for_system(role) => Self::Outside,
            Self::Other => builder.wrapper_role(role).map_or(Self::Other, by_name),
            known => known,
        }
    }

    /// The side of a message of a prompt list: its fallback role counts if the template does not have its role.
    pub(super) fn of_item(message: &Message, builder: &PromptBuilder) -> Self {
        match (Self::of_role(&message.role, builder), &message.fallback_role) {
            (Self::Other, Some(fallback)) if !builder.has_role(&message.role) => Self::of_role(fallback, builder),
            (side, _) => side,
        }
    }
}
