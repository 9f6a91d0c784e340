//! Outer white space of contents and of whole turns.

use crate::compile::{Atom, CompiledRole};
use crate::conversation::{ContentRef, is_space};
use crate::render::{Element, Segment};
use crate::template::Trim;

/// Strips the outer white space of adjacent segments, as if they were one text. It ends at a token, and at an image,
/// audio or video.
pub(super) fn trim(segments: &mut [Segment<'_>], trim: Trim) {
    if matches!(trim, Trim::Both | Trim::Start | Trim::Turn) {
        trim_each(segments.iter_mut(), |text| text.trim_start_matches(is_space));
    }
    if matches!(trim, Trim::Both | Trim::End | Trim::Turn) {
        trim_each(segments.iter_mut().rev(), |text| text.trim_end_matches(is_space));
    }
}

/// Strips texts up to the first of which something is left.
fn trim_each<'s, 'a: 's>(segments: impl Iterator<Item = &'s mut Segment<'a>>, strip: impl Fn(&'a str) -> &'a str) {
    for segment in segments {
        match &mut segment.atom {
            Atom::Text(text) if segment.part.element != Element::Media => *text = strip(text),
            _ => return,
        }
        if segment.atom != Atom::Text("") {
            return;
        }
    }
}

impl Trim {
    /// What is stripped before the rest of the turn is known.
    pub(super) fn of_content(self) -> Self {
        if self == Self::Turn { Self::None } else { self }
    }
}

impl CompiledRole {
    /// Whether a content writes nothing, not even the role's `begin` and `end`; none is the role's own prompt.
    #[inline]
    pub(super) fn omits(&self, said: Option<ContentRef<'_>>) -> bool {
        self.omits_empty
            && match said {
                Some(said) if self.trim == Trim::None => said.is_only(str::is_empty),
                Some(said) => said.is_only(|text| text.chars().all(is_space)),
                None => self.prompt.is_empty(),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Part;

    #[test]
    fn outer_blanks_go_and_inner_ones_stay() {
        let text = |text| Segment { atom: Atom::Text(text), part: Part::default() };
        let token = Segment { atom: Atom::Token(1), part: Part::default() };
        let image = Segment { atom: Atom::Text(""), part: Part::new(Element::Media) };
        for (mut segments, which, expected) in [
            (vec![text(" \u{1c}"), text("\n a b \n"), text(" ")], Trim::Both, vec![text(""), text("a b"), text("")]),
            (vec![text(" a "), text(" ")], Trim::Start, vec![text("a "), text(" ")]),
            (vec![text(" a "), text(" ")], Trim::End, vec![text(" a"), text("")]),
            (vec![text(" "), token, text(" ")], Trim::Turn, vec![text(""), token, text("")]),
            (vec![image, text(" ")], Trim::Start, vec![image, text(" ")]),
            (vec![text(" ")], Trim::None, vec![text(" ")]),
        ] {
            trim(&mut segments, which);
            assert_eq!(segments, expected);
        }
    }
}
