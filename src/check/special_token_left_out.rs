//! Special tokens that the tokenizer does not add because the template has them.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::{Result, Setting, way_out};

pub(super) const LINT: Lint = Lint {
    code: "special-token-left-out",
    level: Level::Note,
    about: "The template writes a special token that the tokenizer would also add.",
    why: "With special_tokens = \"auto\" it is written once: a token that the prompt already begins or ends with is \
        not added again. special_tokens = \"always\" adds it anyway, as Hugging Face does for a text.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let dialogue = subject.dialogue("a");
    for builder in subject.both() {
        let Ok(prompt) = builder.build(&dialogue) else { continue };
        for id in prompt.omitted {
            let message = format!("the template writes {}, so the tokenizer does not add it again", subject.name(id));
            let always = Setting::SPECIAL_TOKENS.set_to("always");
            let help = way_out!["nothing needs to be done; ", always, " would double it"];
            findings.add("meta_template", message, help);
        }
    }
    Ok(())
}
