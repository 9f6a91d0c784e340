//! Warnings of the builder that no other lint covers.

use crate::check::{Findings, Level, Lint, Subject, eos_not_in_end, ids_disagree, reserved_reachable, roles_only};
use crate::error::{Place, Result, Warning};

pub(super) const LINT: Lint = Lint {
    code: "build-warning",
    level: Level::Warning,
    about: "Building gives a warning that no other lint covers.",
    why: "`metatok build` prints this on standard error before the first prompt.",
    find,
};

/// Lints that repeat warnings of the builder, under the same code.
const COVERED_BY: [&Lint; 4] =
    [&eos_not_in_end::LINT, &ids_disagree::LINT, &reserved_reachable::LINT, &roles_only::LINT];

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    const HELP: &str = "fix what the message names; `metatok build` prints the same warning";
    for dataset in subject.seen.dataset.iter().map(|seen| &seen.dataset) {
        for doubt in dataset.doubts() {
            let name = Place::file(&dataset.name);
            let message = doubt.within(&name).to_string();
            findings.add(name, message, HELP);
        }
    }
    let Some(builder) = subject.builder() else { return Ok(()) };
    let mut covered = Vec::new();
    for lint in COVERED_BY {
        if !Findings::of(lint, subject)?.is_empty() {
            covered.push(lint.code);
        }
    }
    for warning in uncovered(builder.warnings(), &covered) {
        let name = Place::file(&subject.model.name);
        let message = warning.clone().within(&name).to_string();
        findings.add(name, message, HELP);
    }
    Ok(())
}

/// The warnings that have none of these codes.
fn uncovered<'w>(warnings: impl Iterator<Item = &'w Warning>, covered: &[&str]) -> Vec<&'w Warning> {
    warnings.filter(|warning| !covered.contains(&warning.code())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_that_no_lint_covers() {
        let warnings = [Warning::new("eos-not-in-end", "eos_token_id is 5"), Warning::new("other", "something else")];
        assert_eq!(uncovered(warnings.iter(), &["eos-not-in-end"]), [&warnings[1]]);
        // The lint that covers it found nothing.
        assert_eq!(uncovered(warnings.iter(), &[]), [&warnings[0], &warnings[1]]);
    }
}
