//! Texts that are compared line by line. `*` at the end of an expected line stands for anything.

use crate::case_files::CaseFile;

/// Compares a text with what stands under a key of a case.
#[track_caller]
pub(crate) fn compare(file: &CaseFile, keys: &[&str], found: &str, expected: &str) {
    if !text_fits(found, expected) {
        let message = || format!("found\n{found}\nexpected\n{expected}");
        file.differs(keys, &to_expect(found, expected, '*'), message);
    }
}

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

/// Windows separates paths otherwise, has its own words for what the system says, and ends the program's name in `.exe`.
fn as_elsewhere(text: &str) -> String {
    let line = |line: &str| match line.split_once(" (os error ") {
        Some((what, number)) => format!("{} {number}\n", what.rsplit_once(": ").unwrap_or_default().0),
        None => format!("{line}\n"),
    };
    text.replace(r"\\", "/").replace('\\', "/").replace("metatok.exe", "metatok").lines().map(line).collect()
}

fn text_fits(found: &str, expected: &str) -> bool {
    if cfg!(windows) {
        return lines_fit(&as_elsewhere(found), &as_elsewhere(expected));
    }
    lines_fit(found, expected)
}

fn lines_fit(found: &str, expected: &str) -> bool {
    let (found, expected): (Vec<_>, Vec<_>) = (found.lines().collect(), expected.lines().collect());
    found.len() == expected.len()
        && found.iter().zip(&expected).all(|(found, expected)| line_fits(found, expected, '*'))
}

/// `rest` is the character that stands for the rest of a line.
pub(crate) fn line_fits(found: &str, expected: &str, rest: char) -> bool {
    match expected.strip_suffix(rest) {
        Some(start) => found.starts_with(start),
        None => found == expected,
    }
}

/// What was found, as a text to expect: lines that end in `rest` stay where they fit.
pub(crate) fn to_expect(found: &str, expected: &str, rest: char) -> String {
    let expected_lines: Vec<&str> = expected.lines().collect();
    let shortened = |i: usize, found: &str| {
        let same_line = expected_lines.get(i).copied();
        let others = expected_lines.iter().copied().filter(|line| !line.trim_end_matches(rest).is_empty());
        let fitting =
            same_line.into_iter().chain(others).find(|line| line.ends_with(rest) && line_fits(found, line, rest));
        fitting.unwrap_or(found).to_owned()
    };
    let lines: Vec<String> = found.lines().enumerate().map(|(i, line)| shortened(i, line)).collect();
    let is_one_line = lines.len() == 1 && !expected.ends_with('\n');
    lines.join("\n") + if is_one_line || lines.is_empty() { "" } else { "\n" }
}
