//! The program, run in a folder.

use std::path::Path;
use std::process::{Command, Output, Stdio};

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

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
