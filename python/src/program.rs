//! The command line, which the package brings along.

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;

/// Runs `metatok` with these arguments, the first of which is its own name, and returns its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    let code = py.detach(|| metatok_cli::main_with(args));
    // It does not say its number.
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(u8::MAX)
}
