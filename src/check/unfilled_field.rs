//! Fields that a dataset's template leaves as they are.

use crate::check::{Findings, Level, Lint, Subject};
use crate::dataset::{AnyTemplate, InferencerKind};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "unfilled-field",
    level: Level::Warning,
    about: "A field of the dataset's template is never filled, whatever the rows have.",
    why: "A MultiTurnPromptTemplate fills {question} and {answer} in its round and nothing else; an MMPromptTemplate fills what \
          stands for the fragments of its content, unless all_columns = true; a ChatInferencer takes only the columns that the \
          reader names. Other fields stand in the prompt as they are written.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(seen) = &subject.seen.dataset else { return Ok(()) };
    for field in seen.dataset.unfilled_fields() {
        let help = match &seen.dataset.task.prompt_template {
            Some(AnyTemplate::Turns(_)) => {
                "only {question} and {answer} of the round are filled; write it out".to_owned()
            }
            Some(AnyTemplate::Multimodal(_)) => "write all_columns = true into the template".to_owned(),
            _ if seen.dataset.inferencer.kind == InferencerKind::Chat => {
                format!("add {:?} to reader_cfg.input_columns", field.column)
            }
            _ => "write it out".to_owned(),
        };
        let message = format!("{{{}}} stays as it is in every prompt", field.column);
        findings.add(seen.place(&field.place), message, help);
    }
    Ok(())
}
