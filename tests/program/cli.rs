//! Runs the command lines of `tests/cases/cli/`: one file each, with the files that it reads and what must come of it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use libtest_mimic::Completion;
use serde::Deserialize;

use crate::case_files::{self, CaseFile};
use crate::harness::Tests;
use crate::lines::{self, without_times};
use crate::program::{metatok, stderr, stdout};

pub(crate) fn tests() -> Tests {
    case_files::each("tests/cases/cli", run)
}

/// A command line in a folder of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[allow(dead_code, reason = "for readers")]
    about: String,
    args: Vec<String>,
    /// Files to be there, as text, or as bytes.
    #[serde(default)]
    files: BTreeMap<String, Contents>,
    #[serde(default)]
    stdin: String,
    stdout: Option<String>,
    /// What standard error holds, times left out. In it, and in files, `*` at the end of a line stands for anything.
    stderr: Option<String>,
    exit: i32,
    /// Files that must be there afterwards, and what they hold.
    #[serde(default)]
    written: BTreeMap<String, String>,
    /// Files that must not be there afterwards.
    #[serde(default)]
    absent: Vec<String>,
    /// It is not so on a system that lacks this file, such as Windows.
    needs: Option<String>,
    /// It is so only where Parquet cannot be read.
    #[serde(default)]
    without_parquet: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Contents {
    Text(String),
    Bytes(Vec<u8>),
}

fn run(file: &CaseFile, case: &Case) -> Completion {
    if case.without_parquet && cfg!(feature = "parquet") {
        return Completion::ignored_with("this metatok reads Parquet");
    }
    let devices = case.args.iter().map(String::as_str).filter(|arg| arg.starts_with("/dev/"));
    if let Some(path) = devices.chain(case.needs.as_deref()).find(|path| !Path::new(path).exists()) {
        return Completion::ignored_with(format!("there is no {path}"));
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    case.files.iter().for_each(|(name, contents)| write(&folder.path().join(name), contents));
    let output = output(case, folder.path());
    compare(file, case, &output);
    compare_files(file, case, folder.path());
    Completion::Completed
}

fn write(path: &Path, contents: &Contents) {
    let bytes = match contents {
        Contents::Text(text) => text.as_bytes(),
        Contents::Bytes(bytes) => bytes,
    };
    std::fs::create_dir_all(path.parent().expect("it is below the folder")).expect("folders can be made");
    std::fs::write(path, bytes).expect("files can be written");
}

fn output(case: &Case, folder: &Path) -> Output {
    let args: Vec<&str> = case.args.iter().map(String::as_str).collect();
    let stdin = if case.stdin.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut child = metatok(folder, &args).stdin(stdin).spawn().expect("the program starts");
    // It may have ended before it reads.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(case.stdin.as_bytes());
    }
    child.wait_with_output().expect("the program ends")
}

fn compare(file: &CaseFile, case: &Case, output: &Output) {
    let stderr = stderr(output);
    if let Some(expected) = &case.stderr {
        lines::compare(file, &["stderr"], &without_times(&stderr), expected);
    }
    if let Some(expected) = &case.stdout {
        lines::compare(file, &["stdout"], &stdout(output), expected);
    }
    let code = output.status.code().unwrap_or_else(|| panic!("it was killed: {stderr}"));
    if code != case.exit {
        println!("{stderr}");
    }
    file.value(&["exit"], &code, &case.exit);
}

fn compare_files(file: &CaseFile, case: &Case, folder: &Path) {
    for (name, expected) in &case.written {
        let found = std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        lines::compare(file, &["written", name], &String::from_utf8_lossy(&found), expected);
    }
    for name in &case.absent {
        assert!(!folder.join(name).exists(), "{name} is there");
    }
    let left = std::fs::read_dir(folder).expect("the folder can be listed").flatten();
    let partial: Vec<_> =
        left.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("partial")).collect();
    assert!(partial.is_empty(), "{partial:?} are left over");
}
