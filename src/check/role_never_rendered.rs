//! Roles that appear in no prompt.

use std::collections::BTreeSet;

use crate::check::{Findings, Level, Lint, Subject};
use crate::conversation::{ChatMessage, Conversation};
use crate::error::Result;
use crate::render::TextArena;

pub(super) const LINT: Lint = Lint {
    code: "role-never-rendered",
    level: Level::Warning,
    about: "A role is never rendered.",
    why: "The role is in no round and renders no system, user or assistant message. Only messages that name the role \
        itself use it, and none of the given conversations does. Often an api_role is missing, or another role has the \
        same one.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    if subject.builders.is_err() {
        return Ok(());
    }
    let mut rendered = usual(subject);
    rendered.extend(&subject.seen.roles);
    let no_role = "no round and no system, user or assistant message renders it";
    let message = match subject.seen.conversations - subject.seen.strings {
        0 => no_role.to_owned(),
        1 => format!("{no_role}, nor does the given conversation"),
        n => format!("{no_role}, nor does any of the {n} given conversations"),
    };
    for (i, (place, (_, role))) in subject.roles.iter().zip(subject.template.roles()).enumerate() {
        let is_left_out = role.silent || role.refuse.is_some();
        if !rendered.contains(&(i as u32)) && !is_left_out && !subject.is_unusable(i) {
            let help = "give it the api_role HUMAN, BOT or SYSTEM, name it in messages, or remove it";
            findings.add(place, format!("role {:?}: {message}", role.role), help);
        }
    }
    Ok(())
}

/// The roles of rounds and of chat messages.
fn usual(subject: &Subject) -> BTreeSet<u32> {
    let chat = |names: &[&str]| Conversation::Messages(names.iter().map(|name| ChatMessage::new(*name, "a")).collect());
    let mut rendered = BTreeSet::new();
    for builder in subject.both() {
        for conversation in
            [subject.dialogue("a"), chat(&["system", "user", "assistant"]), chat(&["user", "assistant"])]
        {
            let arena = TextArena::default();
            let segments = builder.segments(&conversation, &arena).unwrap_or_default();
            rendered.extend(segments.iter().filter_map(|segment| segment.part.role));
        }
    }
    // A role of the round has its turn even if it has no content and no text around it.
    let in_round = subject.roles.iter().take_while(|place| place.starts_with("meta_template.round"));
    rendered.extend((0..).zip(in_round).map(|(i, _)| i));
    rendered
}
