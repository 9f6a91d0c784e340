//! The first lines that texts have in common with the one before. Comparing them takes less than looking them up.

use crate::tokenizer::TokenId;

/// The first lines of a text, up to one that was not found again.
#[derive(Default)]
pub(super) struct FirstLines {
    text: String,
    has_prefix: bool,
    ids: Vec<TokenId>,
    /// Where each line ends, in the text and in the ids.
    ends: Vec<(usize, usize)>,
}

impl FirstLines {
    /// How many bytes of this text are lines of it, with their ids. The rest is forgotten. `parts` tells whether a line ends
    /// before this byte.
    pub(super) fn common(&mut self, text: &str, has_prefix: bool, parts: impl Fn(u8) -> bool) -> (usize, &[TokenId]) {
        let same = if has_prefix == self.has_prefix { same(text.as_bytes(), self.text.as_bytes()) } else { 0 };
        let is_end = |end: usize| end <= same && text.as_bytes().get(end).is_some_and(|next| parts(*next));
        while self.ends.pop_if(|(end, _)| !is_end(*end)).is_some() {}
        let (text_end, ids_end) = self.ends.last().copied().unwrap_or_default();
        self.text.truncate(text_end);
        self.ids.truncate(ids_end);
        self.has_prefix = has_prefix;
        (text_end, &self.ids)
    }

    /// Adds the next line with its ids.
    pub(super) fn push(&mut self, line: &str, ids: &[TokenId]) {
        self.text.push_str(line);
        self.ids.extend_from_slice(ids);
        self.ends.push((self.text.len(), self.ids.len()));
    }
}

/// How many bytes are the same.
fn same(a: &[u8], b: &[u8]) -> usize {
    const AT_ONCE: usize = 64;
    let blocks = a.chunks_exact(AT_ONCE).zip(b.chunks_exact(AT_ONCE)).take_while(|(a, b)| a == b).count();
    let start = blocks * AT_ONCE;
    start + a[start..].iter().zip(&b[start..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_that_still_end_there_are_common() {
        let mut lines = FirstLines::default();
        let first = "x".repeat(100) + "\n";
        lines.push(&first, &[1, 2]);
        lines.push("second\n", &[3]);
        let mut common = |after: &str, has_prefix| {
            let text = first.clone() + after;
            let (bytes, ids) = lines.common(&text, has_prefix, |next| next != b' ');
            (bytes - bytes.min(first.len()), ids.to_vec())
        };
        assert_eq!(common("second\nthird", false), (7, vec![1, 2, 3]));
        assert_eq!(common("second\n third", false), (0, vec![1, 2]));
        assert_eq!(common("second\nthird", false), (0, vec![1, 2]));
        assert_eq!(common("s", false), (0, vec![1, 2]));
        assert_eq!(common("", false), (0, vec![]));
        for (text, has_prefix) in [(first.clone() + "s", true), (first.replace('\n', "xx"), false)] {
            lines = FirstLines::default();
            lines.push(&first, &[1, 2]);
            assert_eq!(lines.common(&text, has_prefix, |_| true), (0, &[][..]), "{text}");
        }
    }
}
