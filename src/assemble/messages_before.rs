//! The messages that a conversation begins with as the one before did: they are neither rendered nor encoded again.

use compact_str::CompactString;

use crate::compile::Atom;
use crate::conversation::ChatMessage;
use crate::render::{Element, MessageEnd, Progress, Segment, prefetch};

/// The messages that the beginning of a prompt was rendered from.
#[derive(Default)]
pub(crate) struct MessagesBefore {
    texts: String,
    messages: Vec<Message>,
    /// The roles of all messages of its conversation, where those of later ones matter.
    roles: Vec<CompactString>,
}

struct Message {
    role: CompactString,
    text_end: usize,
    progress: Progress,
    start: Start,
    /// Whether nothing but the template's text follows up to the next token.
    ends_well: bool,
}

/// Where segments start if others came before them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Start {
    pub(super) segments: usize,
    /// The number of runs, with the tokens after them.
    pub(super) runs: usize,
    /// The number of bytes of the next run.
    pub(super) bytes: usize,
}

/// Messages of which some were known, and the others were rendered.
pub(crate) struct Rendered<'r> {
    pub(crate) messages: &'r [ChatMessage],
    pub(crate) roles_matter: bool,
    /// How far they were known.
    pub(crate) known: Progress,
    pub(crate) start: Start,
    /// Where each of the others ends in these segments.
    pub(crate) ends: &'r [MessageEnd],
    pub(crate) segments: &'r [Segment<'r>],
}

impl MessagesBefore {
    /// How far the messages are the same, and where the segments of the others start.
    pub(crate) fn common(&self, messages: &[ChatMessage], roles_matter: bool) -> (Progress, Start) {
        let roles = messages.iter().map(|message| &message.role);
        if self.messages.is_empty() || roles_matter && !roles.eq(&self.roles) {
            return Default::default();
        }
        let pairs = || messages.iter().zip(&self.messages);
        pairs().for_each(|(message, _)| prefetch(message.content.as_text().unwrap_or_default()));
        let (mut common, mut text_start) = Default::default();
        for (message, before) in pairs() {
            let text = &self.texts.as_bytes()[text_start..before.text_end];
            if message.role != before.role || message.content.as_text().map(str::as_bytes) != Some(text) {
                break;
            }
            text_start = before.text_end;
            if before.ends_well {
                common = (before.progress, before.start);
            }
        }
        common
    }

    /// Takes the messages of another conversation that end within the first `runs` runs of a beginning.
    pub(super) fn set(&mut self, rendered: &Rendered<'_>, runs: usize) {
        let Rendered { messages, roles_matter, known, start, ends, segments } = *rendered;
        self.roles.clear();
        if roles_matter {
            self.roles.extend(messages.iter().map(|message| message.role.clone()));
        }
        self.truncate(known.messages);
        if self.messages.len() < known.messages {
            // Some of those that are known were forgotten with their beginning: others would take their places.
            return self.truncate(0);
        }
        let (mut end, mut done) = (start, 0);
        // A renderer of your own may say anything.
        let others = messages.get(known.messages..).unwrap_or_default();
        for (message, message_end) in others.iter().zip(ends) {
            let Some(own) = segments.get(done..message_end.segments) else { break };
            end = own.iter().fold(end, Start::behind);
            done = message_end.segments;
            let Some(text) = message.content.as_text().filter(|_| end.is_within(runs)) else { break };
            self.texts.push_str(text);
            let is_text = |segment: &&Segment<'_>| matches!(segment.atom, Atom::Text(_));
            let mut next = segments[done..].iter().take_while(is_text);
            self.messages.push(Message {
                role: message.role.clone(),
                text_end: self.texts.len(),
                progress: message_end.progress,
                start: end,
                ends_well: !next.any(|next| matches!(next.part.element, Element::Content | Element::Media)),
            });
        }
    }

    /// Forgets those that do not end within this many runs.
    pub(super) fn cut(&mut self, runs: usize) {
        self.truncate(self.messages.partition_point(|message| message.start.is_within(runs)));
    }

    fn truncate(&mut self, messages: usize) {
        self.messages.truncate(messages);
        self.texts.truncate(self.messages.last().map_or(0, |last| last.text_end));
    }
}

impl Start {
    /// Whether this many runs have all that comes before it.
    pub(super) fn is_within(self, runs: usize) -> bool {
        self.runs + usize::from(self.bytes > 0) <= runs
    }

    fn behind(self, segment: &Segment<'_>) -> Self {
        let segments = self.segments + 1;
        match segment.atom {
            Atom::Token(_) => Self { segments, runs: self.runs + 1, bytes: 0 },
            Atom::Text(text) => Self { segments, bytes: self.bytes + text.len(), ..self },
        }
    }
}
