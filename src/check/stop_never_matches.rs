//! Stop strings that no output can contain.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::{Place, Result, Setting};
use crate::tokenizer::TokenId;

pub(super) const LINT: Lint = Lint {
    code: "stop-never-matches",
    level: Level::Warning,
    about: "A stop string can never match.",
    why: "Engines look for stop strings in decoded text, which has no special tokens, and a tokenizer may fold case or \
        drop characters. A control token belongs in stop.token_ids or eos_token_id instead.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let model = subject
        .model
        .stop
        .strings
        .iter()
        .enumerate()
        .map(|(i, text)| (Place::from(format!("stop.strings[{i}]")), text));
    let user = subject.options.stop_strings.iter().map(|text| (Setting::STOP_STRINGS.into(), text));
    for (place, text) in model.chain(user) {
        if text.is_empty() {
            findings.add(place, "it is empty, so it is ignored", "remove it, or write what to stop at");
            continue;
        }
        // In the middle, because tokenizers treat the edges of a text differently.
        let ids = subject.tokenizer.encode(&format!("a{text}a"))?;
        let decoded = subject.tokenizer.decode(&ids, true)?;
        if !decoded.contains(text.as_str()) {
            let is_special = |id: &&TokenId| subject.tokenizer.added_token(**id).is_some_and(|token| token.special);
            let help = match ids.iter().find(is_special) {
                Some(id) => format!(
                    "stop at the id of {} instead: stop.token_ids = [{id}]",
                    subject.tokenizer.quoted_token(*id)
                ),
                None => "write it as the tokenizer decodes it".to_owned(),
            };
            findings.add(
                place,
                format!("{text:?} never appears in output: between two letters it is decoded as {decoded:?}"),
                help,
            );
        }
    }
    Ok(())
}
