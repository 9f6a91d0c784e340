//! Files of the Hugging Face Hub: from its cache, or else downloaded, all of one commit.

mod blob;
mod cached;
mod failure;
mod home;
mod server;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::tokenizer::TokenizerFiles;
use crate::tokenizer::files::TOKENIZER_JSON;
use crate::tokenizer::hub::cached::{Cached, Kind};
use crate::tokenizer::hub::failure::Failure;
use crate::tokenizer::hub::home::HubHome;
use crate::tokenizer::hub::server::{Server, flag};
use crate::tokenizer::hub_name::{split_dataset_file, split_revision};

/// Downloads `org/name` or `org/name@revision`.
pub(crate) fn fetch(name: &str) -> Result<TokenizerFiles> {
    let hub = Hub::of(name, Kind::Model).at(Place::file(name))?;
    let get = |file: &str| hub.find(file).at(Place::file(name))?.map(|path| read(&path)).transpose();
    if let Some(files) = TokenizerFiles::collect(name, get)? {
        return Ok(files);
    }
    // Asked for once more, it says why there is no vocabulary.
    let path = hub.require(TOKENIZER_JSON).at(Place::file(name))?;
    TokenizerFiles::with_vocabulary(name, TOKENIZER_JSON, read(&path)?, get)
}

/// Downloads a file of `org/name` or `org/name@revision`. Returns its path in the cache; none if the hub does not have it.
pub(crate) fn find_file(name: &str, file: &str) -> Result<Option<PathBuf>> {
    Hub::of(name, Kind::Model)?.find(file)
}

/// Downloads a file that must be there, as [`find_file`] does.
#[cfg(feature = "candle")]
pub(crate) fn require_file(name: &str, file: &str) -> Result<PathBuf> {
    Hub::of(name, Kind::Model)?.require(file)
}

/// Downloads `hf://datasets/org/name/path`, or `hf://datasets/org/name@revision/path`. Returns its path in the cache.
pub(crate) fn fetch_dataset_file(url: &str) -> Result<PathBuf> {
    let (name, file) = split_dataset_file(url)?;
    Hub::of(name, Kind::Dataset)?.require(file)
}

/// The variables that forbid the network.
const OFFLINE: [&str; 2] = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"];

/// A repository, in the cache and, unless that is forbidden, on the hub.
struct Hub {
    cached: Cached,
    access: Access,
    /// What a missing file told, before the cache has one of the repository.
    told: OnceCell<String>,
}

enum Access {
    Online(Box<Server>),
    /// By this variable.
    Forbidden(&'static str),
}

impl Hub {
    /// `org/name` or `org/name@revision`.
    fn of(name: &str, kind: Kind) -> Result<Self> {
        let (id, revision) = split_revision(name)?;
        let home = HubHome::from_env()?;
        // The first one that is set counts, as for Python's `huggingface_hub`.
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let access = match OFFLINE.into_iter().find(is_set).filter(|name| flag(name)) {
            Some(variable) => Access::Forbidden(variable),
            None => Access::Online(Box::new(Server::from_env(&home.token)?)),
        };
        Ok(Self { cached: Cached::of(home.cache, kind, id, revision), access, told: OnceCell::new() })
    }

    /// The path of a file in the cache; none if the hub does not have it.
    fn find(&self, file: &str) -> Result<Option<PathBuf>> {
        if let Some(path) = self.cached.find(file) {
            return Ok(Some(path));
        }
        match &self.access {
            Access::Online(server) if !self.cached.is_missing(file) => match self.download(server, file) {
                Ok(path) => Ok(Some(path)),
                Err(Failure::Missing(_)) => Ok(None),
                // Without it, prompts could end at other stops.
                Err(Failure::Network(why)) if file != TOKENIZER_JSON => {
                    let url = self.url(server, file, self.cached.commit());
                    let what = format!("{url} could not be downloaded ({why}), and may be missing there");
                    let way_out =
                        "check the network and try again, or set HF_HUB_OFFLINE=1 to do with what the cache has";
                    Err(ErrorKind::Hub(what).with_way_out(way_out))
                }
                Err(failure) => Err(self.failed(server, file, failure)),
            },
            Access::Online(_) | Access::Forbidden(_) => Ok(None),
        }
    }

    /// The path of a file in the cache that must be there.
    fn require(&self, file: &str) -> Result<PathBuf> {
        match (self.cached.find(file), &self.access) {
            (Some(path), _) => Ok(path),
            (None, Access::Online(server)) => {
                self.download(server, file).map_err(|failure| self.failed(server, file, failure))
            }
            (None, Access::Forbidden(variable)) => Err(self.not_cached(file, variable)),
        }
    }

    /// Downloads a file, of the commit that the other files have.
    fn download(&self, server: &Server, file: &str) -> std::result::Result<PathBuf, Failure> {
        let describe = || server.describe(&self.url(server, file, self.commit()));
        let mut found = describe();
        if let (Ok(first), None) = (&found, self.cached.commit())
            && self.cached.pin(&first.commit)? != first.commit
        {
            // Another process was faster, and the hub has changed since.
            found = describe();
        }
        let commit = self.commit();
        let found = found.inspect_err(|failure| {
            let Failure::Missing(told) = failure else { return };
            if let Some(commit) = commit.as_ref().or(told.as_ref()) {
                self.cached.note_missing(commit, file);
                let _ = self.told.set(commit.clone());
            }
        })?;
        if let Some(commit) = commit.filter(|commit| *commit != found.commit) {
            let what = format!("the hub was asked for {file} of commit {commit}, and answers with {}", found.commit);
            return Err(ErrorKind::Hub(what).with_way_out("check that HF_ENDPOINT is a Hub").into());
        }
        let blob = self.cached.blob(&found.etag);
        blob::fill(server, &self.url(server, file, Some(found.commit.clone())), &found, &blob)?;
        Ok(self.cached.link(&blob, &found.commit, file)?)
    }

    /// The commit whose files are used, as soon as one is known.
    fn commit(&self) -> Option<String> {
        self.cached.commit().or_else(|| self.told.get().cloned())
    }

    /// Where a file is, at a commit if one is known.
    fn url(&self, server: &Server, file: &str, commit: Option<String>) -> String {
        server.url(&self.cached.address, commit.as_ref().unwrap_or(&self.cached.revision), file)
    }

    fn failed(&self, server: &Server, file: &str, failure: Failure) -> Error {
        let url = self.url(server, file, self.cached.commit());
        match failure {
            Failure::Missing(_) => {
                let what = ErrorKind::HubMissing(format!("the hub has no {file} under {url}"));
                let check = "check the spelling, and that the repository has this file";
                match self.cached.pinned() {
                    Some(path) => what.with_way_out(format!(
                        "{check}; to use a commit newer than the cache's, remove {}",
                        path.display()
                    )),
                    None => what.with_way_out(check),
                }
            }
            Failure::Network(why) => ErrorKind::Hub(format!("{url} could not be downloaded ({why})")).with_way_out(
                "check the network and try again, which goes on where a download ended, or use a local directory",
            ),
            Failure::Other(error) => error,
        }
    }

    fn not_cached(&self, file: &str, variable: &str) -> Error {
        let cache = self.cached.cache.display();
        ErrorKind::Offline(format!("{variable} is set, but {file} is not in the cache {cache}"))
            .with_way_out("unset it to download the file")
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).at(path.display())
}
