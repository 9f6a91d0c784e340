//! Prompts that begin with BOS twice.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "double-bos",
    level: Level::Warning,
    about: "Prompts begin with the BOS token twice.",
    why: "Models are trained with one BOS; two make answers measurably worse. This happens if special_tokens is always \
        and the template writes BOS too, or if the template writes it in begin and again in its first role.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let tokenizer = &subject.tokenizer;
    let (around, _) = tokenizer.special_tokens_around();
    let Some(bos) = tokenizer.special_token_ids().bos.or(around.first().copied()) else { return Ok(()) };
    let dialogue = subject.dialogue("a");
    for builder in subject.both() {
        let Ok(prompt) = builder.build(&dialogue) else { continue };
        if prompt.input_ids.starts_with(&[bos, bos]) {
            let help =
                "write it once, and leave special_tokens at auto, which does not add BOS to a prompt that has one";
            findings.add("meta_template", format!("prompts begin with {} twice", subject.name(bos)), help);
        }
    }
    Ok(())
}
