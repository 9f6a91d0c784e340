//! What building warns of, where no other lint says it.

use crate::builder::ROLES_ONLY;
use crate::check::{Findings, Level, Lint, Subject, eos_not_in_end, reserved_reachable, roles_only};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "build-warning",
    level: Level::Warning,
    about: "Building warns of something that no other lint is about.",
    why: "`metatok build` says this on standard error before the first prompt.",
    find,
};

/// Lints that say what building warns of, with words that its warning has.
const SAID_BY: [(&Lint, &str); 3] = [
    (&eos_not_in_end::LINT, "eos_token_id"),
    (&reserved_reachable::LINT, "reserved token"),
    (&roles_only::LINT, ROLES_ONLY),
];

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(builder) = subject.builder() else { return Ok(()) };
    let mut words = Vec::new();
    for (lint, of_its_warning) in SAID_BY {
        if !Findings::of(lint, subject)?.is_empty() {
            words.push(of_its_warning);
        }
    }
    let warnings: Vec<String> = builder.warnings().map(ToString::to_string).collect();
    for warning in unsaid(&warnings, &words) {
        let name = &subject.model.name;
        let message = warning.strip_prefix(&format!("{name}: ")).unwrap_or(warning);
        findings.add(name, message, "mend what the message names; `metatok build` warns of the same");
    }
    Ok(())
}

/// The warnings that have none of these words.
fn unsaid<'w>(warnings: &'w [String], words: &[&str]) -> Vec<&'w str> {
    let is_said = |warning: &&str| words.iter().any(|words| warning.contains(words));
    warnings.iter().map(String::as_str).filter(|warning| !is_said(warning)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_lint_says() {
        let warnings = ["m.toml: meta_template: eos_token_id is 5", "m.toml: something else"].map(str::to_owned);
        assert_eq!(unsaid(&warnings, &["eos_token_id"]), ["m.toml: something else"]);
        // The lint that would say it found nothing.
        assert_eq!(unsaid(&warnings, &[]), ["m.toml: meta_template: eos_token_id is 5", "m.toml: something else"]);
    }
}
