//! Ids that the tokenizer does not have.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::{Place, Result, Setting};
use crate::template::AffixItem;
use crate::tokenizer::AddSpecialTokens;

pub(super) const LINT: Lint = Lint {
    code: "id-outside-vocabulary",
    level: Level::Error,
    about: "A token id that the tokenizer does not have.",
    why: "The model has no embedding for such an id, so prompts cannot be built. Take the id from the tokenizer's \
        files, or name the token instead: { token = \"<|im_end|>\" }. Often the template belongs to another tokenizer.",
    find,
};

const HELP: &str = "take the id from the tokenizer's files, or name the token: { token = \"…\" }";

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    findings.level = subject.level_of_refusal();
    let mut check = |id: i64, place: Place, help: &'static str| {
        if let Err(error) = subject.tokenizer.check_id(id.into()) {
            findings.add(place, error.to_string(), help);
        }
    };
    let is_added = |added: Option<AddSpecialTokens>| added != Some(AddSpecialTokens::Never);
    if is_added(subject.options.special_tokens.or(subject.model.special_tokens)) {
        let (before, after) = subject.tokenizer.special_tokens_around();
        for &id in before.iter().chain(after) {
            let place = "post_processor of the tokenizer".into();
            check(id.into(), place, "correct it, or set special_tokens to never");
        }
    }
    for (place, affix) in subject.affixes() {
        for (i, item) in affix.0.iter().enumerate() {
            if let AffixItem::Id(id) = item {
                check(*id, format!("{place}[{i}]").into(), HELP);
            }
        }
    }
    if let Some(id) = subject.model.pad_token_id {
        check(id, "pad_token_id".into(), HELP);
    }
    for &id in &subject.options.stop_token_ids {
        check(id, Setting::STOP_TOKEN_IDS.into(), HELP);
    }
    for (key, ids) in [
        ("meta_template.eos_token_id", &subject.template.eos_token_id),
        ("stop.token_ids", &subject.model.stop.token_ids),
    ] {
        for (i, &id) in ids.0.iter().enumerate() {
            check(id, if ids.0.len() == 1 { key.into() } else { format!("{key}[{i}]").into() }, HELP);
        }
    }
    Ok(())
}
