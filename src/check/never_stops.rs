//! Nothing ends the model's output.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "never-stops",
    level: Level::Warning,
    about: "There is no stop id and no stop string.",
    why: "The engine would generate until its limit. metatok found no eos_token_id in the template, no control token \
        at the start of the generating role's end, no eos in the tokenizer's files, and no stop in the model file.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    if subject.generating().is_some_and(|builder| builder.stop().is_empty()) {
        let help = "set meta_template.eos_token_id, or stop.strings";
        findings.add(&subject.model.name, "there is no stop id and no stop string", help);
    }
    Ok(())
}
