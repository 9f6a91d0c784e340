//! A run's journal under damage: what is resumed gives the same bytes, or an error. Input: after how many answers the
//! run was cut off, then what befalls the journal: a kind, a place and a length of a byte each.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

const ANSWERS: [&str; 6] = [
    r#"{"id":0,"text":"Paris."}"#,
    r#"{"id":1,"text":"1, 2, 3"}"#,
    r#"{"id":"x","error":"too long"}"#,
    r#"{"id":3,"text":""}"#,
    r#"{"id":4,"text":"1, 2, 3"}"#,
    r#"{"id":5,"text":"\n"}"#,
];

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder can be made"));

fuzz_target!(|input: &[u8]| {
    let Some((&answered, damage)) = input.split_first() else { return };
    let journal = FOLDER.path().join("journal");
    let _ = std::fs::remove_file(&journal);
    let stop_after = answered as usize % (ANSWERS.len() + 1);
    let all = match metatok::fuzzing::run(&journal, &ANSWERS, stop_after, false).expect("it is written") {
        Some(all) => all,
        None => {
            let mut bytes = std::fs::read(&journal).expect("it was written");
            damage.chunks_exact(3).take(4).for_each(|damage| befall(&mut bytes, damage));
            std::fs::write(&journal, bytes).expect("it can be written");
            let resumed = metatok::fuzzing::run(&journal, &ANSWERS, ANSWERS.len(), true);
            let Ok(Some(all)) = resumed else { return };
            all
        }
    };
    let expected: String = ANSWERS.iter().flat_map(|answer| [answer, "\n"]).collect();
    assert_eq!(all, expected);
});

/// Flips, cuts, blanks, repeats, moves.
fn befall(bytes: &mut Vec<u8>, damage: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let at = damage[1] as usize * bytes.len() / 256;
    let end = (at + damage[2] as usize).min(bytes.len());
    let (line, line_end) = line_at(bytes, at);
    match damage[0] % 7 {
        0 => bytes[at] ^= 1 << (damage[2] % 8),
        1 => bytes.truncate(at),
        2 => bytes[at..end].fill(0),
        3 => drop(bytes.drain(at..end)),
        4 => drop(bytes.drain(line..line_end)),
        5 => bytes.extend_from_within(line..line_end),
        _ => {
            let moved: Vec<u8> = bytes.drain(line..line_end).collect();
            bytes.extend(moved);
        }
    }
}

/// The line that has this byte.
fn line_at(bytes: &[u8], at: usize) -> (usize, usize) {
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1);
    (start, end)
}
