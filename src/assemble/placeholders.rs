//! Placeholders for images, audio and video, once a tokenizer is known.

use crate::compile::{Atom, Compiler};
use crate::conversation::{ContentPart, Conversation, MediaKind, unknown_type};
use crate::error::{At, Error, ErrorKind, Place, Result, Setting, way_out};
use crate::render::{Element, Segment, Segments};
use crate::template::{Multimodal, Placeholder};

/// No context holds more tokens than this.
const MOST_TOKENS: u64 = 1 << 20;

/// The largest number of tokens that an atom can become.
fn most_tokens(atom: &Atom) -> u64 {
    match atom {
        Atom::Token(_) => 1,
        Atom::Text(text) => text.len() as u64,
    }
}

/// The placeholders of a model, with control tokens as ids.
#[derive(Default)]
pub(crate) struct Placeholders {
    by_kind: [Option<Box<[Atom]>>; MediaKind::ALL.len()],
}

impl Placeholders {
    pub(crate) fn new(multimodal: &Multimodal, compiler: &mut Compiler<'_>) -> Result<Self> {
        let mut placeholders = Self::default();
        for (kind, slot) in MediaKind::ALL.into_iter().zip(&mut placeholders.by_kind) {
            let Some(Placeholder { begin, placeholder, repeat, end }) = multimodal.of(kind) else { continue };
            let place = format!("multimodal.{}", kind.name());
            let mut atoms = compiler.affix(begin, &format!("{place}.begin"))?.into_vec();
            let repeated = compiler.affix(placeholder, &place)?;
            if repeated.is_empty() {
                let what = "the placeholder is empty, so the prompt would not contain it";
                return Err(Error::from(ErrorKind::Template(what.into()))).at(place);
            }
            let tokens = repeated.iter().map(most_tokens).sum::<u64>() * u64::from(repeat.get());
            if tokens > MOST_TOKENS {
                let what = format!(
                    "repeat = {repeat} would write {tokens} tokens for each {}; the maximum is {MOST_TOKENS}",
                    kind.name()
                );
                return Err(Error::from(ErrorKind::Template(what))).at(place);
            }
            for _ in 0..repeat.get() {
                atoms.extend_from_slice(&repeated);
            }
            atoms.extend(compiler.affix(end, &format!("{place}.end"))?);
            *slot = Some(atoms.into());
        }
        Ok(placeholders)
    }

    /// Writes the placeholders where renderers left a place for them.
    ///
    /// # Errors
    /// Names the message with media of a kind for which the model has no placeholder.
    pub(crate) fn fill<'a>(&'a self, segments: &mut Segments<'a>, conversation: &Conversation) -> Result<()> {
        let is_place = |segment: &Segment<'_>| segment.part.element == Element::Media && segment.atom == Atom::Text("");
        let segments = &mut segments.list;
        if !segments.iter().any(is_place) {
            return Ok(());
        }
        let mut filled = Vec::with_capacity(segments.len() + 8);
        let mut tokens = 0;
        for segment in segments.iter() {
            if !is_place(segment) {
                filled.push(*segment);
                continue;
            }
            let atoms = self.of(segment, conversation)?;
            tokens += atoms.iter().map(most_tokens).sum::<u64>();
            if tokens > MOST_TOKENS {
                let what = format!(
                    "the placeholders up to this one have {tokens} tokens, but no context holds more than {MOST_TOKENS}"
                );
                let way_out = "leave media out, or set a smaller repeat under [multimodal]";
                let message = segment.part.message.unwrap_or_default();
                return Err(ErrorKind::Conversation(what).with_way_out(way_out).at(Place::Message(message as usize)));
            }
            filled.extend(atoms.iter().map(|atom| Segment { atom: atom.borrowed(), ..*segment }));
        }
        *segments = filled;
        Ok(())
    }

    fn of(&self, segment: &Segment<'_>, conversation: &Conversation) -> Result<&[Atom]> {
        let message = segment.part.message.unwrap_or_default();
        let part = segment.part.content_part.unwrap_or_default();
        let part = conversation.part_at(message as usize, part as usize);
        let media = part.and_then(ContentPart::as_media).ok_or_else(|| match part.and_then(ContentPart::other_type) {
            Some(other) => ErrorKind::Conversation(unknown_type(other)),
            None => ErrorKind::Template(
                "the renderer leaves a place for an image, audio or video that does not exist".into(),
            ),
        });
        let media = media.at(Place::Message(message as usize))?;
        let kind = media.kind;
        self.by_kind[kind as usize].as_deref().ok_or_else(|| {
            let what = format!("the model has no placeholder for {} ({})", kind.indefinite(), media.short_source());
            let way_out = way_out![
                format!("set {} = [\"…\"] under [multimodal] in the model file, or build with ", kind.name()),
                Setting::FORMAT.set_to("messages")
            ];
            ErrorKind::Conversation(what).with_way_out(way_out).at(Place::Message(message as usize))
        })
    }
}
