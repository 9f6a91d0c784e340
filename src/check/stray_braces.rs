//! Braces in a dataset's template that look like a field but are not one.

use crate::check::{Findings, Level, Lint, Subject};
use crate::dataset::template::stray_braces;
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "stray-braces",
    level: Level::Warning,
    about: "Braces in the dataset's template look like a field but are not one.",
    why: "A field is a column's name in one pair of braces, without spaces: {question}. Everything else stays in the \
        prompt as it is written. Python's format codes and doubled braces have no effect, as in the reference \
        implementations. If the braces are intended, allow this code.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(seen) = &subject.seen.dataset else { return Ok(()) };
    let is_column = |name: &str| seen.columns.contains(name);
    for text in seen.dataset.texts() {
        for stray in stray_braces(&text.text, is_column) {
            findings.add(seen.place(&text.place), stray.message(), stray.help());
        }
    }
    Ok(())
}
