//! What prompts have in common with the one before: a system message, examples, a chat so far. Comparing it takes less
//! than looking up what it consists of.

use std::ops::Range;

use crate::assemble::Span;
use crate::assemble::messages_before::{MessagesBefore, Rendered, Start};
use crate::assemble::owners::texts;
use crate::compile::Atom;
use crate::render::{Element, Part, Segment};
use crate::tokenizer::TokenId;

/// The beginning of a prompt: the runs that were found again, up to one of its tokens.
#[derive(Default)]
pub(crate) struct Beginning {
    text: String,
    ids: Vec<TokenId>,
    runs: Vec<Run>,
    wanted: Wanted,
    origins: Origins,
    /// Where each token is in the text, if that was asked for.
    offsets: Vec<Range<usize>>,
    /// The messages that it was rendered from.
    messages: MessagesBefore,
}

/// What is asked for in addition to ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) spans: bool,
    pub(super) offsets: bool,
}

/// A run and the token after it.
struct Run {
    token: TokenId,
    /// Where it ends in the text, and with the token in the ids and spans.
    text_end: usize,
    ids_end: usize,
    spans_end: usize,
    /// How many runs up to it have text.
    with_text: u64,
}

/// Where it comes from, if that was asked for.
#[derive(Default)]
struct Origins {
    /// The part and the number of bytes of each segment.
    segments: Vec<(Part, usize)>,
    spans: Vec<Span>,
}

/// What another prompt begins with in the same way.
pub(super) struct Common<'a> {
    /// Whether the segments fit where they start: the run that begins before them is the same.
    pub(super) fits: bool,
    pub(super) segments: usize,
    pub(super) ids: &'a [TokenId],
    /// None unless they are asked for.
    pub(super) spans: &'a [Span],
    pub(super) offsets: &'a [Range<usize>],
    known: &'a [Run],
    /// The runs that have text, and their bytes.
    pub(super) runs: u64,
    pub(super) bytes: u64,
}

impl Common<'_> {
    /// How many ids there are up to the end of each run, without the token after it.
    pub(super) fn run_ends(&self) -> impl Iterator<Item = usize> {
        self.known.iter().map(|run| run.ids_end - 1)
    }
}

impl Beginning {
    /// The messages that it was rendered from.
    pub(super) fn messages(&self) -> &MessagesBefore {
        &self.messages
    }

    /// Writes the bytes of the text up to there, and tokens in it like this.
    pub(super) fn write_text_before(&self, start: Start, text: &mut Vec<u8>, write: impl Fn(TokenId, &mut Vec<u8>)) {
        let mut text_start = 0;
        for run in &self.runs[..start.runs] {
            text.extend_from_slice(&self.text.as_bytes()[text_start..run.text_end]);
            write(run.token, text);
            text_start = run.text_end;
        }
        text.extend_from_slice(&self.text.as_bytes()[text_start..text_start + start.bytes]);
    }

    /// Takes the messages that its prompt was rendered from, up to one whose runs it does not have.
    pub(super) fn set_messages(&mut self, rendered: &Rendered<'_>) {
        self.messages.set(rendered, self.runs.len());
    }

    /// What these segments, which start there, have in common with it. The rest is forgotten; all of it if it has not what is
    /// asked for.
    pub(super) fn common(&mut self, segments: &[Segment<'_>], start: Start, wanted: Wanted) -> Common<'_> {
        if wanted != self.wanted {
            *self = Self { wanted, ..Self::default() };
        }
        let (mut common, mut known) = (0, start.runs.min(self.runs.len()));
        let mut text_start = self.runs[..known].last().map_or(0, |last| last.text_end) + start.bytes;
        // What is left of each run, and how it ends.
        let mut left = self.runs[known..].iter().map(|run| {
            let text = self.text.as_bytes().get(text_start..run.text_end).unwrap_or_default();
            text_start = run.text_end;
            (text, run.token)
        });
        let origins = self.origins.segments.get(start.segments..).unwrap_or_default();
        let mut run = left.next();
        for (at, segment) in segments.iter().enumerate() {
            let Some((text, token)) = run else { break };
            let is_origin = |length: usize| !wanted.spans || origins.get(at) == Some(&(segment.part, length));
            match segment.atom {
                _ if segment.part.element == Element::Media => break,
                Atom::Text(piece) if is_origin(piece.len()) => {
                    let Some(text) = text.strip_prefix(piece.as_bytes()) else { break };
                    run = Some((text, token));
                }
                Atom::Token(id) if id == token && text.is_empty() && is_origin(0) => {
                    (common, known) = (at + 1, known + 1);
                    run = left.next();
                }
                _ => break,
            }
        }
        self.truncate(known, start.segments + common);
        Common {
            fits: start.is_within(known),
            segments: common,
            ids: &self.ids,
            spans: &self.origins.spans,
            offsets: &self.offsets,
            known: &self.runs,
            runs: self.runs.last().map_or(0, |last| last.with_text),
            bytes: self.text.len() as u64,
        }
    }

    fn truncate(&mut self, runs: usize, segments: usize) {
        self.runs.truncate(runs);
        let last = self.runs.last();
        let (text_end, ids_end) = last.map_or((0, 0), |last| (last.text_end, last.ids_end));
        self.text.truncate(text_end);
        self.ids.truncate(ids_end);
        self.offsets.truncate(ids_end);
        self.messages.cut(runs);
        let Origins { segments: origins, spans } = &mut self.origins;
        origins.truncate(segments);
        spans.truncate(last.map_or(0, |last| last.spans_end));
        // It went on after the token.
        if let Some(last) = spans.last_mut() {
            last.end = ids_end;
        }
    }

    /// Adds the run of these pieces, which end with a token, where these are the ids of the prompt so far, and the spans and
    /// offsets, if they are asked for.
    pub(super) fn push(
        &mut self,
        pieces: &[Segment<'_>],
        token: TokenId,
        ids: &[TokenId],
        spans: Option<&[Span]>,
        offsets: Option<&[Range<usize>]>,
    ) {
        let text_start = self.text.len();
        texts(pieces).for_each(|(text, _)| self.text.push_str(text));
        let with_text = self.runs.last().map_or(0, |last| last.with_text) + u64::from(self.text.len() > text_start);
        self.ids.extend_from_slice(&ids[self.ids.len()..]);
        if let Some(offsets) = offsets {
            self.offsets.extend_from_slice(&offsets[self.offsets.len()..]);
        }
        let mut spans_end = 0;
        if let Some(spans) = spans {
            let origins = &mut self.origins;
            let length = |piece: &Segment<'_>| if let Atom::Text(text) = piece.atom { text.len() } else { 0 };
            origins.segments.extend(pieces.iter().map(|piece| (piece.part, length(piece))));
            // The last one may have gone on.
            origins.spans.pop();
            origins.spans.extend_from_slice(&spans[origins.spans.len()..]);
            spans_end = spans.len();
        }
        self.runs.push(Run { token, text_end: self.text.len(), ids_end: self.ids.len(), spans_end, with_text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Part;

    const SPANS: Wanted = Wanted { spans: true, offsets: false };
    const OFFSETS: Wanted = Wanted { spans: false, offsets: true };

    fn is_token(atom: &str) -> bool {
        atom.parse::<TokenId>().is_ok()
    }

    /// Segments of texts, and of tokens where there is a number.
    fn segments<'a>(atoms: &[&'a str]) -> Vec<Segment<'a>> {
        let atom = |text: &&'a str| text.parse().map_or(Atom::Text(*text), Atom::Token);
        atoms.iter().map(|text| Segment { atom: atom(text), part: Part::default() }).collect()
    }

    #[test]
    fn it_ends_at_the_last_token_up_to_which_all_is_the_same() {
        let mut beginning = Beginning::default();
        beginning.push(&segments(&["user\n", "Hi"]), 7, &[1, 2, 7], None, None);
        beginning.push(&[], 8, &[1, 2, 7, 8], None, None);
        beginning.push(&segments(&["x"]), 9, &[1, 2, 7, 8, 3, 9], None, None);
        let mut common = |atoms: &[&str]| {
            let common = beginning.common(&segments(atoms), Start::default(), Wanted::default());
            assert_eq!(
                common.run_ends().count(),
                atoms[..common.segments].iter().filter(|atom| is_token(atom)).count()
            );
            (common.segments, common.ids.to_vec(), common.runs, common.bytes)
        };
        assert_eq!(common(&["user\nH", "i", "7", "8", "x", "9", "y"]), (6, vec![1, 2, 7, 8, 3, 9], 2, 8));
        assert_eq!(common(&["user\n", "Hi", "7", "8", "xy", "9"]), (4, vec![1, 2, 7, 8], 1, 7));
        assert_eq!(common(&["user\n", "Hi", "7", "8", "x", "9"]), (4, vec![1, 2, 7, 8], 1, 7));
        assert_eq!(common(&["user\n", "Hi"]), (0, vec![], 0, 0));
    }

    #[test]
    fn a_longer_text_is_another() {
        for atoms in [["user\n", "Hi!", "7"], ["user\n", "H", "7"], ["user\n", "Hi", "8"], ["7", "user\n", "Hi"]] {
            let mut beginning = Beginning::default();
            beginning.push(&segments(&["user\n", "Hi"]), 7, &[1, 2, 7], None, None);
            assert_eq!(
                beginning.common(&segments(&atoms), Start::default(), Wanted::default()).segments,
                0,
                "{atoms:?}"
            );
        }
    }

    #[test]
    fn media_are_no_part_of_it() {
        let mut beginning = Beginning::default();
        beginning.push(&segments(&["user\n", ""]), 7, &[1, 7], None, None);
        let mut with_media = segments(&["user\n", "", "7"]);
        with_media[1].part.element = Element::Media;
        assert_eq!(beginning.common(&with_media, Start::default(), Wanted::default()).segments, 0);
    }

    #[test]
    fn spans_are_common_if_all_parts_are() {
        let part = |message| Part { message: Some(message), ..Part::default() };
        let with = |atoms: &[&'static str], messages: &[u32]| {
            let mut segments = segments(atoms);
            segments.iter_mut().zip(messages).for_each(|(segment, message)| segment.part = part(*message));
            segments
        };
        let span = |start, end, message| Span { start, end, part: part(message) };
        let mut beginning = Beginning::default();
        assert_eq!(beginning.common(&[], Start::default(), SPANS).segments, 0);
        let first = with(&["a", "b", "7"], &[0, 1, 1]);
        beginning.push(&first, 7, &[1, 2, 7], Some(&[span(0, 1, 0), span(1, 3, 1)]), None);
        // The second span goes on.
        let second = with(&["c", "8"], &[1, 2]);
        let spans = [span(0, 1, 0), span(1, 4, 1), span(4, 5, 2)];
        beginning.push(&second, 8, &[1, 2, 7, 3, 8], Some(&spans), None);
        let mut common = |atoms: &[&'static str], messages: &[u32]| {
            let common = beginning.common(&with(atoms, messages), Start::default(), SPANS);
            (common.segments, common.spans.to_vec())
        };
        assert_eq!(common(&["a", "b", "7", "c", "8"], &[0, 1, 1, 1, 2]), (5, spans.to_vec()));
        assert_eq!(common(&["a", "b", "7", "c", "8"], &[0, 1, 1, 1, 3]), (3, vec![span(0, 1, 0), span(1, 3, 1)]));
        assert_eq!(common(&["ab", "", "7"], &[0, 1, 1]), (0, Vec::new()));
    }

    #[test]
    fn offsets_are_those_of_its_tokens() {
        let mut beginning = Beginning::default();
        assert_eq!(beginning.common(&[], Start::default(), OFFSETS).segments, 0);
        let offsets = [0..3, 3..6, 6..8, 8..9];
        beginning.push(&segments(&["Hi all", "7"]), 7, &[1, 2, 7], None, Some(&offsets[..3]));
        beginning.push(&segments(&["8"]), 8, &[1, 2, 7, 8], None, Some(&offsets));
        let common = beginning.common(&segments(&["Hi all", "7", "9"]), Start::default(), OFFSETS);
        assert_eq!((common.segments, common.offsets), (2, &offsets[..3]));
        assert_eq!(beginning.common(&segments(&["Hi all", "7"]), Start::default(), Wanted::default()).segments, 0);
    }
}
