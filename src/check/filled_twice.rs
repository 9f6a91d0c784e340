//! Rows whose text is mistaken for fields of the template.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "filled-twice",
    level: Level::Warning,
    about: "A row or example has text that looks like a field, and is filled in as one.",
    why: "Columns are filled one after the other, as in the references, so \"{answer}\" in a question brings in the answer, and \
          examples are filled from the row that is asked. Scores of the references depend on it; where they are not to be matched, \
          substitution = \"single-pass\" searches the template's own text only. The first ten rows are named.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let seen = &subject.seen.filled_twice;
    let help = "write substitution = \"single-pass\" into the template, unless prompts must equal the references'";
    for (place, ()) in &seen.named {
        findings.add(place, "text that a column brings in is filled in again", help);
    }
    match seen.rest() {
        0 => {}
        1 => findings.add("rows", "1 more row is filled in twice", help),
        rest => findings.add("rows", format!("{rest} more rows are filled in twice"), help),
    }
    Ok(())
}
