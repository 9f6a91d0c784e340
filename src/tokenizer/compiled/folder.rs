//! The folder of what was made of tokenizers' files.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use crate::tokenizer::compiled::MARK;

/// Where [`Tokenizer::load`](crate::Tokenizer::load) keeps what it has loaded, so that it takes a tenth of the time the
/// next time.
///
/// ```
/// // For the whole process, before anything is loaded.
/// metatok::TokenizerCache::disable();
/// assert_eq!(metatok::TokenizerCache::folder(), None);
/// ```
#[derive(Debug)]
pub struct TokenizerCache(());

/// None if nothing is kept.
static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();

impl TokenizerCache {
    /// Keeps nothing in this process, and uses nothing that was kept. It has no effect after something was loaded.
    pub fn disable() {
        FOLDER.get_or_init(|| None);
    }

    /// The folder: the variable METATOK_CACHE, which may be empty so that nothing is kept, or else `metatok` in the
    /// user's folder of caches (XDG_CACHE_HOME, or LOCALAPPDATA on Windows; else `.cache` in the home directory).
    pub fn folder() -> Option<&'static Path> {
        FOLDER.get_or_init(|| find(|name| std::env::var_os(name), std::env::home_dir())).as_deref()
    }
}

fn find(variable: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    if let Some(folder) = variable("METATOK_CACHE") {
        return Some(PathBuf::from(folder)).filter(|folder| !folder.as_os_str().is_empty());
    }
    let set = |name| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let caches = set("XDG_CACHE_HOME")
        .or_else(|| set("LOCALAPPDATA").filter(|_| cfg!(windows)))
        .or_else(|| Some(home?.join(".cache")))?;
    Some(caches.join("metatok"))
}

/// Entries of other versions are removed when they are this old.
const OLD: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// An entry, if it is kept.
pub(crate) fn get(folder: &Path, key: &str) -> Option<Vec<u8>> {
    std::fs::read(file(folder, key)).ok()
}

/// Keeps an entry. Readers see all of the file or nothing, whoever else writes it. That it cannot be kept, in a home
/// directory that is read only for instance, is not an error: it is made again the next time.
pub(crate) fn put(folder: &Path, key: &str, bytes: &[u8]) {
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut partial = tempfile::NamedTempFile::new_in(folder)?;
        partial.write_all(bytes)?;
        partial.persist(file(folder, key))?;
        Ok(())
    };
    if write().is_ok() {
        remove_others(folder, OLD);
    }
}

/// Removes entries of other versions, which nothing reads any more. Two versions in use at the same time do not do so to
/// each other all the time.
fn remove_others(folder: &Path, age: Duration) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let modified = || entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let is_old = || modified().and_then(|time| time.elapsed().ok()).is_some_and(|elapsed| elapsed >= age);
        if path.extension().is_some_and(|extension| extension == EXTENSION) && is_old() && !is_of_this_version(&path) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn is_of_this_version(path: &Path) -> bool {
    let mut mark = [0; MARK.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut mark)).is_ok() && mark == MARK.as_bytes()
}

fn file(folder: &Path, key: &str) -> PathBuf {
    folder.join(key).with_extension(EXTENSION)
}

const EXTENSION: &str = "tokenizer";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_is() {
        let home = || Some(PathBuf::from("/home/me"));
        let (x, in_x) = if cfg!(windows) { ("C:/x", "C:/x/metatok") } else { ("/x", "/x/metatok") };
        type Line<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
        #[rustfmt::skip]
        let table: [Line<'_>; 5] = [
            (&[], Some("/home/me/.cache/metatok")),
            (&[("XDG_CACHE_HOME", x)], Some(in_x)),
            (&[("XDG_CACHE_HOME", "x")], Some("/home/me/.cache/metatok")),
            (&[("METATOK_CACHE", "own"), ("XDG_CACHE_HOME", x)], Some("own")),
            (&[("METATOK_CACHE", ""), ("XDG_CACHE_HOME", x)], None),
        ];
        for (variables, expected) in table {
            let variable =
                |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| OsString::from(value));
            assert_eq!(find(variable, home()), expected.map(PathBuf::from), "{variables:?}");
        }
        assert_eq!(find(|_| None, None), None);
    }

    #[test]
    fn writers_at_the_same_time_leave_one_whole_file() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let folder = folder.path().join("not there yet");
        let contents: Vec<Vec<u8>> = (0..8).map(|i| vec![i; 100_000]).collect();
        std::thread::scope(|scope| {
            for content in &contents {
                scope.spawn(|| put(&folder, "key", content));
                let found = get(&folder, "key");
                assert!(found.is_none_or(|found| contents.contains(&found)));
            }
        });
        assert!(get(&folder, "key").is_some_and(|found| contents.contains(&found)));
        assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 1);
    }

    #[test]
    fn old_entries_of_other_versions_are_removed() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let folder = folder.path();
        let files =
            [("a.tokenizer", "another version\n"), ("b.tokenizer", MARK), ("c.tokenizer", ""), ("notes.txt", "mine")];
        for (name, content) in files {
            std::fs::write(folder.join(name), content).expect("it can be written");
        }
        let left = || files.map(|(name, _)| folder.join(name).exists());
        remove_others(folder, OLD);
        assert_eq!(left(), [true; 4]);
        remove_others(folder, Duration::ZERO);
        assert_eq!(left(), [false, true, false, true]);
    }
}
