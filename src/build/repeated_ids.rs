//! Finds repeated ids in the input: readers of the output could not tell their prompts apart. A line without an id has its
//! number for one.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use compact_str::CompactString;
use foldhash::HashMap;
use foldhash::fast::FixedState;

use crate::dataset::{Line, PickedRow};
use crate::error::{Warning, counted};
use crate::input::without_escapes;

/// At most this many ids are remembered, in some 50 MB. Later ids are compared with these.
const MOST: usize = 1_000_000;

/// The ids of lines that follow one another.
#[derive(Debug, Default)]
pub(crate) struct LineIds {
    own: Vec<OwnId>,
    /// The numbers of those without one.
    numbers: Vec<Range<u64>>,
}

/// A line's own id.
#[derive(Debug)]
struct OwnId {
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
    /// The numbers of lines without an id, in order.
    numbers: Vec<Range<u64>>,
    again: u64,
    /// The note about the first repeated id.
    first: Option<String>,
}

impl OwnId {
    /// An id as JSON. A number is the same as its digits as a text, which is what requests and tables have.
    fn new(json: &str, line: &Line) -> Self {
        let json = without_escapes(json);
        Self { hash: hash(json.trim_matches('"')), line: line.clone(), text: (*json).into() }
    }

    /// The number of a line that would have the same id.
    fn number(&self) -> Option<u64> {
        let digits = self.text.trim_matches('"');
        let is_canonical = digits == "0" || digits.starts_with(|first: char| first.is_ascii_digit() && first != '0');
        digits.parse().ok().filter(|_| is_canonical)
    }
}

fn hash(id: &str) -> u64 {
    FixedState::with_seed(14).hash_one(id)
}

impl LineIds {
    /// Adds a line's own id, as JSON; if it has none, its number.
    pub(crate) fn push(&mut self, own: Option<&str>, number: u64, line: &Line) {
        match own {
            Some(json) => self.own.push(OwnId::new(json, line)),
            None => push_number(&mut self.numbers, number..number + 1),
        }
    }

    /// Adds a row's own id, as JSON; if it has none, its number. Its repeats are not other rows.
    pub(crate) fn push_row(&mut self, own: Option<&str>, pick: PickedRow, line: &Line) {
        if pick.repeat.is_none_or(|repeat| repeat == 0) {
            self.push(own, pick.row as u64, line);
        }
    }
}

/// Adds numbers after others.
fn push_number(numbers: &mut Vec<Range<u64>>, next: Range<u64>) {
    match numbers.last_mut() {
        Some(last) if last.end == next.start => last.end = next.end,
        _ => numbers.push(next),
    }
}

impl RepeatedIds {
    /// Looks at the ids of an input, in order.
    pub(crate) fn see(&mut self, input: &Arc<str>, LineIds { own, numbers }: LineIds) {
        for range in numbers {
            self.see_numbers(input, range);
        }
        if own.is_empty() {
            return;
        }
        if self.inputs.last() != Some(input) {
            self.inputs.push(Arc::clone(input));
        }
        let at = self.inputs.len() - 1;
        for id in own {
            let is_number = id.number().is_some_and(|number| self.has_number(number));
            let OwnId { hash, line, text } = id;
            let (before, unit) = (self.seen.get(&hash).copied(), line.unit);
            if is_number {
                self.repeated(|_| format!("{text} in {input}: {line}, which is the number of a {unit} without an id"));
            } else if let Some((before, number)) = before {
                self.repeated(|all| format!("{text} in {input}: {line}, first in {}: {unit} {number}", all[before]));
            } else if self.seen.len() < MOST {
                self.seen.insert(hash, (at, line.number));
            }
        }
    }

    /// Looks at the numbers of lines without an id.
    fn see_numbers(&mut self, input: &Arc<str>, numbers: Range<u64>) {
        let mut digits = itoa::Buffer::new();
        // Mostly no line has an id, or all have.
        let has_seen = !self.seen.is_empty();
        for number in numbers.clone().filter(|_| has_seen) {
            if let Some((before, line)) = self.seen.get(&hash(digits.format(number))).copied() {
                let what = format_args!("{number}, the number of a line without an id in {input}");
                self.repeated(|all| format!("{what}, first in {}: line {line}", all[before]));
            }
        }
        if self.numbers.len() < MOST {
            push_number(&mut self.numbers, numbers);
        }
    }

    /// Counts a repeated id. Of the first one is noted where it is, with the names of the inputs.
    fn repeated(&mut self, what: impl FnOnce(&[Arc<str>]) -> String) {
        self.again += 1;
        if self.first.is_none() {
            self.first = Some(what(&self.inputs));
        }
    }

    fn has_number(&self, number: u64) -> bool {
        let after = self.numbers.partition_point(|range| range.start <= number);
        after > 0 && self.numbers[after - 1].contains(&number)
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
            let mut lines = LineIds::default();
            (0..).zip(ids).for_each(|(number, id)| lines.push(Some(id), number, &line(number)));
            seen.see(&"x".into(), lines);
            assert_eq!(seen.note().map(|note| note.to_string()).as_deref(), expected);
        }
    }

    #[test]
    fn a_line_without_an_id_has_its_number() {
        let own = "\"1\" in x: line 3, which is the number of a line without an id";
        let number = "1, the number of a line without an id in x, first in x: line 0";
        for (ids, expected) in [
            (&[None, None, None, Some("\"1\"")][..], Some(own)),
            (&[None, None, None, Some("01")], None),
            (&[None, None, None, Some("3")], None),
            (&[Some("1"), None, None], Some(number)),
            (&[Some("1"), Some("0"), None], None),
        ] {
            // Each line by itself, and all together.
            for size in [1, ids.len()] {
                let mut seen = RepeatedIds::default();
                for (at, ids) in ids.chunks(size).enumerate() {
                    let mut lines = LineIds::default();
                    (at as u64..).zip(ids).for_each(|(number, id)| lines.push(*id, number, &line(number)));
                    seen.see(&"x".into(), lines);
                }
                let found = seen.note().map(|note| note.to_string());
                assert_eq!(found.is_some(), expected.is_some(), "{ids:?}: {found:?}");
                let expected = expected.map(|expected| format!("1 line has a repeated id: {expected}"));
                assert!(size > 1 || found == expected, "{ids:?}: {found:?}");
            }
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = RepeatedIds::default();
        for number in 0..=MOST as u64 + 10 {
            let mut lines = LineIds::default();
            lines.push(Some(&number.to_string()), number, &line(number));
            seen.see(&"x".into(), lines);
        }
        assert_eq!(seen.seen.len(), MOST);
        assert!(seen.note().is_none());
    }
}
