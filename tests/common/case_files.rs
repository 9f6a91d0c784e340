//! Running a folder of cases, one file each, and comparing what a program says with what it should.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The summary's seconds and rate differ each time.
pub(crate) fn without_times(stderr: &str) -> String {
    let mut text = String::new();
    for line in stderr.lines() {
        let is_time = |rest: &str| rest.split(' ').nth(1).is_some_and(|unit| unit == "s");
        let line = match line.rsplit_once(", ") {
            Some((counts, time)) if is_time(time) => counts.to_owned(),
            _ => line.to_owned(),
        };
        text += &line;
        text += "\n";
    }
    text
}

#[track_caller]
pub(crate) fn assert_matches(found: &str, expected: &str) {
    let fits = |found: &str, expected: &str| match expected.strip_suffix('*') {
        Some(start) => found.starts_with(start),
        None => found == expected,
    };
    let (found_lines, expected_lines): (Vec<_>, Vec<_>) = (found.lines().collect(), expected.lines().collect());
    let is_equal =
        found_lines.len() == expected_lines.len() && found_lines.iter().zip(&expected_lines).all(|(a, b)| fits(a, b));
    assert!(is_equal, "found\n{found}\nexpected\n{expected}");
}

/// Runs every case of a folder, and names those that fail.
pub(crate) fn each<C: for<'de> Deserialize<'de>>(folder: &str, run: impl Fn(C)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("the folder is there").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let failed: Vec<_> = paths
        .iter()
        .filter(|path| {
            let text = std::fs::read_to_string(path).expect("a case can be read");
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let case: C = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            println!("{name}");
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(case))).is_err()
        })
        .collect();
    assert!(failed.is_empty(), "failed: {failed:#?}");
}
