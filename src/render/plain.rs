//! Rendering without a template, as OpenCompass does without a meta template.

use crate::conversation::{ContentRef, Conversation, Item, Message, Mode};
use crate::error::Result;
use crate::render::final_message::without_answer;
use crate::render::{Element, Part, Renderer, Segments, TemplateCut};

/// No template: messages and strings one per line, as OpenCompass writes them without a meta template.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Renderer for Plain {
    fn render<'a>(&'a self, conversation: &'a Conversation, mode: Mode, segments: &mut Segments<'a>) -> Result<()> {
        let mut separator = "";
        let mut line = |said: Option<ContentRef<'a>>, message: usize| {
            if let Some(said) = said.filter(|said| !said.is_empty()) {
                let part = Part { message: Some(message as u32), ..Part::default() };
                if !separator.is_empty() {
                    segments.text(separator, Part { element: Element::Separator, ..part });
                }
                segments.content_ref(said, part);
            }
            // OpenCompass counts empty items too, so an empty first one leaves a leading newline.
            separator = "\n";
        };
        match conversation {
            Conversation::Text(text) => line(Some(ContentRef::Text(text)), 0),
            Conversation::Messages(messages) => {
                for (i, message) in without_answer(self, messages, mode).iter().enumerate() {
                    line(Some(message.content.content_ref()), i);
                }
            }
            Conversation::Chat(_) => return Err(conversation.would_be_lost()),
            Conversation::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    match item {
                        Item::Text(text) => line(Some(ContentRef::Text(text)), i),
                        Item::Message(Message { prompt, .. }) => line(prompt.content_ref(), i),
                        Item::Marker(marker) if marker.has_extra_keys => line(None, i),
                        Item::Marker(_) => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn omits_final_answer(&self) -> bool {
        true
    }

    fn template_cut(&self) -> TemplateCut {
        TemplateCut::Cut
    }
}
