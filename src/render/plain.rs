//! Rendering without a template, as OpenCompass does without a meta template.

use crate::compile::Atom;
use crate::conversation::{Conversation, Item, Message, Mode, Prompt};
use crate::error::{At, Result};
use crate::render::{Element, Part, Renderer, Segment};

/// No template: messages and strings one below the other, as OpenCompass does without a meta template.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Renderer for Plain {
    fn render<'a>(&'a self, conversation: &'a Conversation, _: Mode, segments: &mut Vec<Segment<'a>>) -> Result<()> {
        let mut separator = "";
        let mut say = |text: &'a str, message: usize| {
            if !text.is_empty() {
                let part = Part { message: Some(message as u32), ..Part::default() };
                if !separator.is_empty() {
                    segments.push(Segment {
                        atom: Atom::Text(separator),
                        part: Part { element: Element::Separator, ..part },
                    });
                }
                segments.push(Segment { atom: Atom::Text(text), part });
            }
            // OpenCompass counts empty items too, so that an empty first one leaves a leading newline.
            separator = "\n";
        };
        match conversation {
            Conversation::Text(text) => say(text, 0),
            Conversation::Messages(messages) => {
                for (i, message) in messages.iter().enumerate() {
                    message.without_images().at(format_args!("message {i}"))?;
                    say(&message.content, i);
                }
            }
            Conversation::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    match item {
                        Item::Text(text) | Item::Message(Message { prompt: Prompt::Text(text), .. }) => say(text, i),
                        Item::Message(_) => say("", i),
                        Item::Marker(marker) if marker.has_extra_keys => say("", i),
                        Item::Marker(_) => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn role_names(&self) -> Vec<&str> {
        Vec::new()
    }

    fn has_open_seams(&self) -> bool {
        false
    }
}
