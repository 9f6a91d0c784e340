//! Named tokens that are not one vocabulary entry.

use crate::check::{Findings, Level, Lint, Subject};
use crate::compile::not_one_token;
use crate::error::{Place, Result, Setting};
use crate::template::AffixItem;

pub(super) const LINT: Lint = Lint {
    code: "token-of-several-ids",
    level: Level::Error,
    about: "The tokenizer needs several ids for a { token = \"…\" }.",
    why: "A control token that is split into pieces controls nothing: the model has never seen those pieces together \
        in that place. Name a token that exists, or write a plain string if the pieces are intended.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    findings.level = subject.level_of_refusal();
    let mut check = |token: &str, place: Place| {
        if subject.tokenizer.token_to_id(token).is_none() {
            let error = not_one_token(token, &subject.tokenizer);
            findings.add(place, error.kind().to_string(), "name a token that exists, or write a plain string");
        }
    };
    for (tokens, option) in
        [(&subject.options.reserve, Setting::RESERVE), (&subject.options.unreserve, Setting::UNRESERVE)]
    {
        tokens.iter().for_each(|token| check(token, option.clone().into()));
    }
    for (place, affix) in subject.affixes() {
        for (i, item) in affix.0.iter().enumerate() {
            if let AffixItem::Token(token) = item {
                check(token, format!("{place}[{i}]").into());
            }
        }
    }
    Ok(())
}
