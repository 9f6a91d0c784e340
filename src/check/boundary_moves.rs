//! Template text that merges with the content before it.

use crate::check::{Findings, Level, Lint, Subject};
use crate::common_prefix::common_prefix;
use crate::compile::Atom;
use crate::error::Result;
use crate::render::{Element, Segment, TextArena};
use crate::tokenizer::{TokenId, Tokenizer};

pub(super) const LINT: Lint = Lint {
    code: "boundary-moves",
    level: Level::Note,
    about: "A template text's first characters merge with the content before it.",
    why: "The prompt is right: metatok encodes both as one text, as the tokenizer would. But one token then belongs to \
        both the content and the template, so a loss mask or a cached prefix that should end with the content ends \
        elsewhere. A control token between them keeps the boundary.",
    find,
};

/// What content often ends with.
const ENDINGS: [&str; 7] = ["a", "1", ".", "?", ")", "\"", "。"];

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let (dialogue, arena) = (subject.dialogue("a"), TextArena::default());
    for builder in subject.both() {
        let segments = builder.segments(&dialogue, &arena)?;
        for (i, pair) in segments.windows(2).enumerate() {
            let [Segment { part: before, .. }, Segment { atom: Atom::Text(text), part }] = pair else { continue };
            if !before.is_content() || part.is_content() || part.element == Element::SpecialToken {
                continue;
            }
            // With what follows, which may complete a control token.
            let written = segments[i + 1..].iter().map_while(text_of_template).collect::<String>();
            for ending in ENDINGS {
                if let Some(merged) = merged(&subject.tokenizer, ending, &written)? {
                    let shared = subject.name(merged);
                    let message =
                        format!("{text:?} merges with content before it: they share {shared} after {ending:?}");
                    let help = "put a control token between them if masks or cached prefixes must end with the content";
                    findings.add(subject.place(part), message, help);
                    break;
                }
            }
        }
    }
    Ok(())
}

fn text_of_template<'a>(segment: &Segment<'a>) -> Option<&'a str> {
    match segment.atom {
        Atom::Text(text) if !segment.part.is_content() => Some(text),
        _ => None,
    }
}

/// The token shared by content with this ending and the text after it.
fn merged(tokenizer: &Tokenizer, ending: &str, text: &str) -> Result<Option<TokenId>> {
    let alone = tokenizer.encode(ending)?;
    let together = tokenizer.encode(&format!("{ending}{text}"))?;
    let same = common_prefix(&alone, &together);
    Ok(together.get(same).copied().filter(|_| same < alone.len()))
}
