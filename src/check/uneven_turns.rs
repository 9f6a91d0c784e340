//! Dialogues that lose turns or answers: their lists differ in length, or a question has no answer.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "uneven-turns",
    level: Level::Warning,
    about: "The lists of a row's turns differ in length, or a row lacks answers.",
    why: "There are as many turns as the shortest list has, as in the reference implementations. The rest of the \
        longer lists is left out. Only what has an answer in the dataset is asked, so a last question without one is \
        left out, too. Answers that are missing in earlier turns are empty. A strict build rejects such rows. The first \
        ten are listed.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(seen) = &subject.seen.dataset else { return Ok(()) };
    let help = "give each question an answer, which may be empty";
    for (place, what) in &seen.uneven.named {
        findings.add(place, what.as_str(), help);
    }
    findings.add_rest(seen.uneven.rest(), ["loses turns", "lose turns"], help);
    Ok(())
}
