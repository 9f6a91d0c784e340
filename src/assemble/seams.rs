//! Control tokens that two texts of a template spell only together.

use crate::assemble::owners::texts;
use crate::compile::Atom;
use crate::error::Result;
use crate::render::{Part, Segment};
use crate::tokenizer::{Cut, Tokenizer};

/// Cuts the texts of the template again where they stand side by side, because together they may
/// spell a control token that neither holds alone. Content beside them has no part in it.
pub(crate) fn close<'a>(segments: &[Segment<'a>], tokenizer: &Tokenizer) -> Result<Vec<Segment<'a>>> {
    let mut closed = Vec::with_capacity(segments.len());
    let is_template_text = |segment: &Segment| matches!(segment.atom, Atom::Text(_)) && !segment.part.is_content();
    for group in segments.chunk_by(|a, b| is_template_text(a) && is_template_text(b)) {
        let texts: Vec<(&'a str, Part)> = texts(group).collect();
        let joined: String = texts.iter().map(|(text, _)| *text).collect();
        let cuts = if texts.len() > 1 { tokenizer.cut(&joined)? } else { Vec::new() };
        if cuts.iter().all(|cut| cut.token.is_none()) {
            closed.extend_from_slice(group);
            continue;
        }
        cut_texts(&texts, &cuts, &mut closed);
    }
    Ok(closed)
}

/// Appends what texts side by side are when they are cut. A token belongs to the text of its last byte.
pub(super) fn cut_texts<'a>(texts: &[(&'a str, Part)], cuts: &[Cut], segments: &mut Vec<Segment<'a>>) {
    for Cut { token, bytes } in cuts {
        let mut start = 0;
        for &(text, part) in texts {
            let piece = bytes.start.clamp(start, start + text.len())..bytes.end.clamp(start, start + text.len());
            match *token {
                Some(id) if bytes.end == piece.end && !piece.is_empty() => {
                    segments.push(Segment { atom: Atom::Token(id), part })
                }
                None if !piece.is_empty() => {
                    segments.push(Segment { atom: Atom::Text(&text[piece.start - start..piece.end - start]), part });
                }
                _ => {}
            }
            start += text.len();
        }
    }
}
