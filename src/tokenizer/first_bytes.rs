//! Finds the next of a few bytes in a text. What begins with one of these bytes is looked for only there.

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
    }
}
