//! The program, run in a folder.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) const METATOK: &str = env!("CARGO_BIN_EXE_metatok");

/// The command, with nothing to read and its outputs piped.
pub(crate) fn metatok(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(METATOK);
    command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What becomes of it.
pub(crate) fn output(folder: &Path, args: &[&str]) -> Output {
    metatok(folder, args).output().expect("the program runs")
}

/// What it says on standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Its exit code, as shells say it if a signal ended it.
pub(crate) fn exit_code(output: &Output) -> Option<i32> {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&output.status) {
        return Some(128 + signal);
    }
    output.status.code()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Lines of JSON, such as those of an output.
pub(crate) fn json_lines(text: impl AsRef<[u8]>) -> Vec<Value> {
    let text = String::from_utf8_lossy(text.as_ref());
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Gives the command a line only when there is a line of output for the one before. Returns these.
pub(crate) fn line_by_line(args: &[&str], lines: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut run = metatok(folder.path(), args).stdin(Stdio::piped()).spawn().expect("it runs");
    let (mut to, from) = (run.stdin.take().expect("it is piped"), run.stdout.take().expect("it is piped"));
    let mut from = BufReader::new(from);
    let answer = |line| {
        writeln!(to, "{line}").expect("it is read");
        let mut answer = String::new();
        from.read_line(&mut answer).expect("it comes");
        answer
    };
    let answers = lines.lines().map(answer).collect();
    drop(to);
    assert!(run.wait().expect("it ends").success());
    answers
}
