//! Prompts that end with a space.

use crate::check::{Findings, Level, Lint, Subject};
use crate::compile::Atom;
use crate::error::Result;
use crate::render::{Element, TextArena};
use crate::template::{Affix, AffixItem, RoleTemplate};

pub(super) const LINT: Lint = Lint {
    code: "space-before-generation",
    level: Level::Warning,
    about: "Prompts to continue end with a space.",
    why: "In nearly all vocabularies the space belongs to the word after it. After a prompt that ends with a space, \
        the model must begin without one, which it rarely saw in training. Set generation_prompt to begin without \
        the space: begin = \"ASSISTANT: \", generation_prompt = \"ASSISTANT:\". A space before the model's turn \
        belongs into the begin of its role.",
    find,
};

const SPACES: [char; 2] = [' ', '\t'];

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(builder) = subject.generating() else { return Ok(()) };
    let Some(generating) = subject.role_templates().find(|(_, role)| role.generate) else { return Ok(()) };
    let (dialogue, arena) = (subject.dialogue("a"), TextArena::default());
    let segments = builder.segments(&dialogue, &arena)?;
    let last = segments.iter().rev().find(|segment| segment.atom != Atom::Text(""));
    if let Some(last) = last
        && let Atom::Text(text) = last.atom
        && text.ends_with(SPACES)
    {
        let ids = subject.tokenizer.encode(text)?;
        let token = ids.last().map(|&id| subject.name(id)).unwrap_or_default();
        findings.add(
            subject.place(&last.part),
            format!("prompts end with {text:?}, whose last token is {token}"),
            way_out(generating, last.part.element),
        );
    }
    Ok(())
}

/// How prompts end without the space, and answers still follow it.
fn way_out((place, role): (&str, &RoleTemplate), last: Element) -> String {
    if last == Element::GenerationPrompt {
        let written = role.generation_prompt.as_ref().unwrap_or(&role.begin);
        return format!("set generation_prompt to {}", without_space(written.clone()));
    }
    format!("move the space from there to the start of {place}.begin, and set {place}.generation_prompt to \"\"")
}

fn without_space(mut affix: Affix) -> Affix {
    while let Some(AffixItem::Text(text)) = affix.0.last_mut() {
        text.truncate(text.trim_end_matches(SPACES).len());
        if !text.is_empty() {
            break;
        }
        affix.0.pop();
    }
    affix
}
