//! Templates in which ordinary text tells who speaks.

use crate::check::{Findings, Level, Lint, Subject};
use crate::compile::Atom;
use crate::error::Result;
use crate::render::{Segment, TextArena};

pub(super) const LINT: Lint = Lint {
    code: "speaker-in-text",
    level: Level::Note,
    about: "Ordinary text of the template marks who speaks next, and content can contain the same text.",
    why: "Whoever writes \"### Response:\" or \"[/INST]\" in a message can make another role speak, because the model \
        sees no difference. metatok prevents content from producing control tokens, but it cannot forbid words. If \
        others write your messages, look for such text in them, or use a model whose template marks turns with control \
        tokens.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Ok([_, score]) = &subject.builders else { return Ok(()) };
    let (dialogue, arena) = (subject.dialogue("a"), TextArena::default());
    let segments = score.segments(&dialogue, &arena)?;
    let contents: Vec<usize> = (0..segments.len()).filter(|&i| segments[i].part.is_content()).collect();
    for turns in contents.windows(2) {
        let between = &segments[turns[0] + 1..turns[1]];
        let Some((text, first)) = visible_text(between) else { continue };
        let role = |segment: &Segment<'_>| {
            let role = segment.part.role.and_then(|role| subject.role_templates().nth(role as usize));
            role.map_or("", |(_, role)| role.role.as_str()).to_owned()
        };
        let (before, after) = (role(&segments[turns[0]]), role(&segments[turns[1]]));
        if before != after {
            let message =
                format!("{text:?} makes {after:?} speak, but it is ordinary text that {before:?} can write too");
            let help =
                "look for it in messages that others write, or use a template that marks turns with control tokens";
            findings.add(subject.place(&first.part), message, help);
        }
    }
    Ok(())
}

/// The text, unless it is only white space or contains something else, and where its first word is.
fn visible_text<'s>(between: &'s [Segment<'s>]) -> Option<(String, &'s Segment<'s>)> {
    let text = |segment: &Segment<'s>| match segment.atom {
        Atom::Text(text) => Some(text.to_owned()),
        Atom::Token(_) => None,
    };
    let whole = between.iter().map(text).collect::<Option<String>>()?;
    let first = between.iter().find(|segment| text(segment).is_some_and(|text| !text.trim().is_empty()))?;
    Some((whole, first))
}
