//! Keeps the texts that a renderer creates for as long as the segments that borrow them.

use std::fmt;
use std::sync::OnceLock;

/// Memory for texts that are created while a prompt is rendered, such as a counter or a chat template's output. Texts
/// in it never move. An empty arena does not allocate.
#[derive(Default)]
pub struct TextArena(Slot);

/// A slot for the next text.
type Slot = OnceLock<Box<Kept>>;

struct Kept {
    text: String,
    next: Slot,
}

impl TextArena {
    /// Its texts, in the order in which they were added.
    fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(self.0.get(), |kept| kept.next.get()).map(|kept| &*kept.text)
    }

    pub(super) fn end(&self) -> ArenaEnd<'_> {
        ArenaEnd(&self.0)
    }
}

/// The slot for the next text of an arena.
#[derive(Clone, Copy)]
pub(super) struct ArenaEnd<'a>(&'a Slot);

impl<'a> ArenaEnd<'a> {
    /// Keeps a text. If others were kept in the meantime, it comes after them.
    pub(super) fn keep(&mut self, text: String) -> &'a str {
        let mut unkept = Some(text);
        loop {
            let keep = || Box::new(Kept { text: unkept.take().unwrap_or_default(), next: Slot::new() });
            let kept = self.0.get_or_init(keep);
            self.0 = &kept.next;
            if unkept.is_none() {
                return &kept.text;
            }
        }
    }
}

impl Drop for TextArena {
    // Dropping the first one would drop all others recursively, each deeper in the stack.
    fn drop(&mut self) {
        let mut first = self.0.take();
        while let Some(mut kept) = first {
            first = kept.next.take();
        }
    }
}

impl fmt::Debug for TextArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.texts()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_where_they_are() {
        let arena = TextArena::default();
        let (mut one, mut other) = (arena.end(), arena.end());
        let texts = [one.keep("a".into()), other.keep("b".into()), one.keep("c".into())];
        assert_eq!((texts, format!("{arena:?}")), (["a", "b", "c"], r#"["a", "b", "c"]"#.into()));
    }

    #[test]
    fn many_texts_take_no_stack() {
        let arena = TextArena::default();
        let mut end = arena.end();
        (0..1_000_000).for_each(|_| assert!(end.keep(String::new()).is_empty()));
    }
}
