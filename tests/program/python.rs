//! Files as Python's libraries read them.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// What a program prints of files, as JSON; nothing, and that is said, where no Python has the modules. It is the one
/// that METATOK_PYTHON names, or the system's.
pub(crate) fn read_by_python<const N: usize>(modules: &str, program: &str, files: [PathBuf; N]) -> Option<Value> {
    let python = std::env::var("METATOK_PYTHON").unwrap_or_else(|_| "python3".into());
    let has_modules = Command::new(&python).args(["-c", &format!("import {modules}")]).output();
    if !has_modules.is_ok_and(|ran| ran.status.success()) {
        println!("skipped: there is no Python with {modules}; METATOK_PYTHON may name one");
        return None;
    }
    let ran = Command::new(python).args(["-c", program]).args(files).output().expect("it can be run");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(serde_json::from_slice(&ran.stdout).expect("it prints JSON"))
}
