//! Control tokens that remove white space from the content next to them.

use crate::check::{Findings, Level, Lint, Subject};
use crate::compile::Atom;
use crate::error::Result;
use crate::render::{Segment, TextArena};

pub(super) const LINT: Lint = Lint {
    code: "strips-content",
    level: Level::Warning,
    about: "A control token with lstrip or rstrip is next to content and removes its white space.",
    why: "The tokenizer declares that the token includes the white space on that side, so the indentation of code or a \
        leading newline never reaches the model. The tokenizer treats its own chat template the same way. It matters \
        if white space carries meaning.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let (dialogue, arena) = (subject.dialogue("a"), TextArena::default());
    for builder in subject.both() {
        let segments = builder.segments(&dialogue, &arena)?;
        for (i, segment) in segments.iter().enumerate() {
            let Atom::Token(id) = segment.atom else { continue };
            let Some(token) = subject.tokenizer.added_token(id) else { continue };
            let mut add = |side: &str, flag: &str| {
                let message = format!("{} has {flag}: white space {side} of content is lost", subject.name(id));
                let help =
                    "put visible text between the token and the content, or accept it: the model was trained this way";
                findings.add(subject.place(&segment.part), message, help);
            };
            if token.rstrip && reaches_content(segments[i + 1..].iter()) {
                add("at the start", "rstrip");
            }
            if token.lstrip && reaches_content(segments[..i].iter().rev()) {
                add("at the end", "lstrip");
            }
        }
    }
    Ok(())
}

/// Whether only white space comes before the first content.
fn reaches_content<'s>(mut segments: impl Iterator<Item = &'s Segment<'s>>) -> bool {
    let first = segments.find(|segment| {
        let is_space = matches!(segment.atom, Atom::Text(text) if text.chars().all(char::is_whitespace));
        segment.part.is_content() || !is_space
    });
    first.is_some_and(|segment| segment.part.is_content())
}
