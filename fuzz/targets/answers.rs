//! What engines give, trimmed whole and as a stream, against a search byte by byte. Input: options, stop strings as
//! lines, ids of two bytes each.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use metatok::stop::{FinishReason, StopCriteria, StopSource};
use metatok::{Mode, Trimmer};
use metatok_fuzz::DEMO;

static TRIMMER: LazyLock<Trimmer> = LazyLock::new(|| metatok_fuzz::demo(Mode::Generate).trimmer().expect("it trims"));

fuzz_target!(|input: &[u8]| {
    let Some((&flags, rest)) = input.split_first() else { return };
    let mut halves = rest.splitn(2, |byte| *byte == 0xff);
    let (strings, ids) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    let Ok(strings) = std::str::from_utf8(strings) else { return };
    // A few beyond the vocabulary, which has 1054.
    let ids: Vec<u32> = ids.chunks_exact(2).map(|pair| u32::from(pair[0] & 7) % 5 * 256 + u32::from(pair[1])).collect();
    let mut criteria = StopCriteria::default();
    strings.lines().take(16).for_each(|string| criteria.add_string(string));
    for id in [1052, 1060, 40].into_iter().enumerate().filter(|(bit, _)| flags & (1 << bit) != 0) {
        criteria.add_id(id.1, StopSource::User);
    }
    let Ok(trimmer) = TRIMMER.with_criteria(&criteria) else { return };
    let pad = (flags & 8 != 0).then_some(1053);
    let trimmer = trimmer.pad_token_id(pad).include_stop(flags & 16 != 0);
    check(&trimmer, &ids, pad.is_none());
    check_text(&criteria, &ids);
});

/// A stream gives what the whole gives, padding apart, of which a stream cannot know that nothing follows.
fn check(trimmer: &Trimmer, ids: &[u32], is_unpadded: bool) {
    let whole = trimmer.complete(ids);
    let (mut stream, mut text) = (trimmer.stream(), String::new());
    let mut failed = false;
    for &id in ids {
        match stream.push(id, &mut text) {
            Ok(None) => {}
            Ok(Some(_)) => break,
            Err(_) => {
                failed = true;
                break;
            }
        }
    }
    let reason = stream.finish(&mut text);
    match whole {
        Ok(whole) => {
            assert!(!failed, "a stream refuses what the whole takes");
            assert_eq!(reason, whole.finish_reason, "a stream ends as the whole");
            if is_unpadded {
                assert_eq!(text, whole.text, "a stream says what the whole says");
            }
            let all: Vec<u32> = whole.token_ids.iter().chain(&whole.tail).copied().collect();
            assert_eq!(all, ids, "no id is lost");
        }
        Err(_) => assert!(failed, "a stream takes what the whole refuses"),
    }
}

/// The text ends before the stop string that is complete first, the longest of several.
fn check_text(criteria: &StopCriteria, ids: &[u32]) {
    let (Ok(matcher), Ok(text)) = (criteria.matcher(), DEMO.decode(ids, false)) else { return };
    let strings = criteria.strings();
    let expected = (1..=text.len()).find_map(|end| {
        let complete = strings.iter().filter(|string| text.as_bytes()[..end].ends_with(string.as_bytes()));
        complete.map(|string| string.len()).max().map(|longest| end - longest)
    });
    let (before, reason) = matcher.trim(&text);
    assert_eq!(expected.unwrap_or(text.len()), before.len(), "{strings:?} in {text:?}");
    assert_eq!(expected.is_none(), reason == FinishReason::Length);
}
