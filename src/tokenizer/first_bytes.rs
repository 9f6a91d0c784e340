//! How a few texts begin: another text is searched for them only where one may begin.

/// The most bytes that are compared at once.
const MOST: usize = 8;
const BLOCK: usize = 32;

/// The bytes with which some texts begin.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FirstBytes {
    One(u8),
    Two(u8, u8),
    Three(u8, u8, u8),
    /// With one of them as often as there is room.
    Few([u8; MOST]),
}

impl FirstBytes {
    /// None if there are none, or many.
    pub(crate) fn of<T: AsRef<[u8]>>(texts: impl Iterator<Item = T>) -> Option<Self> {
        let mut bytes: Vec<u8> = texts.filter_map(|text| text.as_ref().first().copied()).collect();
        bytes.sort_unstable();
        bytes.dedup();
        match bytes[..] {
            [one] => Some(Self::One(one)),
            [one, two] => Some(Self::Two(one, two)),
            [one, two, three] => Some(Self::Three(one, two, three)),
            [first, ..] if bytes.len() <= MOST => {
                bytes.resize(MOST, first);
                bytes.try_into().ok().map(Self::Few)
            }
            _ => None,
        }
    }

    /// Where the first of them is from a byte on.
    #[inline]
    pub(crate) fn find(self, text: &[u8], from: usize) -> Option<usize> {
        let text = text.get(from..)?;
        let found = match self {
            Self::One(one) => memchr::memchr(one, text),
            Self::Two(one, two) => memchr::memchr2(one, two, text),
            Self::Three(one, two, three) => memchr::memchr3(one, two, three, text),
            Self::Few(bytes) => find_few(bytes, text),
        };
        found.map(|at| from + at)
    }
}

fn find_few(bytes: [u8; MOST], text: &[u8]) -> Option<usize> {
    let is_one = |byte: u8| bytes.iter().fold(false, |is_one, one| is_one | (byte == *one));
    let (blocks, _) = text.as_chunks::<BLOCK>();
    // Without a branch for each byte, which becomes a few instructions for all of them.
    let none = blocks.iter().take_while(|block| !block.iter().fold(false, |any, byte| any | is_one(*byte))).count();
    let start = none * BLOCK;
    text[start..].iter().position(|byte| is_one(*byte)).map(|at| start + at)
}

/// The first bytes of some texts, as many of each: most places that have the first byte of one do not have these.
#[derive(Debug, Clone)]
pub(crate) struct Beginnings {
    /// Which of four bytes are compared: as many as the shortest text has.
    mask: u32,
    beginnings: Vec<u32>,
}

impl Beginnings {
    /// More are not told apart faster than by looking for the texts.
    const MOST: usize = 32;

    /// None if there are none, or many.
    pub(crate) fn of<T: AsRef<[u8]>>(texts: impl Iterator<Item = T> + Clone) -> Option<Self> {
        let shortest = texts.clone().map(|text| text.as_ref().len()).min()?;
        let mask = u32::MAX.checked_shr(8 * 4_u32.saturating_sub(shortest as u32)).unwrap_or(0);
        let mut beginnings: Vec<u32> = texts.map(|text| four(text.as_ref()) & mask).collect();
        beginnings.sort_unstable();
        beginnings.dedup();
        (beginnings.len() <= Self::MOST).then_some(Self { mask, beginnings })
    }

    /// Whether a text may begin with one of the texts.
    #[inline]
    pub(crate) fn may_begin(&self, text: &[u8]) -> bool {
        let four = four(text) & self.mask;
        self.beginnings.iter().fold(false, |any, one| any | (*one == four))
    }
}

/// The first four bytes of a text, and zeros.
#[inline]
fn four(text: &[u8]) -> u32 {
    match text.first_chunk() {
        Some(four) => u32::from_le_bytes(*four),
        None => text.iter().rev().fold(0, |four, byte| four << 8 | u32::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_found_where_they_are(
            texts in prop::collection::vec("[<\\[\n\t▁a-f]{0,2}", 0..12),
            text in "([a-z <\\[\n▁]|[x-z ]{40}){0,20}",
            from in 0..100_usize,
        ) {
            let firsts: Vec<u8> = texts.iter().filter_map(|text| text.bytes().next()).collect();
            let count = firsts.iter().collect::<std::collections::BTreeSet<_>>().len();
            let found = FirstBytes::of(texts.iter());
            prop_assert_eq!(found.is_some(), (1..=MOST).contains(&count));
            if let Some(found) = found {
                let place = |at: &usize| text.as_bytes().get(*at).is_some_and(|byte| firsts.contains(byte));
                prop_assert_eq!(found.find(text.as_bytes(), from), (from..text.len()).find(place));
            }
        }

        #[test]
        fn where_a_text_begins_it_may_begin(
            texts in prop::collection::btree_set("[<|ab]{0,6}", 0..40),
            text in "[<|ab]{0,6}",
        ) {
            let shortest = texts.iter().map(String::len).min().unwrap_or_default().min(4);
            let may_begin = texts.iter().any(|other| text.get(..shortest).is_some_and(|first| other.starts_with(first)));
            if let Some(beginnings) = Beginnings::of(texts.iter()) {
                prop_assert_eq!(beginnings.may_begin(text.as_bytes()), may_begin);
            }
        }
    }
}
