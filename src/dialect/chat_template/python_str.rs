//! Where Python's methods of strings cut a text: the places, in bytes.

use std::ops::Range;

use crate::conversation::is_space;

/// The part of a text between two places in characters, counted from the end if they are negative, and where it begins; none
/// if that is after the end.
pub(super) fn between(text: &str, start: Option<i64>, end: Option<i64>) -> (Option<&str>, usize) {
    if start.is_none() && end.is_none() {
        return (Some(text), 0);
    }
    let length = text.chars().count();
    let place = |at: i64| match usize::try_from(at) {
        Ok(at) => at,
        Err(_) => length.saturating_sub(usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    let (start, end) = (start.map_or(0, place), end.map_or(length, place).min(length));
    let byte = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
    ((start <= end).then(|| &text[byte(start)..byte(end)]), start)
}

/// What `str.strip` leaves, at the ends that are stripped.
pub(super) fn strip(text: &str, is_stripped: &impl Fn(char) -> bool, at_start: bool, at_end: bool) -> Range<usize> {
    let start = if at_start { text.len() - text.trim_start_matches(is_stripped).len() } else { 0 };
    let end = if at_end { text.trim_end_matches(is_stripped).len() } else { text.len() };
    start..end.max(start)
}

/// The text before the separator, the separator, and the text after it. Where there is none, all of the text is before it, or
/// after it if it is sought from the end.
pub(super) fn partition(text: &str, separator: &str, from_end: bool) -> [Range<usize>; 3] {
    let found = if from_end { text.rfind(separator) } else { text.find(separator) };
    let end = text.len();
    match found {
        Some(at) => [0..at, at..at + separator.len(), at + separator.len()..end],
        None if from_end => [0..0, 0..0, 0..end],
        None => [0..end, end..end, end..end],
    }
}

/// The pieces of `str.split` and `str.rsplit`, whose separator must not be empty.
pub(super) fn split(text: &str, separator: &str, most: usize, from_end: bool) -> Vec<Range<usize>> {
    let mut found: Vec<usize> = if from_end {
        let mut found: Vec<usize> = text.rmatch_indices(separator).map(|(at, _)| at).take(most).collect();
        found.reverse();
        found
    } else {
        text.match_indices(separator).map(|(at, _)| at).take(most).collect()
    };
    found.push(text.len());
    let mut start = 0;
    found
        .into_iter()
        .map(|at| {
            let piece = start..at;
            start = at + separator.len();
            piece
        })
        .collect()
}

/// The words of `str.split` and `str.rsplit` without a separator, which are between white space.
pub(super) fn split_white_space(text: &str, most: usize, from_end: bool) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut rest = strip(text, &is_space, !from_end, from_end);
    while !rest.is_empty() && words.len() < most {
        let left = &text[rest.clone()];
        if from_end {
            let word = left.rfind(is_space).map_or(0, |at| at + left[at..].chars().next().map_or(1, char::len_utf8));
            words.push(rest.start + word..rest.end);
            rest = rest.start..rest.start + left[..word].trim_end_matches(is_space).len();
        } else {
            let word = left.find(is_space).unwrap_or(left.len());
            words.push(rest.start..rest.start + word);
            rest = rest.end - left[word..].trim_start_matches(is_space).len()..rest.end;
        }
    }
    if !rest.is_empty() {
        let kept = strip(&text[rest.clone()], &is_space, from_end, !from_end);
        let kept = rest.start + kept.start..rest.start + kept.end;
        words.push(if from_end { rest.start..kept.end } else { kept.start..rest.end });
    }
    if from_end {
        words.reverse();
    }
    words
}

/// The lines of `str.splitlines`.
pub(super) fn lines(text: &str, keeps: bool) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let (mut start, mut chars) = (0, text.char_indices().peekable());
    while let Some((at, c)) = chars.next() {
        if !matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}') {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && chars.next_if(|(_, next)| *next == '\n').is_some() {
            end += 1;
        }
        lines.push(start..if keeps { end } else { at });
        start = end;
    }
    if start < text.len() {
        lines.push(start..text.len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_split_as_in_python() {
        let words = |text: &'static str, most: usize, from_end| -> Vec<&str> {
            split_white_space(text, most, from_end).into_iter().map(|word| &text[word]).collect()
        };
        assert_eq!(words("  a b  c ", usize::MAX, false), ["a", "b", "c"]);
        assert_eq!(words("  a b  c ", 1, false), ["a", "b  c "]);
        assert_eq!(words("  a b  c ", 1, true), ["  a b", "c"]);
        assert_eq!(words(" ", usize::MAX, true), [""; 0]);
    }
}
