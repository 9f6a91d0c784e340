//! Where a finished text ends, for few texts: without the automaton of a matcher.

use std::cmp::Reverse;

/// A text up to the first of these stop strings: the one that is complete first, or the longest of several such. A
/// [`StopMatcher`](crate::stop::StopMatcher) finds the same one.
pub(crate) fn before_first<'t, 's>(text: &'t str, strings: impl Iterator<Item = &'s str>) -> &'t str {
    let found =
        strings.filter(|string| !string.is_empty()).filter_map(|string| Some((text.find(string)?, string.len())));
    let first = found.min_by_key(|(start, length)| (start + length, Reverse(*length)));
    first.map_or(text, |(start, _)| &text[..start])
}

#[cfg(test)]
mod tests {
    use super::before_first;
    use crate::stop::StopCriteria;

    #[test]
    fn it_is_where_a_matcher_stops() {
        for text in ["", "abcd", "xabcabcd", "xxcab", "ab", "xyz", "äbcdä", "aab bcd"] {
            for strings in [&["abcd", "bc"][..], &["bcd", "abcd"], &["b", "ab"], &["cab", "", "xx"], &["ä"], &[]] {
                let mut criteria = StopCriteria::default();
                strings.iter().for_each(|string| criteria.add_string(string));
                let matcher = criteria.matcher().expect("there are few");
                assert_eq!(before_first(text, strings.iter().copied()), matcher.trim(text).0, "{text:?} {strings:?}");
            }
        }
    }
}
