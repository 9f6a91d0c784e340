//! Tokens that the template relies on and content can write.

use crate::assemble::ContentTrust;
use crate::check::{Findings, Level, Lint, Subject};
use crate::compile::Atom;
use crate::error::{Result, Setting, way_out};
use crate::render::TextArena;
use crate::tokenizer::TokenId;

pub(super) const LINT: Lint = Lint {
    code: "content-writes-control",
    level: Level::Warning,
    about: "The template relies on a token that content can also produce.",
    why: "Content cannot produce an added token that a template uses. But an ordinary vocabulary entry that the \
        template names by id or by { token = \"…\" } is also ordinary text in content: whoever writes it can speak for \
        another role. Reserve it, or choose a control token. With trusted content this applies to every token.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    let Some(builder) = subject.generating() else { return Ok(()) };
    let trusted = subject.options.content == ContentTrust::Trusted;
    let is_open = |id: TokenId| trusted || !builder.is_reserved(id);
    let (dialogue, arena) = (subject.dialogue("a"), TextArena::default());
    for builder in subject.both() {
        for segment in builder.segments(&dialogue, &arena)? {
            let Atom::Token(id) = segment.atom else { continue };
            let writes = subject.tokenizer.id_to_token(id).unwrap_or_default();
            if is_open(id) {
                let help = match () {
                    () if trusted => way_out!["build without ", Setting::CONTENT.set_to("trusted")],
                    () if subject.options.unreserve.contains(&writes) => way_out!["build without ", Setting::UNRESERVE],
                    () => way_out!["build with ", Setting::RESERVE.set_to(writes), ", or use a control token"],
                };
                let message = format!("content can produce {}, which the template relies on", subject.name(id));
                findings.add(subject.place(&segment.part), message, help);
            }
        }
    }
    Ok(())
}
