//! Templates that name roles but write no text.

use crate::builder::{ROLES_ONLY, name_a_template};
use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "roles-only",
    level: Level::Warning,
    about: "The template names roles for an API and writes no text.",
    why: "Such a template is for models behind an API, which take messages. As token ids nothing tells who speaks: prompts are \
          what is said, one message behind the other. OpenCompass's chat wrappers take it too, and then write the \
          tokenizer's chat template: name the model that has it, and OpenCompass's chat wrapper.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    if subject.template.names_roles_only() {
        findings.add("meta_template", ROLES_ONLY, name_a_template());
    }
    Ok(())
}
