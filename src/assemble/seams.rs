//! Control tokens in the template's text that were not found before: all of them, or those that only two texts together
//! spell.

use std::borrow::Cow;

use crate::assemble::owners::texts;
use crate::compile::Atom;
use crate::error::Result;
use crate::render::{Part, Segment, TemplateCut};
use crate::tokenizer::{Cut, Tokenizer};

/// Cuts the texts of the template at control tokens: adjacent texts as one, because together they may spell a token
/// that neither contains alone. Content next to them is not included.
pub(crate) fn cut<'a>(
    segments: &[Segment<'a>],
    template_cut: TemplateCut,
    tokenizer: &Tokenizer,
) -> Result<Vec<Segment<'a>>> {
    let mut all = Vec::with_capacity(segments.len());
    let is_template_text = |segment: &Segment| matches!(segment.atom, Atom::Text(_)) && !segment.part.is_content();
    // A text that was already cut contains no token alone.
    let fewest = if template_cut == TemplateCut::Uncut { 1 } else { 2 };
    for group in segments.chunk_by(|a, b| is_template_text(a) && is_template_text(b)) {
        let cuts = match is_template_text(&group[0]) && group.len() >= fewest {
            true => tokenizer.cut(&joined(group))?,
            false => Vec::new(),
        };
        if cuts.iter().any(|cut| cut.token.is_some()) {
            cut_texts(&texts(group).collect::<Vec<_>>(), &cuts, &mut all);
        } else {
            all.extend_from_slice(group);
        }
    }
    Ok(all)
}

fn joined<'a>(group: &[Segment<'a>]) -> Cow<'a, str> {
    match *group {
        [Segment { atom: Atom::Text(text), .. }] => text.into(),
        _ => texts(group).map(|(text, _)| text).collect(),
    }
}

/// Appends the pieces of adjacent texts after cutting. A token belongs to the text with its last byte.
pub(super) fn cut_texts<'a>(texts: &[(&'a str, Part)], cuts: &[Cut], segments: &mut Vec<Segment<'a>>) {
    // The text in which the cut before ended, and where that begins.
    let (mut first, mut first_start) = (0, 0);
    for Cut { token, bytes } in cuts {
        let mut start = first_start;
        for (i, &(text, part)) in texts.iter().enumerate().skip(first) {
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
            if start + text.len() >= bytes.end {
                (first, first_start) = (i, start);
                break;
            }
            start += text.len();
        }
    }
}
