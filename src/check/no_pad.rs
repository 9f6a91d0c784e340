//! Tokenizers without a pad token.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "no-pad",
    level: Level::Note,
    about: "The tokenizer names no pad token.",
    why: "A batch of prompts of different lengths needs an id to fill up with. Any id will do where the attention mask is \
          honoured; eos is customary.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let special = subject.tokenizer.special_token_ids();
    if special.pad.is_none() && subject.model.pad_token_id.is_none() {
        let help = match special.eos {
            Some(eos) => format!("pad batches with eos, {}", subject.name(eos)),
            None => "name one as pad_token_id in the model file".to_owned(),
        };
        findings.add(subject.tokenizer.name(), "the tokenizer names no pad token", help);
    }
    Ok(())
}
