//! An eos id that the model does not write when its turn ends.

use crate::check::{Findings, Level, Lint, Subject};
use crate::compile::Atom;
use crate::error::Result;
use crate::tokenizer::TokenId;

pub(super) const LINT: Lint = Lint {
    code: "eos-not-in-end",
    level: Level::Warning,
    about: "eos_token_id is not the first id of the generating role's end.",
    why: "At the end of its turn, the model writes the first id of that role's end. If eos_token_id is a different id, \
        the output does not stop there, or the model was trained with another template. White space before that id \
        does no harm.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(compiled) = &subject.compiled else { return Ok(()) };
    let eos: Vec<TokenId> =
        subject.template.eos_token_id.0.iter().filter_map(|&id| TokenId::try_from(id).ok()).collect();
    if eos.is_empty() {
        return Ok(());
    }
    let written: Vec<String> = eos.iter().map(|&id| subject.name(id)).collect();
    for (place, role) in subject.roles.iter().zip(&compiled.roles).filter(|(_, role)| role.generate) {
        let is_space = |atom: &&Atom| matches!(atom, Atom::Text(text) if text.trim().is_empty());
        let help = format!("begin {place}.end with eos_token_id");
        let (first, help) = match role.end.iter().find(|atom| !is_space(atom)) {
            Some(Atom::Token(id)) if eos.contains(id) => continue,
            Some(Atom::Token(id)) => {
                (subject.name(*id), format!("{help}, or set eos_token_id to the first id of {place}.end"))
            }
            Some(Atom::Text(text)) => match subject.tokenizer.encode(text)?.first() {
                Some(&id) => (format!("{}, the first piece of {text:?}", subject.name(id)), help),
                None => continue,
            },
            // The next speaker closes the turn.
            None => continue,
        };
        findings.add(
            "meta_template.eos_token_id",
            format!("{} is not the first id of {place}.end, which is {first}", written.join(", ")),
            help,
        );
    }
    Ok(())
}
