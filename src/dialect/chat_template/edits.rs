//! Changes to the text of a tag.

use std::borrow::Cow;
use std::ops::Range;

/// Texts to put in the place of others, in any order. None overlaps another one.
#[derive(Default)]
pub(super) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    pub(super) fn insert(&mut self, at: usize, text: &str) {
        self.0.push((at..at, text.to_owned()));
    }

    pub(super) fn replace(&mut self, bytes: Range<usize>, by: impl Into<String>) {
        self.0.push((bytes, by.into()));
    }

    /// The text with these changes. Edits at one position keep the order in which they were added.
    pub(super) fn apply(mut self, text: &str) -> Cow<'_, str> {
        if self.0.is_empty() {
            return text.into();
        }
        self.0.sort_by_key(|(bytes, _)| (bytes.start, bytes.end));
        let (mut edited, mut copied) = (String::with_capacity(text.len() + 64), 0);
        for (bytes, by) in self.0 {
            edited += &text[copied..bytes.start];
            edited += &by;
            copied = bytes.end;
        }
        (edited + &text[copied..]).into()
    }
}
