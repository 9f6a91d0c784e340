//! Fields of a dataset's template that no row fills.

use crate::check::{Findings, Level, Lint, Subject, missing_column};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "no-such-column",
    level: Level::Error,
    about: "A dataset's template names a column that no row has.",
    why: "The field would stay in every prompt as it is written, braces and all. Look for a spelling mistake, or for \
        rows of another dataset. If the braces are meant as text, use substitution by tokens: column_token_map.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(seen) = &subject.seen.dataset else { return Ok(()) };
    for lacking in seen.lacking.iter().filter(|lacking| seen.rows > 0 && lacking.rows.in_all == seen.rows) {
        let column = &lacking.field.column;
        let message = match seen.rows {
            1 => format!("the row has no column {column:?}"),
            rows => format!("none of the {rows} rows has a column {column:?}"),
        };
        findings.add(seen.place(&lacking.field.place), message, missing_column::columns_there(seen, column));
    }
    Ok(())
}
