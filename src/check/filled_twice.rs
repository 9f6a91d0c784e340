//! Rows whose text is mistaken for fields of the template.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "filled-twice",
    level: Level::Warning,
    about: "A row or example has text that looks like a field, and is filled in as one.",
    why: "Columns are filled in one after the other, as in the reference implementations, so \"{answer}\" in a \
        question is replaced by the answer. Examples are filled in from the row that is asked. The references' scores \
        depend on this. If you need not match them, substitution = \"single-pass\" only searches the template's own \
        text. The first ten rows are listed.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let seen = &subject.seen.filled_twice;
    let help = "set substitution = \"single-pass\" in the template, unless prompts must equal those of the references";
    for (place, ()) in &seen.named {
        findings.add(place, "text from one column contains a field that is filled in again", help);
    }
    findings.add_rest(seen.rest(), ["is filled in twice", "are filled in twice"], help);
    Ok(())
}
