//! What is made to break a program: each case of `tests/hostile/` ends with a clear error, in a process that may not take
//! much memory or time.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Completion;
use serde::Deserialize;
use serde_json::Value;

use crate::case_files::{self, CaseFile};
use crate::harness::Tests;
use crate::lines::{self, without_times};
use crate::program::{METATOK, stderr, stdout};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    case_files::each("tests/hostile", run)
}

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

/// A part of a file, this many times.
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
        let demo = std::fs::read(root().join("models/demo").join(demo))?;
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

fn run(file: &CaseFile, case: &Case) -> Completion {
    if let Some(feature) = case.feature.as_deref().filter(|feature| !has(feature)) {
        return Completion::ignored_with(format!("this metatok is built without {feature}"));
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (name, pieces) in &case.files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it is below the folder")).expect("folders can be made");
        write(&path, pieces).expect("files can be written");
    }
    let output = Command::new("sh")
        .args(["-c", LIMITS, "sh", METATOK])
        .args(&case.args)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    lines::compare(file, &["stderr"], &without_times(&stderr(&output)), &case.stderr);
    if let Some(expected) = &case.stdout {
        lines::compare(file, &["stdout"], &stdout(&output), expected);
    }
    let code = output.status.code().unwrap_or_else(|| panic!("{}", output.status));
    file.value(&["exit"], &code, &case.exit);
    Completion::Completed
}

fn write(path: &Path, pieces: &[Piece]) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    pieces.iter().try_for_each(|piece| piece.write(&mut file))?;
    file.flush()
}
