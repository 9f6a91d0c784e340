//! JSON lines: one object per prompt.

use crate::assemble::{MediaSpan, Span};
use crate::builder::PromptBuilder;
use crate::conversation::Conversation;
use crate::error::Result;
use crate::sink::json::{write_json, write_key, write_number, write_numbers, write_origin};
use crate::sink::{Accepts, BuiltPrompt, LineSink, OutputForm, PromptKey, Sink, write_ids};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "ids",
    about: "Token ids with everything known about a prompt",
    extension: "jsonl",
    accepts: Accepts { details: true, scores: true, ..Accepts::LINE },
    open: Some(|builder, options| Ok(Sink::lines(Jsonl::new(builder, options.attention_mask)))),
};

/// Writes `id`, `input_ids`, `stop_token_ids`, `stop`, and all other parts that a prompt has.
#[derive(Debug)]
pub struct Jsonl {
    /// `"stop_token_ids"` and `"stop"`, which are the same for every prompt.
    stop: Vec<u8>,
    roles: Vec<Vec<u8>>,
    attention_mask: bool,
}

impl Jsonl {
    /// Creates a sink for the prompts of a builder, with `attention_mask` if asked for.
    pub fn new(builder: &PromptBuilder, attention_mask: bool) -> Self {
        let mut stop = b",\"stop_token_ids\":".to_vec();
        write_numbers(builder.stop().stop_token_ids(), &mut stop);
        stop.extend_from_slice(b",\"stop\":");
        write_json(builder.stop().strings(), &mut stop);
        let role = |name: &str| {
            let mut json = Vec::new();
            write_json(name, &mut json);
            json
        };
        Self { stop, roles: builder.role_names().into_iter().map(role).collect(), attention_mask }
    }

    fn write_span(&self, span: &Span, out: &mut Vec<u8>) {
        let part = &span.part;
        out.extend_from_slice(b"{\"start\":");
        write_number(span.start, out);
        out.extend_from_slice(b",\"end\":");
        write_number(span.end, out);
        out.extend_from_slice(b",\"element\":");
        write_json(&part.element, out);
        if let Some(section) = part.section {
            out.extend_from_slice(b",\"section\":");
            write_json(&section, out);
        }
        if let Some(role) = part.role.and_then(|role| self.roles.get(role as usize)) {
            out.extend_from_slice(b",\"role\":");
            out.extend_from_slice(role);
        }
        for (key, value) in [(&b",\"message\":"[..], part.message), (b",\"example\":", part.example)] {
            if let Some(value) = value {
                out.extend_from_slice(key);
                write_number(value, out);
            }
        }
        out.push(b'}');
    }
}

impl LineSink for Jsonl {
    fn write(&self, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()> {
        let BuiltPrompt { prompt, labels, choice_ids, conversation, prefix_tokens, prefix_break, truncated } = built;
        write_key(key, out);
        out.extend_from_slice(b",\"input_ids\":");
        write_ids(&prompt.input_ids, out);
        if let Some(labels) = labels {
            out.extend_from_slice(b",\"labels\":");
            write_numbers(labels.iter().copied(), out);
        }
        if !choice_ids.is_empty() {
            out.extend_from_slice(b",\"choice_ids\":");
            write_ids(choice_ids, out);
        }
        if let Some(tokens) = *prefix_tokens {
            out.extend_from_slice(b",\"prefix_tokens\":");
            write_number(tokens, out);
        }
        if let Some(truncated) = truncated {
            out.extend_from_slice(b",\"truncated\":");
            write_json(truncated, out);
        }
        if let Some(prefix_break) = prefix_break {
            out.extend_from_slice(b",\"prefix_break\":");
            write_json(&prefix_break.to_string(), out);
        }
        if let (Some(conversation), [_, ..]) = (conversation, &prompt.media[..]) {
            write_media(&prompt.media, conversation, out);
        }
        if self.attention_mask {
            out.extend_from_slice(b",\"attention_mask\":");
            write_numbers(prompt.attention_mask().into_iter().map(u32::from), out);
        }
        out.extend_from_slice(&self.stop);
        if let Some(text) = &prompt.text {
            out.extend_from_slice(b",\"text\":");
            write_json(text, out);
        }
        if let Some(spans) = &prompt.spans {
            out.extend_from_slice(b",\"spans\":[");
            for (i, span) in spans.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                self.write_span(span, out);
            }
            out.push(b']');
        }
        write_origin(key, out);
        out.extend_from_slice(b"}\n");
        Ok(())
    }
}

/// The images, audio and video of a prompt, each with its placeholder tokens.
fn write_media(media: &[MediaSpan], conversation: &Conversation, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"media\":[");
    let mut separator: &[u8] = b"";
    for span in media {
        let Some(media) = conversation.media_at(span.message, span.content_part) else { continue };
        out.extend_from_slice(separator);
        separator = b",";
        out.extend_from_slice(b"{\"kind\":");
        write_json(&media.kind, out);
        out.extend_from_slice(b",\"source\":");
        write_json(&media.source, out);
        for (key, value) in
            [(&b",\"start\":"[..], span.start), (b",\"end\":", span.end), (b",\"message\":", span.message)]
        {
            out.extend_from_slice(key);
            write_number(value, out);
        }
        out.push(b'}');
    }
    out.push(b']');
}
