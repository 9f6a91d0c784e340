//! Messages inside a round whose role has no turn in rounds.

use crate::check::{Findings, Level, Lint, Subject, subject};
use crate::error::{Place, Result};

pub(super) const LINT: Lint = Lint {
    code: "role-outside-round",
    level: Level::Error,
    about: "A message inside a round has a role that has no turn there.",
    why: "As in OpenCompass, only the roles of the template's round speak inside rounds. Reserved roles, such as \
        SYSTEM, speak in the begin section. OpenCompass's parser for language models loses such a message, and its \
        chat wrappers turn SYSTEM into the user.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    for (place, error) in subject.seen.refused.named.iter().filter(|(_, error)| subject::is_outside_round(error)) {
        let help = "move the message to the begin section of the dataset's template";
        findings.add(place, error.message_within(&Place::from(place)), error.way_out_or(help));
    }
    Ok(())
}
