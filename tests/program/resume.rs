//! A damaged journal never gives other answers: what is resumed has the bytes of an undisturbed run, or there is an error
//! that names the file, the place and a way out.

use std::path::Path;

use rand_mt::Mt64;

use crate::harness::{Tests, tests};
use crate::program::{metatok, output, stderr};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![
        no_damage_gives_other_answers,
        what_is_before_the_damage_can_be_kept,
        a_stream_is_not_resumed_as_something_else
    ]
}

const RUN: [&str; 8] = ["run", "-m", "demo", "-q", "-o", "out", "--batch-size", "6"];
const RESUME: [&str; 4] = ["--resume", "--on-error", "reject", "in.jsonl"];

/// A number below `end`.
fn below(random: &mut Mt64, end: usize) -> usize {
    (random.next_u64() % end as u64) as usize
}

/// A range of at least one out of this many, mostly a short one.
fn range(random: &mut Mt64, len: usize) -> std::ops::Range<usize> {
    let start = below(random, len);
    let longest = if below(random, 4) == 0 { len - start } else { (len - start).min(20) };
    start..start + 1 + below(random, longest)
}

type Damage = fn(&mut Mt64, &mut Vec<u8>, &[u8]);

/// What can happen to a file. The last argument is the journal of another run.
const BYTES: [(&str, Damage); 6] = [
    ("flip", |random, bytes, _| {
        for _ in 0..=below(random, 3) {
            let at = below(random, bytes.len());
            bytes[at] ^= 1 << below(random, 8);
        }
    }),
    ("cut off", |random, bytes, _| bytes.truncate(below(random, bytes.len()))),
    ("cut out", |random, bytes, _| drop(bytes.drain(range(random, bytes.len())))),
    ("zeros", |random, bytes, _| {
        let range = range(random, bytes.len());
        bytes[range].fill(0);
    }),
    ("insert", |random, bytes, _| {
        let at = below(random, bytes.len() + 1);
        let new: Vec<u8> = (0..=below(random, 20)).map(|_| random.next_u64() as u8).collect();
        bytes.splice(at..at, new);
    }),
    ("overwrite", |random, bytes, other| {
        let range = range(random, bytes.len().min(other.len()));
        bytes[range.clone()].copy_from_slice(&other[range]);
    }),
];

type LineDamage = fn(&mut Mt64, &mut Vec<Vec<u8>>, &[Vec<u8>]);

/// What can happen to the lines of a file.
const LINES: [(&str, LineDamage); 6] = [
    ("repeat a line", |random, lines, _| {
        let (from, to) = (below(random, lines.len()), below(random, lines.len() + 1));
        lines.insert(to, lines[from].clone());
    }),
    ("remove a line", |random, lines, _| drop(lines.remove(below(random, lines.len())))),
    ("move a line", |random, lines, _| {
        let line = lines.remove(below(random, lines.len()));
        lines.insert(below(random, lines.len() + 1), line);
    }),
    ("swap lines", |random, lines, _| {
        let (one, other) = (below(random, lines.len()), below(random, lines.len()));
        lines.swap(one, other);
    }),
    ("a line of another run", |random, lines, other| {
        lines.insert(below(random, lines.len() + 1), other[below(random, other.len())].clone());
    }),
    ("go on as another run", |random, lines, other| {
        let at = below(random, lines.len().min(other.len()));
        lines.truncate(at);
        lines.extend_from_slice(&other[at..]);
    }),
];

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// A journal that was cut off somewhere, and then damaged.
fn damaged(random: &mut Mt64, number: usize, journal: &[u8], other: &[u8]) -> (&'static str, Vec<u8>) {
    let mut lines_left = lines(journal);
    lines_left.truncate(2 + below(random, lines_left.len() - 1));
    let kind = number % (BYTES.len() + LINES.len());
    if let Some((name, damage)) = LINES.get(kind) {
        damage(random, &mut lines_left, &lines(other));
        return (name, lines_left.concat());
    }
    let (name, damage) = BYTES[kind - LINES.len()];
    let mut bytes = lines_left.concat();
    damage(random, &mut bytes, other);
    (name, bytes)
}

/// The journal of a run that a bad line stops, and the file that it has when it goes on without that line.
fn journal(folder: &Path, seed: &str) -> (Vec<u8>, Vec<u8>) {
    let args = [&RUN[..], &["--temperature", "0.8", "--seed", seed]].concat();
    let read = |name: &str| std::fs::read(folder.join(name)).expect("it is there");
    assert_eq!(output(folder, &[&args[..], &["in.jsonl"]].concat()).status.code(), Some(1));
    let journal = read("out.partial");
    assert_eq!(output(folder, &[&args[..], &RESUME].concat()).status.code(), Some(1));
    (journal, read("out"))
}

/// The demo's conversations, and a line that is none.
fn write_input(folder: &Path) {
    let demo = std::fs::read_to_string(root().join("models/demo/conversations.jsonl"));
    std::fs::write(folder.join("in.jsonl"), demo.expect("they are there") + "no conversation\n").expect("written");
}

/// As many journals are damaged as METATOK_DAMAGES says.
fn no_damage_gives_other_answers() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    write_input(at);
    let (other, _) = journal(at, "1");
    let (journal, expected) = journal(at, "0");

    let tries = std::env::var("METATOK_DAMAGES").map_or(96, |tries| tries.parse().expect("it is a number"));
    let (mut random, mut refused) = (Mt64::new(5), 0);
    let args = [&RUN[..], &["--temperature", "0.8", "--seed", "0"], &RESUME].concat();
    for number in 0..tries {
        let (name, bytes) = damaged(&mut random, number, &journal, &other);
        std::fs::write(at.join("out.partial"), &bytes).expect("written");
        std::fs::remove_file(at.join("out")).expect("it was there");
        let ran = output(at, &args);
        let message = stderr(&ran);
        if ran.status.code() == Some(2) {
            refused += 1;
            let has_way_out = message.contains("remove") || message.ends_with("move it away\n");
            assert!(message.starts_with("metatok: out.partial: ") && has_way_out, "{number}, {name}: {message}");
            assert!(
                std::fs::read(at.join("out.partial")).expect("it stays") == bytes,
                "{number}, {name}: it is changed"
            );
            std::fs::write(at.join("out"), "").expect("written");
        } else {
            assert_eq!(ran.status.code(), Some(1), "{number}, {name}: {message}");
            let out = std::fs::read(at.join("out")).expect("it is written");
            assert!(out == expected, "{number}, {name}: other answers");
        }
    }
    println!("{tries} damaged journals: {refused} refused, {} with the same bytes, 0 with others", tries - refused);
    assert!(refused * 2 > tries, "most damage is no end of a file");
}

/// The way out that the message names keeps the answers before the damage.
fn what_is_before_the_damage_can_be_kept() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    write_input(at);
    let (journal, expected) = journal(at, "0");
    let mut lines = lines(&journal);
    let (byte, again) = (lines[..9].concat().len(), lines[3].clone());
    lines.insert(9, again);
    std::fs::write(at.join("out.partial"), lines.concat()).expect("written");
    std::fs::remove_file(at.join("out")).expect("it was there");
    let args = [&RUN[..], &["--temperature", "0.8", "--seed", "0"], &RESUME].concat();
    let message = format!(
        "metatok: out.partial: the line at byte {byte} is not the line that was written there; `truncate -s {byte} out.partial` keeps everything before it, or remove the file to start over\n"
    );
    assert_eq!(stderr(&output(at, &args)), message);
    let cut = std::fs::OpenOptions::new().write(true).open(at.join("out.partial")).expect("it is there");
    cut.set_len(byte as u64).expect("it can be cut");
    assert_eq!(output(at, &args).status.code(), Some(1));
    assert!(std::fs::read(at.join("out")).expect("it is written") == expected, "the same bytes");
}

/// What a pipe held is gone, and the demo's questions are no replacement.
fn a_stream_is_not_resumed_as_something_else() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    std::fs::write(at.join("in.jsonl"), "\"Once upon a time\"\nno conversation\n").expect("written");
    let args = ["run", "-m", "demo", "-q", "-o", "out", "--batch-size", "1"];
    let stdin = std::fs::File::open(at.join("in.jsonl")).expect("it is there");
    let ran = metatok(at, &args).stdin(stdin).output().expect("it runs");
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    let resumed = output(at, &[&args[..], &["--resume"]].concat());
    assert_eq!(resumed.status.code(), Some(2));
    let message = "metatok: out.partial: its answers were made with other settings: input differs: file has [\"stream\"], current is [\"demo\"]; remove it to start over\n";
    assert_eq!(stderr(&resumed), message);
}
