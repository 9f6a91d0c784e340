//! Strings that look like control tokens but are not.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;
use crate::template::AffixItem;

pub(super) const LINT: Lint = Lint {
    code: "unknown-control-token",
    level: Level::Warning,
    about: "A string looks like a control token, or like its id, but is not a token of this tokenizer.",
    why: "It is split into ordinary pieces, which the model rarely saw in training, and content can write the same. \
        Look for a spelling mistake, or for a template that belongs to another tokenizer. A few models do use such \
        strings as text: for these, put allow = [\"unknown-control-token\"] in the model file.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    for (place, affix) in subject.affixes() {
        for item in &affix.0 {
            let AffixItem::Text(text) = item else { continue };
            if let Some(id) = text.parse().ok().filter(|id| subject.tokenizer.added_token(*id).is_some()) {
                let message = format!("{text:?} is text, not the token {}", subject.name(id));
                findings.add(&place, message, "write the id in a list, without quotes");
            }
            for look in subject.tokenizer.unknown_control_tokens(text)? {
                let pieces = subject.pieces(look)?;
                let message = format!("{look:?} is not a token in this vocabulary; it is split into {pieces}");
                let help = "write a token that the tokenizer has, or plain words";
                let help = match subject.tokenizer.added_like(look) {
                    Some(near) => format!("did you mean `{near}`? otherwise, {help}"),
                    None => help.to_owned(),
                };
                findings.add(&place, message, help);
            }
        }
    }
    Ok(())
}
