//! Prompts that are strings, to which no template is applied.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::{Result, Setting, way_out};

pub(super) const LINT: Lint = Lint {
    code: "string-prompts",
    level: Level::Note,
    about: "Prompts are strings, and the model's template is not applied to them.",
    why: "As in OpenCompass, a string is a whole prompt: it gets no role, begin or end from the template, even with a \
        chat model. That is meant for base models and for texts to score. OpenCompass's chat wrappers send it as a \
        user message. Or write the dataset's template as a dialogue: round = [{ role = \"HUMAN\", prompt = \"…\" }, { \
        role = \"BOT\", prompt = \"…\" }].",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let strings = subject.seen.strings;
    if strings == 0 || subject.model.meta_template.is_none() {
        return Ok(());
    }
    let all = subject.seen.conversations;
    let has_layouts = subject.seen.dataset.as_ref().is_some_and(|seen| seen.dataset.task.has_layouts());
    let (message, place) = match &subject.seen.dataset {
        Some(seen) if strings == all => ("the prompts are strings".to_owned(), seen.dataset.name.as_str()),
        _ => (format!("{strings} of {all} prompts are strings"), "conversations"),
    };
    let help = match has_layouts {
        true => way_out![
            "use ",
            Setting::LAYOUT.set_to("chat"),
            " or ",
            Setting::LAYOUT.set_to("turns"),
            " to turn them into messages, or "
        ],
        false => {
            way_out!["use ", Setting::CHAT_WRAPPER.set_to("opencompass-chat"), " to make each one a user message, or "]
        }
    };
    let help = help.and(Setting::MODEL.set_to("plain")).and(" if this is intended");
    findings.add(place, format!("{message}: no role, begin or end of the template is written"), help);
    Ok(())
}
