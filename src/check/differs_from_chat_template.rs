//! Models that write prompts in another way than the chat template of their tokenizer.

use std::collections::BTreeMap;

use crate::builder::{BuilderOptions, ContentTrust, PromptBuilder};
use crate::check::{Findings, Level, Lint, Subject};
use crate::dialect::Model;
use crate::diff::{Cause, Diff};
use crate::error::{Result, Setting, counted, way_out};

pub(super) const LINT: Lint = Lint {
    code: "differs-from-chat-template",
    level: Level::Note,
    about: "The model writes prompts in another way than the chat template of its tokenizer.",
    why: "A model was trained on what its chat template writes. The prompts of generated conversations are compared. \
        The template of a paper or a benchmark may differ on purpose; otherwise the answers get worse unnoticed.",
    find,
};

/// How many generated conversations of each kind are compared.
const EACH: usize = 16;

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(template) = &subject.chat_template else { return Ok(()) };
    let template = subject.model.template_as_verified(template.clone());
    // As `apply_chat_template` does: who may write which token is not the question.
    let content = ContentTrust::Trusted;
    let (mode, special_tokens) = (subject.options.mode, subject.options.special_tokens);
    let options = BuilderOptions { mode, special_tokens, content, ..BuilderOptions::default() };
    let builder = |model: &Model| PromptBuilder::new(model, subject.tokenizer.clone(), &options);
    // What cannot be built is found by other lints.
    let (Ok(ours), Ok(theirs)) = (builder(&subject.model), builder(&Model::from(template.clone()))) else {
        return Ok(());
    };
    let mut diff = Diff::new(ours, theirs);
    diff.see_generated(EACH, [&template], || true);
    if diff.different() > 0 {
        let all = diff.equal() + diff.refused() + diff.different();
        let message = format!(
            "the prompts of {} of {} differ from those of the tokenizer's chat template{}",
            diff.different(),
            counted(all as usize, "generated conversation"),
            causes(diff.causes()),
        );
        let help = way_out![
            "`metatok diff` with ",
            Setting::CONTENT.set_to("trusted"),
            " shows the first difference of each cause; if they are intended, allow this lint"
        ];
        findings.add("meta_template", message, help);
    }
    Ok(())
}

/// How many there are of each cause, if any cause is known.
fn causes(causes: &BTreeMap<Cause, u64>) -> String {
    if causes.keys().eq([&Cause::Other]) {
        return String::new();
    }
    let mut causes: Vec<_> = causes.iter().collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let causes: Vec<String> = causes.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
    format!(": {}", causes.join(", "))
}
