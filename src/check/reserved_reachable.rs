//! Reserved tokens that ordinary text produces.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::{Place, Result, Setting, way_out};

pub(super) const LINT: Lint = Lint {
    code: "reserved-reachable",
    level: Level::Warning,
    about: "Ordinary merges produce a reserved token, and no other tokens have the same text.",
    why: "Content that spells the token would forge it. If other tokens have the same bytes, metatok writes those \
        instead. For this token there are none, so such content is rejected. If it occurs in your data, change the \
        text, or unreserve the token.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(builder) = subject.generating() else { return Ok(()) };
    let refused = builder.reachable()?.into_iter().filter(|(_, others)| others.is_none());
    for (id, _) in refused {
        let message = format!("content that spells {} would produce it, and is rejected", subject.name(id));
        let help = way_out!["change such content, or name the token in ", Setting::UNRESERVE];
        findings.add(Place::file(subject.tokenizer.name()), message, help);
    }
    Ok(())
}
