//! What a message says, as segments.

use crate::compile::Atom;
use crate::conversation::{ContentPart, ContentRef, TextPart};
use crate::render::{Element, Part, Segment};

/// Appends a content. An empty text stands between those of the template as any other: they spell no token together. An image, audio or video is an empty text of [`Element::Media`], in the place of
/// which the model's placeholder is written later.
pub(crate) fn say<'a>(said: ContentRef<'a>, part: Part, segments: &mut Vec<Segment<'a>>) {
    let parts = match said {
        ContentRef::Text(text) => return segments.push(Segment { atom: Atom::Text(text), part }),
        ContentRef::Parts(parts) => parts,
    };
    for (i, said) in parts.iter().enumerate() {
        let part = Part { content_part: Some(i as u32), ..part };
        match said {
            ContentPart::Text(TextPart { text, .. }) => segments.push(Segment { atom: Atom::Text(text), part }),
            ContentPart::Media(_) => {
                segments.push(Segment { atom: Atom::Text(""), part: Part { element: Element::Media, ..part } });
            }
            ContentPart::Ids(ids) => segments.extend(ids.iter().map(|&id| Segment { atom: Atom::Token(id), part })),
        }
    }
}
