//! Rows without a column that the dataset's template names.

use crate::check::seen::SeenDataset;
use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "missing-column",
    level: Level::Warning,
    about: "Some rows lack a column that the dataset's template names.",
    why: "In the prompts of such rows the field stays as it is written, braces and all, as in the reference \
        implementations. A strict build rejects the rows. The same applies to rows used as examples.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(seen) = &subject.seen.dataset else { return Ok(()) };
    for lacking in seen.lacking.iter().chain(&seen.possible) {
        let (some, all) = (lacking.rows.in_all, seen.rows);
        if some > 0 && some < all {
            let lack = if some == 1 { "lacks" } else { "lack" };
            let column = &lacking.field.column;
            let message = format!("{some} of {all} rows {lack} the column {column:?}, first {}", lacking.rows.first());
            let help = format!("add the column to every row; without it, {{{column}}} stays in the prompt");
            findings.add(seen.place(&lacking.field.place), message, help);
        }
    }
    for lacking in seen.expanded.iter().filter(|lacking| seen.rows > 0 && lacking.rows.in_all == seen.rows) {
        let column = &lacking.field.column;
        let message = format!("no row has the column {column:?}, whose messages would be inserted");
        findings.add(seen.place(&lacking.field.place), message, columns_there(seen, column));
    }
    let possible = seen.possible_examples.iter().filter(|lacking| lacking.rows.in_all < seen.train_rows);
    for lacking in seen.lacking_examples.iter().chain(possible).filter(|lacking| lacking.rows.in_all > 0) {
        let (some, all, column) = (lacking.rows.in_all, seen.train_rows, &lacking.field.column);
        let lack = if some == 1 { "lacks" } else { "lack" };
        let message = format!("{some} of {all} rows for examples {lack} the column {column:?}");
        findings.add(seen.place(&lacking.field.place), message, columns_there(seen, column));
    }
    for warning in &seen.misspelt {
        let place = warning.places().iter().map(ToString::to_string).collect::<Vec<_>>().join(": ");
        let help = "correct the name: by it the answer is left out of its prompt, and examples are chosen";
        findings.add(seen.place(place), warning.message(), help);
    }
    Ok(())
}

/// The rows' columns, those with a similar name first.
pub(super) fn columns_there(seen: &SeenDataset, column: &str) -> String {
    let near = seen.columns.iter().find(|known| *known != column && known.eq_ignore_ascii_case(column));
    if let Some(near) = near {
        return format!("did you mean {{{near}}}?");
    }
    let known: Vec<&str> = seen.columns.iter().map(String::as_str).filter(|known| *known != column).collect();
    match known.is_empty() {
        true => "name the fields of the template after the rows' columns".to_owned(),
        false => format!("the columns are {}", known.join(", ")),
    }
}
