//! Templates that name roles but write no text.

use crate::builder::{ROLES_ONLY, name_a_template};
use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "roles-only",
    level: Level::Warning,
    about: "The template names roles for an API but writes no text.",
    why: "Such a template is for models behind an API, which accept messages. As token ids, nothing tells the roles \
        apart: prompts are just the contents, one message after the other. OpenCompass's chat wrappers accept it too, \
        and write the tokenizer's chat template: name the model that has this template, and use OpenCompass's chat \
        wrapper.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    if subject.template.names_roles_only() {
        findings.add("meta_template", ROLES_ONLY, name_a_template());
    }
    Ok(())
}
