//! Fields that a dataset's template never fills.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "unfilled-field",
    level: Level::Warning,
    about: "A field of the dataset's template is never filled, whatever columns the rows have.",
    why: "A MultiTurnPromptTemplate only fills {question} and {answer} in its round. An MMPromptTemplate only fills \
        the fields for the fragments of its content, unless all_columns = true. A ChatInferencer only uses the columns \
        that the reader names. Other fields stay in the prompt as they are written.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(seen) = &subject.seen.dataset else { return Ok(()) };
    for field in seen.dataset.unfilled_fields() {
        findings.add(seen.place(&field.place), field.never_filled(), seen.dataset.unfilled_help(&field));
    }
    Ok(())
}
