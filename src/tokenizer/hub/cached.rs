//! The cache of a repository, in the layout of Python's `huggingface_hub`: each finds what the other downloaded.

use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use hf_hub::{Cache, Repo, RepoType};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::hub::failure::of_cache;

/// The kind of a repository.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Model,
    Dataset,
}

/// The contents of the cache for a repository.
pub(super) struct Cached {
    /// The folder of all repositories.
    pub(super) cache: PathBuf,
    /// The folder of this one.
    folder: PathBuf,
    /// The repository in an address.
    pub(super) address: String,
    pub(super) revision: String,
}

impl Cached {
    pub(super) fn of(cache: PathBuf, kind: Kind, id: &str, revision: &str) -> Self {
        let (kind, address) = match kind {
            Kind::Model => (RepoType::Model, id.to_owned()),
            Kind::Dataset => (RepoType::Dataset, format!("datasets/{id}")),
        };
        let folder = Cache::new(cache.clone()).path().join(Repo::new(id.to_owned(), kind).folder_name());
        Self { cache, folder, address, revision: revision.to_owned() }
    }

    /// The commit that the revision was when its first file was downloaded.
    pub(super) fn commit(&self) -> Option<String> {
        let read = |path| Some(fs::read_to_string(path).ok()?.trim().to_owned());
        let own = || Some(self.revision.clone()).filter(|revision| is_commit(revision));
        self.pinned().and_then(read).filter(|commit| is_name(commit)).or_else(own)
    }

    /// The file that says so, if there is one.
    pub(super) fn pinned(&self) -> Option<PathBuf> {
        Some(self.reference()).filter(|path| path.is_file())
    }

    /// Writes down which commit the revision is. Returns the one that another process may have written down before.
    pub(super) fn pin(&self, commit: &str) -> Result<String> {
        if let Some(commit) = self.commit() {
            return Ok(commit);
        }
        let path = self.reference();
        let folder = path.parent().unwrap_or(&self.folder);
        let write = || {
            fs::create_dir_all(folder)?;
            // Renamed, so that no reader sees half of it.
            let mut partial = partial_in(folder)?;
            partial.write_all(commit.as_bytes())?;
            Ok(partial.persist(&path).map(drop)?)
        };
        of_cache(write(), &path)?;
        Ok(self.commit().unwrap_or_else(|| commit.to_owned()))
    }

    pub(super) fn find(&self, file: &str) -> Option<PathBuf> {
        let path = self.snapshot(&self.commit()?).join(file);
        let is_below = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        (path.strip_prefix(&self.folder).is_ok_and(is_below) && path.exists()).then_some(path)
    }

    /// Whether the repository is known not to have a file.
    pub(super) fn is_missing(&self, file: &str) -> bool {
        self.commit().is_some_and(|commit| self.missing(&commit, file).exists())
    }

    /// Notes it, so that it works without the network. A cache that is read-only is left as it is.
    pub(super) fn note_missing(&self, commit: &str, file: &str) {
        let marker = self.missing(commit, file);
        if marker.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok()) {
            let _ = fs::File::create(marker);
        }
    }

    /// Where the contents of a file are.
    pub(super) fn blob(&self, etag: &str) -> Blob {
        let locks = self.cache.join(".locks").join(self.folder.file_name().unwrap_or_default());
        Blob { path: self.folder.join("blobs").join(etag), lock: locks.join(format!("{etag}.lock")) }
    }

    /// Gives contents the name of a file.
    pub(super) fn link(&self, blob: &Blob, commit: &str, file: &str) -> Result<PathBuf> {
        let path = self.snapshot(commit).join(file);
        let folder = path.parent().unwrap_or(&self.folder);
        of_cache(fs::create_dir_all(folder), folder)?;
        if path.exists() {
            return Ok(path);
        }
        // It may be a link to nothing.
        let _ = fs::remove_file(&path);
        let up: PathBuf = file.split('/').chain([""]).map(|_| "..").collect();
        let etag = blob.path.file_name().unwrap_or_default();
        let linked = symlink(&up.join("blobs").join(etag), &path);
        // Another process may have made the link. Where links cannot be made or followed, a copy has the same use.
        if !path.exists() && (linked.is_err() || blob.path.exists()) {
            let copy = || {
                let partial = partial_in(folder)?;
                fs::copy(&blob.path, partial.path())?;
                Ok(partial.persist(&path).map(drop)?)
            };
            of_cache(copy(), &path)?;
        }
        Ok(path)
    }

    fn reference(&self) -> PathBuf {
        self.folder.join("refs").join(&self.revision)
    }

    fn snapshot(&self, commit: &str) -> PathBuf {
        self.folder.join("snapshots").join(commit)
    }

    fn missing(&self, commit: &str, file: &str) -> PathBuf {
        self.folder.join(".no_exist").join(commit).join(file)
    }
}

/// Where the contents of a file are, and what those lock who write them.
pub(super) struct Blob {
    pub(super) path: PathBuf,
    pub(super) lock: PathBuf,
}

/// Checks that what a server calls a commit or an ETag is the name of a file and leads nowhere else.
pub(super) fn checked_name(name: &str, header: &str, url: &str) -> Result<String> {
    if is_name(name) {
        return Ok(name.to_owned());
    }
    let what = format!("the hub answered {url} with the {header} {name:?}, which cannot be the name of a file");
    Err(ErrorKind::Hub(what).with_way_out("check that HF_ENDPOINT is a Hub"))
}

fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+=~".contains(&byte))
        && name.bytes().any(|byte| byte != b'.')
}

/// Whether a revision is a commit in full. A shorter one is looked up as a branch is.
fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A file to be renamed, which others may read as those beside it.
fn partial_in(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().make_in(folder, |path| fs::File::create_new(path))
}

#[cfg(unix)]
fn symlink(to: &Path, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

#[cfg(windows)]
fn symlink(to: &Path, path: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_file(to, path)
}

#[cfg(not(any(unix, windows)))]
fn symlink(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere() {
        for (name, expected) in [
            ("0123abcd", true),
            ("a-b_c.d", true),
            ("..a", true),
            ("", false),
            (".", false),
            ("..", false),
            ("a/b", false),
            ("../a", false),
            ("a\\b", false),
            ("C:a", false),
            ("a b", false),
            ("ä", false),
            ("a\0", false),
        ] {
            assert_eq!(is_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn the_first_commit_stays() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let cached = Cached::of(folder.path().into(), Kind::Model, "org/name", "refs/pr/1");
        assert_eq!(cached.commit(), None);
        assert_eq!(cached.pin("aa").expect("it can be written"), "aa");
        assert_eq!(cached.pin("bb").expect("it can be read"), "aa");
        let path = cached.folder.join("refs/refs/pr/1");
        assert_eq!(fs::read_to_string(path).expect("it was written"), "aa");
        assert_eq!(fs::read_dir(cached.folder.join("refs/refs/pr")).expect("it is there").count(), 1);
        // A commit is its own.
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let cached = Cached::of(folder.path().into(), Kind::Model, "org/name", commit);
        assert_eq!((cached.commit().as_deref(), cached.pinned()), (Some(commit), None));
    }

    #[test]
    fn links_are_relative_and_replace_those_to_nothing() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let cached = Cached::of(folder.path().into(), Kind::Dataset, "org/name", "main");
        let blob = cached.blob("etag");
        for file in ["a", "b/c d/e"] {
            // The first link is to nothing yet.
            for _ in 0..2 {
                let path = cached.link(&blob, "0123", file).expect("it can be linked");
                fs::create_dir_all(cached.folder.join("blobs")).expect("it can be made");
                fs::write(&blob.path, "text").expect("it can be written");
                assert_eq!(fs::read_to_string(path).expect("it is there"), "text");
            }
            assert_eq!(cached.find(file), None);
        }
        cached.pin("0123").expect("it can be written");
        assert!(cached.find("b/c d/e").is_some() && cached.find("c").is_none() && cached.find("../0123/a").is_none());
    }
}
