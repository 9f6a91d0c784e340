//! Everything else that cannot be built.

use crate::check::{Findings, Level, Lint, Subject, id_outside_vocabulary, subject, token_of_several_ids};
use crate::error::{Error, Place, Result};

pub(super) const LINT: Lint = Lint {
    code: "refused",
    level: Level::Error,
    about: "The model, or a given conversation, cannot be built.",
    why: "This is the error that `metatok build` would stop with. The first ten conversations are listed.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let help = "fix what the message names; `metatok build` stops with the same error";
    if let Some(error) = subject.error()
        && !is_covered(subject, &error.to_string())?
    {
        let name = Place::file(&subject.model.name);
        findings.add(name.clone(), error.message_within(&name), error.way_out_or(help));
    }
    let seen = &subject.seen;
    // These have a lint of their own.
    let others = |(_, error): &&(String, Error)| !subject::is_outside_round(error);
    for (place, error) in seen.refused.named.iter().filter(others) {
        let help = error.way_out_or(help);
        findings.add(place, error.message_within(&Place::from(place)), help);
    }
    let rest = seen.refused.rest();
    if rest > 0 {
        findings.add("conversations", format!("{rest} more of {} cannot be built", seen.conversations), help);
    }
    Ok(())
}

/// Whether another lint covers this.
fn is_covered(subject: &Subject, message: &str) -> Result<bool> {
    for lint in [&id_outside_vocabulary::LINT, &token_of_several_ids::LINT] {
        let covers =
            |finding: &crate::check::Finding| message.contains(&format!("{}: {}", finding.place, finding.message));
        if Findings::of(lint, subject)?.iter().any(covers) {
            return Ok(true);
        }
    }
    Ok(false)
}
