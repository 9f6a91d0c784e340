//! What prompts have in common with the one before: a system message, examples, a chat so far. Comparing it takes less
//! than looking up what it consists of.

use crate::assemble::owners::texts;
use crate::compile::Atom;
use crate::render::{Element, Segment};
use crate::tokenizer::TokenId;

/// The beginning of a prompt, up to one of its tokens, as far as all its runs were found again.
#[derive(Default)]
pub(crate) struct Beginning {
    text: String,
    ids: Vec<TokenId>,
    runs: Vec<Run>,
}

/// A run and the token behind it.
struct Run {
    token: TokenId,
    /// Where it ends in the text and in the ids, with the token.
    text_end: usize,
    ids_end: usize,
}

/// How many segments begin another prompt in the same way, with their ids.
pub(super) struct Common<'a> {
    pub(super) segments: usize,
    pub(super) ids: &'a [TokenId],
    known: &'a [Run],
    /// The runs that have text, and their bytes.
    pub(super) runs: u64,
    pub(super) bytes: u64,
}

impl Common<'_> {
    /// How many ids there are up to the end of each run, without the token behind it.
    pub(super) fn run_ends(&self) -> impl Iterator<Item = usize> {
        self.known.iter().map(|run| run.ids_end - 1)
    }
}

impl Beginning {
    /// What these segments have in common with it. The rest is forgotten.
    pub(super) fn common(&mut self, segments: &[Segment<'_>]) -> Common<'_> {
        let (mut common, mut known, mut text) = (0, 0, 0);
        for (segment, number) in segments.iter().zip(1..) {
            let Some(run) = self.runs.get(known) else { break };
            match segment.atom {
                _ if segment.part.element == Element::Media => break,
                Atom::Text(piece) if self.text.as_bytes()[text..run.text_end].starts_with(piece.as_bytes()) => {
                    text += piece.len();
                }
                Atom::Token(id) if id == run.token && text == run.text_end => (common, known) = (number, known + 1),
                _ => break,
            }
        }
        self.runs.truncate(known);
        let (text_end, ids_end) = self.runs.last().map_or((0, 0), |last| (last.text_end, last.ids_end));
        self.text.truncate(text_end);
        self.ids.truncate(ids_end);
        let mut start = 0;
        let runs = self.runs.iter().filter(|run| std::mem::replace(&mut start, run.text_end) < run.text_end).count();
        Common { segments: common, ids: &self.ids, known: &self.runs, runs: runs as u64, bytes: text_end as u64 }
    }

    /// Adds the run of these pieces and the token behind it, where these are the ids of the prompt so far.
    pub(super) fn push(&mut self, pieces: &[Segment<'_>], token: TokenId, ids: &[TokenId]) {
        texts(pieces).for_each(|(text, _)| self.text.push_str(text));
        self.ids.extend_from_slice(&ids[self.ids.len()..]);
        self.runs.push(Run { token, text_end: self.text.len(), ids_end: self.ids.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Part;

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
        beginning.push(&segments(&["user\n", "Hi"]), 7, &[1, 2, 7]);
        beginning.push(&[], 8, &[1, 2, 7, 8]);
        beginning.push(&segments(&["x"]), 9, &[1, 2, 7, 8, 3, 9]);
        let mut common = |atoms: &[&str]| {
            let common = beginning.common(&segments(atoms));
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
            beginning.push(&segments(&["user\n", "Hi"]), 7, &[1, 2, 7]);
            assert_eq!(beginning.common(&segments(&atoms)).segments, 0, "{atoms:?}");
        }
    }

    #[test]
    fn media_are_no_part_of_it() {
        let mut beginning = Beginning::default();
        beginning.push(&segments(&["user\n", ""]), 7, &[1, 7]);
        let mut with_media = segments(&["user\n", "", "7"]);
        with_media[1].part.element = Element::Media;
        assert_eq!(beginning.common(&with_media).segments, 0);
    }
}
