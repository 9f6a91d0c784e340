//! What is made to break a program: each case of `tests/hostile/` ends with a clear error, in a process that may not take
//! much memory or time.
#![cfg(unix)]
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

#[path = "common/case_files.rs"]
mod case_files;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use case_files::{assert_matches, without_times};
use serde::Deserialize;
use serde_json::Value;

/// What a process may take: KiB of addresses, and seconds of one core, which a debug build on a busy machine needs.
const LIMITS: &str = "ulimit -v 4194304; ulimit -t 10; ulimit -c 0; exec \"$@\"";

/// A command line in a folder of its own, and the error that it must end with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[allow(dead_code, reason = "for readers")]
    about: String,
    args: Vec<String>,
    /// Files to be there, each in pieces that follow one another.
    #[serde(default)]
    files: BTreeMap<String, Vec<Piece>>,
    /// What standard error holds, times left out; `*` at the end of a line stands for anything.
    stderr: String,
    stdout: Option<String>,
    exit: i32,
    /// The feature without which it says something else.
    feature: Option<String>,
}

/// A part of a file, so many times.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Piece {
    /// In it `{i}` is the number of the time, and `{next}` the one after it.
    #[serde(default)]
    text: String,
    #[serde(default)]
    bytes: Vec<u8>,
    /// A file of the demo model.
    demo: Option<String>,
    /// Other values at these places of it, which are JSON pointers.
    #[serde(default)]
    set: BTreeMap<String, Value>,
    #[serde(default = "once")]
    times: usize,
}

fn once() -> usize {
    1
}

impl Piece {
    fn write(&self, file: &mut impl Write) -> std::io::Result<()> {
        for i in 0..self.times {
            let text = self.text.replace("{i}", &i.to_string()).replace("{next}", &(i + 1).to_string());
            file.write_all(text.as_bytes())?;
            file.write_all(&self.bytes)?;
        }
        let Some(demo) = &self.demo else { return Ok(()) };
        let demo = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo").join(demo))?;
        if self.set.is_empty() {
            return file.write_all(&demo);
        }
        let mut json: Value = serde_json::from_slice(&demo).expect("it is JSON");
        for (pointer, value) in &self.set {
            *json.pointer_mut(pointer).unwrap_or_else(|| panic!("the demo has no {pointer}")) = value.clone();
        }
        serde_json::to_writer(file, &json).map_err(Into::into)
    }
}

fn has(feature: &str) -> bool {
    match feature {
        "arrays" => cfg!(feature = "arrays"),
        "candle" => cfg!(feature = "candle"),
        "hub" => cfg!(feature = "hub"),
        "parquet" => cfg!(feature = "parquet"),
        other => panic!("nobody asks for the feature {other}"),
    }
}

#[test]
fn every_case_ends_with_its_error() {
    case_files::each("tests/hostile", |case: Case| {
        if let Some(feature) = case.feature.as_deref().filter(|feature| !has(feature)) {
            println!("skipped: this metatok is built without {feature}");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder can be made");
        for (name, pieces) in &case.files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("it is below the folder")).expect("folders can be made");
            write(&path, pieces).expect("files can be written");
        }
        let output = Command::new("sh")
            .args(["-c", LIMITS, "sh", env!("CARGO_BIN_EXE_metatok")])
            .args(&case.args)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("the program runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_matches(&without_times(&text(&output.stderr)), &case.stderr);
        if let Some(expected) = &case.stdout {
            assert_matches(&text(&output.stdout), expected);
        }
        assert_eq!(output.status.code(), Some(case.exit), "{}", output.status);
    });
}

fn write(path: &Path, pieces: &[Piece]) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    pieces.iter().try_for_each(|piece| piece.write(&mut file))?;
    file.flush()
}
