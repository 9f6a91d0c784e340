//! The end of a prompt that is scored, separate from its context.

use crate::assemble::Assembler;
use crate::compile::Atom;
use crate::conversation::is_space;
use crate::error::{ErrorKind, Result, Setting, way_out};
use crate::render::Segment;

impl Assembler {
    /// Removes the last bytes of a prompt, and the white space that is then at its end: tokens begin with the space
    /// before a word.
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] if these bytes are not content.
    pub(crate) fn cut_continuation(&self, segments: &mut Vec<Segment<'_>>, mut bytes: usize) -> Result<()> {
        while bytes > 0 {
            let said = match segments.last_mut() {
                Some(Segment { atom: Atom::Text(text), part }) if part.is_content() => text,
                _ => return Err(not_at_the_end()),
            };
            let kept = said.len().saturating_sub(bytes);
            bytes -= said.len() - kept;
            *said = said.get(..kept).ok_or_else(not_at_the_end)?;
            if kept == 0 {
                segments.pop();
            }
        }
        while let Some(last) = segments.last_mut() {
            match &mut last.atom {
                Atom::Text(text) => *text = text.trim_end_matches(is_space),
                Atom::Token(id) if self.is_space(*id) => last.atom = Atom::Text(""),
                Atom::Token(_) => break,
            }
            if last.atom != Atom::Text("") {
                break;
            }
            segments.pop();
        }
        Ok(())
    }

    fn is_space(&self, id: crate::tokenizer::TokenId) -> bool {
        self.tokenizer.id_to_token(id).is_some_and(|token| token.chars().all(is_space))
    }
}

fn not_at_the_end() -> crate::Error {
    let what = "the scored text is not content at the end of the prompt";
    ErrorKind::Conversation(what.into()).with_way_out(way_out![
        "score what the last message ends with; a dataset's prompt that was turned into messages is laid out with ",
        Setting::LAYOUT.set_to("chat")
    ])
}
