//! Finds repeated ids in the input: readers of the output could not tell their prompts apart.

use std::hash::BuildHasher;
use std::sync::Arc;

use compact_str::CompactString;
use foldhash::HashMap;
use foldhash::fast::FixedState;

use crate::dataset::Line;
use crate::error::{Warning, counted};
use crate::input::without_escapes;

/// At most this many ids are remembered, in some 50 MB. Later ids are compared with these.
const MOST: usize = 1_000_000;

/// A line's own id.
#[derive(Debug)]
pub(crate) struct OwnId {
    hash: u64,
    line: Line,
    text: CompactString,
}

/// The ids so far.
#[derive(Debug, Default)]
pub(crate) struct RepeatedIds {
    /// By their hashes: the input, and the number of the line.
    seen: HashMap<u64, (usize, u64)>,
    inputs: Vec<Arc<str>>,
    again: u64,
    /// The note about the first repeated id.
    first: Option<String>,
}

impl OwnId {
    /// An id as JSON. A number is the same as its digits as a text, which is what requests and tables have.
    pub(crate) fn new(json: &str, line: &Line) -> Self {
        let json = without_escapes(json);
        let hash = FixedState::with_seed(14).hash_one(json.trim_matches('"'));
        Self { hash, line: line.clone(), text: (*json).into() }
    }

    /// A row's own id, unless it only has its number. Its repeats are not other rows.
    pub(crate) fn of_row(id: &str, has_id: bool, repeat: Option<usize>, line: &Line) -> Option<Self> {
        (has_id && repeat.is_none_or(|repeat| repeat == 0)).then(|| Self::new(id, line))
    }
}

impl RepeatedIds {
    /// Looks at the ids of an input, in order.
    pub(crate) fn see(&mut self, input: &Arc<str>, ids: Vec<OwnId>) {
        if ids.is_empty() {
            return;
        }
        if self.inputs.last() != Some(input) {
            self.inputs.push(Arc::clone(input));
        }
        let at = self.inputs.len() - 1;
        for OwnId { hash, line, text } in ids {
            if let Some((before, number)) = self.seen.get(&hash) {
                self.again += 1;
                if self.first.is_none() {
                    let before = format!("{}: {} {number}", self.inputs[*before], line.unit);
                    self.first = Some(format!("{text} in {input}: {line}, first in {before}"));
                }
            } else if self.seen.len() < MOST {
                self.seen.insert(hash, (at, line.number));
            }
        }
    }

    /// The warning at the end.
    pub(crate) fn note(&self) -> Option<Warning> {
        let first = self.first.as_ref()?;
        let have = if self.again == 1 { "has" } else { "have" };
        let what = format!("{} {have} a repeated id: {first}", counted(self.again, "line"));
        Some(Warning::new("repeated-id", what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64) -> Line {
        Line { unit: "line", number, offset: 0, length: 0, is_too_long: false, wrong: None }
    }

    #[test]
    fn what_is_the_same() {
        for (ids, expected) in [
            (&["1", "2", "1.0"][..], None),
            (&["1", "\"1\""], Some("1 line has a repeated id: \"1\" in x: line 1, first in x: line 0")),
            (
                &["\"a\"", "2", "\"\\u0061\"", "2"],
                Some("2 lines have a repeated id: \"a\" in x: line 2, first in x: line 0"),
            ),
        ] {
            let mut seen = RepeatedIds::default();
            let ids = (0..).zip(ids).map(|(number, id)| OwnId::new(id, &line(number))).collect();
            seen.see(&"x".into(), ids);
            assert_eq!(seen.note().map(|note| note.to_string()).as_deref(), expected);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = RepeatedIds::default();
        for number in 0..=MOST as u64 + 10 {
            seen.see(&"x".into(), vec![OwnId::new(&number.to_string(), &line(number))]);
        }
        assert_eq!(seen.seen.len(), MOST);
        assert!(seen.note().is_none());
    }
}
