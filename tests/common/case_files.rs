//! A folder of cases, one file each: every case is a test, named after its folder and its file.

use std::cell::RefCell;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use libtest_mimic::{Completion, Failed, Trial};
use serde::{Serialize, de::DeserializeOwned};
use toml_edit::DocumentMut;

use crate::accept;
use crate::harness::Tests;
use crate::root::root;

/// What a test is called that a file of data makes: `cargo test '[case]'` runs all of them.
pub(crate) const CASE: &str = "case";

/// A case, and the file that it is in.
pub(crate) struct CaseFile {
    pub(crate) path: PathBuf,
    document: RefCell<DocumentMut>,
    text: String,
}

/// The files of a folder that end so, in order.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).expect("the folder is there").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has no case");
    paths
}

pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Every case of a folder as a test.
pub(crate) fn each<C: DeserializeOwned + 'static>(
    folder: &str,
    run: impl Fn(&CaseFile, &C) -> Completion + Clone + Send + 'static,
) -> Tests {
    let group = folder.rsplit('/').next().unwrap_or(folder);
    let trial = |path: PathBuf| {
        let run = run.clone();
        Trial::ignorable_test(format!("{group}/{}", stem(&path)), move || {
            let file = CaseFile::read(path)?;
            let completion = run(&file, &toml::from_str(&file.text)?);
            file.write()?;
            Ok(completion)
        })
        .with_kind(CASE)
    };
    files(folder, "toml").into_iter().map(trial).collect()
}

impl CaseFile {
    fn read(path: PathBuf) -> Result<Self, Failed> {
        let text = std::fs::read_to_string(&path)?;
        Ok(Self { path, document: RefCell::new(text.parse()?), text })
    }

    /// Compares a value with what stands under a key.
    #[track_caller]
    pub(crate) fn value<T: PartialEq + Debug + Serialize>(&self, keys: &[&str], found: &T, expected: &T) {
        if found != expected {
            self.differs(keys, found, || format!("found\n{found:#?}\nexpected\n{expected:#?}"));
        }
    }

    /// Accepts what was found, or stops.
    #[track_caller]
    pub(crate) fn differs(&self, keys: &[&str], found: &impl Serialize, message: impl Fn() -> String) {
        let mut document = self.document.borrow_mut();
        // What the file does not expect today is not accepted either.
        match accept::value_at(&mut document, keys).filter(|_| accept::is_on()) {
            Some(value) => accept::replace(value, accept::to_value(found)),
            None => panic!("{}: {}", keys.join("."), message()),
        }
    }

    /// Writes what was accepted.
    fn write(&self) -> Result<(), Failed> {
        let text = self.document.borrow().to_string();
        if text != self.text {
            println!("accepted: {}", self.path.display());
            std::fs::write(&self.path, text)?;
        }
        Ok(())
    }
}
