//! Tokenizers without a pad token.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "no-pad",
    level: Level::Note,
    about: "The tokenizer has no pad token.",
    why: "A batch of prompts of different lengths needs an id for padding. Any id will do if the attention mask is \
        used; eos is customary.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let special = subject.tokenizer.special_token_ids();
    if special.pad.is_none() && subject.model.pad_token_id.is_none() {
        let help = match special.eos {
            Some(eos) => format!("pad batches with eos, {}", subject.name(eos)),
            None => "set pad_token_id in the model file".to_owned(),
        };
        findings.add(subject.tokenizer.name(), "the tokenizer has no pad token", help);
    }
    Ok(())
}
