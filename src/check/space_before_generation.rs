//! Prompts that end with a space.

use crate::check::{Findings, Level, Lint, Subject};
use crate::compile::Atom;
use crate::error::Result;
use crate::render::TextArena;

pub(super) const LINT: Lint = Lint {
    code: "space-before-generation",
    level: Level::Warning,
    about: "Prompts to continue end with a space.",
    why: "In nearly all vocabularies the space belongs to the word after it. After a prompt that ends with a space, \
        the model must begin without one, which it rarely saw in training. Set generation_prompt to the text without \
        the space: begin = \"ASSISTANT: \", generation_prompt = \"ASSISTANT:\".",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(builder) = subject.generating() else { return Ok(()) };
    if !subject.template.roles().any(|(_, role)| role.generate) {
        return Ok(());
    }
    let (dialogue, arena) = (subject.dialogue("a"), TextArena::default());
    let segments = builder.segments(&dialogue, &arena)?;
    let last = segments.iter().rev().find(|segment| segment.atom != Atom::Text(""));
    if let Some(last) = last
        && let Atom::Text(text) = last.atom
        && text.ends_with([' ', '\t'])
    {
        let ids = subject.tokenizer.encode(text)?;
        let token = ids.last().map(|&id| subject.name(id)).unwrap_or_default();
        findings.add(
            subject.place(&last.part),
            format!("prompts end with {text:?}, whose last token is {token}"),
            format!("set generation_prompt to {:?}", text.trim_end_matches([' ', '\t'])),
        );
    }
    Ok(())
}
