//! Tokenizers that take long to load: each is loaded by the test that first needs it, and shared with all others.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use metatok::Tokenizer;

use crate::root::root;
use crate::subjects::Subject;

/// Values by name, each made once. Tests that need another one do not wait.
struct Once<T>(Mutex<HashMap<String, Arc<OnceLock<T>>>>);

impl<T: Clone> Once<T> {
    fn get(&self, name: &str, make: impl FnOnce() -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let one = Arc::clone(all.entry(name.to_owned()).or_default());
        drop(all);
        one.get_or_init(make).clone()
    }
}

/// The tokenizer of the demo, or a real one if it is on this machine.
pub(crate) fn tokenizer(name: &str) -> Option<Arc<Tokenizer>> {
    static LOADED: LazyLock<Once<Option<Arc<Tokenizer>>>> = LazyLock::new(|| Once(Mutex::default()));
    LOADED.get(name, || {
        let folder = if name == "demo" { "demo".into() } else { folder(name)? };
        let tokenizer = Tokenizer::load(&folder.to_string_lossy());
        Some(Arc::new(tokenizer.unwrap_or_else(|error| panic!("{name}: {error}"))))
    })
}

/// The demo's tokenizer.
pub(crate) fn demo() -> Arc<Tokenizer> {
    tokenizer("demo").expect("it is embedded")
}

/// A real tokenizer with its reference, if it is on this machine.
pub(crate) fn subject(name: &str) -> Option<Arc<Subject>> {
    static LOADED: LazyLock<Once<Option<Arc<Subject>>>> = LazyLock::new(|| Once(Mutex::default()));
    LOADED.get(name, || {
        let files = Tokenizer::files(&folder(name)?.to_string_lossy()).expect("the files can be read");
        Some(Arc::new(Subject::new(files, tokenizer(name)?)))
    })
}

/// The real tokenizers on this machine.
pub(crate) fn names() -> Vec<String> {
    let entries = std::fs::read_dir(all_folders()).into_iter().flatten().filter_map(Result::ok);
    let tokenizers = entries.filter(|entry| entry.path().join("tokenizer.json").exists());
    let mut names: Vec<String> = tokenizers.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The folder of a real tokenizer, if it is on this machine.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let folder = all_folders().join(name);
    folder.is_dir().then_some(folder)
}

fn all_folders() -> PathBuf {
    std::env::var_os("METATOK_TOKENIZERS").map_or_else(|| root().join("../shared/tokenizers"), PathBuf::from)
}
