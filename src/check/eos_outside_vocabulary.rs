//! Stop ids in the tokenizer's files that the tokenizer does not have.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;

pub(super) const LINT: Lint = Lint {
    code: "eos-outside-vocabulary",
    level: Level::Warning,
    about: "generation_config.json names an eos id that the tokenizer does not have.",
    why: "An engine stops at this id and may well see it, because models often have room for more ids than their \
        tokenizer has. But either the tokenizer lacks the token that ends a turn, or the two files belong to different \
        models. Compare them with the model's original repository.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let ids = &subject.tokenizer.special_token_ids().generation_eos;
    for (i, &id) in ids.iter().enumerate() {
        if let Err(error) = subject.tokenizer.check_id(id.into()) {
            let key = if ids.len() == 1 { "eos_token_id".to_owned() } else { format!("eos_token_id[{i}]") };
            let place = format!("{}: generation_config.json: {key}", subject.tokenizer.name());
            let help = "take generation_config.json and the tokenizer's files from the same repository and revision";
            findings.add(place, error.to_string(), help);
        }
    }
    Ok(())
}
