//! Files of one tokenizer that contradict each other.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "ids-disagree",
    level: Level::Warning,
    about: "tokenizer.json and tokenizer_config.json contradict each other about a token or an id.",
    why: "Libraries then disagree too: a library that appends the tokens that tokenizer.json lacks gives the token a \
        different id from the one that the model was trained with. metatok uses the declared id; check that the \
        engine's model does too. A special token that tokenizer.json lacks is left out, so nothing stops at such an \
        eos.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    for conflict in subject.tokenizer.conflicts() {
        let help =
            "take the tokenizer's files from one revision of one repository, and compare them with the model's own ids";
        findings.add(subject.tokenizer.name(), conflict.as_str(), help);
    }
    Ok(())
}
