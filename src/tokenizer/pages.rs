//! A table of what is known of each character. A part of it is made when it is first asked for: hardly any text has
//! characters of all parts.

use std::sync::OnceLock;

/// The number of characters in a part.
pub(crate) const PAGE: usize = 1 << 12;
/// Characters from U+20000 on are in no part.
const PAGES: usize = 0x20000 / PAGE;

/// What is known of characters.
pub(crate) struct Pages<T> {
    pages: [OnceLock<T>; PAGES],
    make: fn(&[Option<char>]) -> T,
}

impl<T> Pages<T> {
    /// Parts that are made of their characters, in order; in place of surrogates there is none.
    pub(crate) const fn new(make: fn(&[Option<char>]) -> T) -> Self {
        Self { pages: [const { OnceLock::new() }; PAGES], make }
    }

    /// The part with this character, and the number that the character has in it.
    #[inline(always)]
    pub(crate) fn get(&self, c: usize) -> Option<(&T, usize)> {
        let page = self.pages.get(c / PAGE)?;
        Some((page.get_or_init(|| self.make(c / PAGE)), c % PAGE))
    }

    #[cold]
    fn make(&self, page: usize) -> T {
        let first = page * PAGE;
        let chars: Vec<_> = (first..first + PAGE).map(|c| char::from_u32(c as u32)).collect();
        (self.make)(&chars)
    }
}
