//! Dialogues that lose turns because their lists differ in length.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "uneven-turns",
    level: Level::Warning,
    about: "The lists of a row's turns differ in length.",
    why: "There are as many turns as the shortest list has, as in the references; what the longer ones have more is left out. \
          A strict build refuses such rows. The first ten are named.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(seen) = &subject.seen.dataset else { return Ok(()) };
    let help = "give each question its answer, an empty one where there is none";
    for (place, what) in &seen.uneven.named {
        findings.add(place, what.as_str(), help);
    }
    match seen.uneven.rest() {
        0 => {}
        1 => findings.add("rows", "1 more row has such lists", help),
        rest => findings.add("rows", format!("{rest} more rows have such lists"), help),
    }
    Ok(())
}
