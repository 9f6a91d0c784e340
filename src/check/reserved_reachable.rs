//! Reserved tokens that ordinary text gives.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "reserved-reachable",
    level: Level::Warning,
    about: "Ordinary merges reach a reserved token, so that content which spells it gives it.",
    why: "metatok refuses such content, because it would forge a control token. If it occurs in your data, change the text, \
          or trust the content.",
    find,
};

fn find(subject: &Subject<'_>, findings: &mut Findings) -> Result<()> {
    let Some(builder) = subject.generating() else { return Ok(()) };
    for id in builder.reachable()? {
        let message = format!("content that spells {} gives it, and is refused", subject.name(id));
        findings.add(subject.tokenizer.name(), message, "change such content, or build with --content trusted");
    }
    Ok(())
}
