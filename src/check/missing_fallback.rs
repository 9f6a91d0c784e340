//! Templates without a role for chat messages.

use crate::check::{Findings, Level, Lint, Subject};
use crate::conversation::{ChatMessage, Conversation};
use crate::error::{ErrorKind, Result};
use crate::render::TextArena;

pub(super) const LINT: Lint = Lint {
    code: "missing-fallback",
    level: Level::Warning,
    about: "The template has no role for chat messages of the system, the user or the assistant.",
    why: "Chat messages with the roles system, user and assistant use SYSTEM, HUMAN and BOT, found by api_role or by \
        name; system falls back to HUMAN, and assistant to the round's only role that generates. If there is none, a \
        conversation with such a message cannot be built.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Ok([_, builder]) = &subject.builders else { return Ok(()) };
    for name in ["system", "user", "assistant"] {
        // There are messages before and after it, so that only the role can be missing.
        let conversation = Conversation::Messages(vec![ChatMessage::new(name, "a")]);
        if let Err(error) = builder.segments(&conversation, &TextArena::default())
            && let ErrorKind::UnknownRole { known, .. } = error.kind()
        {
            let message = format!(
                "the template has no role for chat messages of role {name:?}; its roles are {}",
                known.join(", ")
            );
            let role = match name {
                "system" => "SYSTEM or HUMAN",
                "user" => "HUMAN",
                _ => "BOT",
            };
            findings.add("meta_template", message, format!("set the api_role of a role to {role}"));
        }
    }
    Ok(())
}
