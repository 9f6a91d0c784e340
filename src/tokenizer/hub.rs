//! Downloading files from the Hugging Face Hub, or reading them from its cache.

use std::path::{Component, Path, PathBuf};

use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};

use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::tokenizer::TokenizerFiles;
use crate::tokenizer::files::TOKENIZER_JSON;
use crate::tokenizer::hub_home::HubHome;
use crate::tokenizer::hub_name::{split_dataset_file, split_revision};

/// Downloads `org/name` or `org/name@revision`.
pub(crate) fn fetch(name: &str) -> Result<TokenizerFiles> {
    let hub = Hub::of(name, RepoType::Model).at(Place::file(name))?;
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
    Hub::of(name, RepoType::Model)?.find(file)
}

/// The same for a file that must be there.
#[cfg(feature = "candle")]
pub(crate) fn require_file(name: &str, file: &str) -> Result<PathBuf> {
    Hub::of(name, RepoType::Model)?.require(file)
}

/// Downloads `hf://datasets/org/name/path`, or `hf://datasets/org/name@revision/path`. Returns its path in the cache.
pub(crate) fn fetch_dataset_file(url: &str) -> Result<PathBuf> {
    let (name, file) = split_dataset_file(url)?;
    Hub::of(name, RepoType::Dataset)?.require(file)
}

/// The variables that forbid the network.
const OFFLINE: [&str; 2] = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"];

/// A repository, in the cache and, unless that is forbidden, on the hub.
struct Hub {
    cache: Cached,
    api: Api,
}

enum Api {
    Online(Box<ApiRepo>),
    /// By this variable.
    Forbidden(&'static str),
}

impl Hub {
    /// `org/name` or `org/name@revision`.
    fn of(name: &str, kind: RepoType) -> Result<Self> {
        let (id, revision) = split_revision(name)?;
        let repo = Repo::with_revision(id.to_owned(), kind, revision.to_owned());
        let home = HubHome::from_env()?;
        let hub = Cache::new(home.cache);
        let cache = Cached { cache: hub.clone(), repo: repo.clone() };
        if let Some(variable) = OFFLINE.into_iter().find(|name| flag(name)) {
            return Ok(Self { cache, api: Api::Forbidden(variable) });
        }
        let mut api =
            ApiBuilder::from_cache(hub).with_progress(false).with_user_agent("metatok", env!("CARGO_PKG_VERSION"));
        if let Some(endpoint) = variable("HF_ENDPOINT") {
            api = api.with_endpoint(endpoint.trim_end_matches('/').to_owned());
        }
        let saved = || Some(std::fs::read_to_string(home.token).ok()?.trim().to_owned());
        let token = variable("HF_TOKEN").or_else(|| variable("HUGGING_FACE_HUB_TOKEN")).or_else(saved);
        api = api.with_token(token.filter(|token| !token.is_empty()));
        let api = api.build().map_err(|error| ErrorKind::Hub(error.to_string()))?;
        Ok(Self { cache, api: Api::Online(Box::new(api.repo(repo))) })
    }

    /// The path of a file in the cache; none if the hub does not have it.
    fn find(&self, file: &str) -> Result<Option<PathBuf>> {
        if let Some(path) = self.cache.find(file) {
            return Ok(Some(path));
        }
        let is_known_missing = || self.cache.missing(file).is_some_and(|marker| marker.exists());
        match &self.api {
            Api::Online(api) if !is_known_missing() => match download(api, file) {
                Ok(path) => Ok(Some(path)),
                Err(error) if status(&error) == Some(404) => {
                    self.cache.note_missing(file);
                    Ok(None)
                }
                // Without it, prompts could end at other stops.
                Err(error) if status(&error).is_none() && file != TOKENIZER_JSON => {
                    let what = format!("{} could not be downloaded ({error}), and may be missing there", api.url(file));
                    let way_out =
                        "check the network and try again, or set HF_HUB_OFFLINE=1 to do with what the cache has";
                    Err(ErrorKind::Hub(what).with_way_out(way_out))
                }
                Err(error) => Err(failed(api, file, &error)),
            },
            Api::Online(_) | Api::Forbidden(_) => Ok(None),
        }
    }

    /// The path of a file in the cache that must be there.
    fn require(&self, file: &str) -> Result<PathBuf> {
        match (self.cache.find(file), &self.api) {
            (Some(path), _) => Ok(path),
            (None, Api::Online(api)) => download(api, file).map_err(|error| failed(api, file, &error)),
            (None, Api::Forbidden(variable)) => Err(self.not_cached(file, variable)),
        }
    }

    fn not_cached(&self, file: &str, variable: &str) -> Error {
        let cache = self.cache.cache.path().display();
        ErrorKind::Offline(format!("{variable} is set, but {file} is not in the cache {cache}"))
            .with_way_out("unset it to download the file")
    }
}

/// The file in the cache.
fn download(api: &ApiRepo, file: &str) -> std::result::Result<PathBuf, ApiError> {
    loop {
        match api.download(file) {
            // Another process downloads it, which is given up after a few seconds there.
            Err(ApiError::LockAcquisition(_)) => {}
            done => return done,
        }
    }
}

/// Why a file could not be downloaded.
fn failed(api: &ApiRepo, file: &str, error: &ApiError) -> Error {
    let url = api.url(file);
    match status(error) {
        Some(404) => ErrorKind::HubMissing(format!("the hub has no {file} under {url}"))
            .with_way_out("check the spelling, and that the repository has this file"),
        Some(401 | 403) => ErrorKind::HubAccess(format!(
            "the hub refuses access to {url}: the repository is gated, private or does not exist"
        ))
        .with_way_out("accept its terms on its page and set HF_TOKEN to a token that may read it"),
        Some(status) => ErrorKind::Hub(format!("the hub answered {url} with status {status}")).into(),
        None => ErrorKind::Hub(format!("{url} could not be downloaded ({error})")).with_way_out(
            "check the network and try again, which goes on where a download ended, or use a local directory",
        ),
    }
}

fn status(error: &ApiError) -> Option<u16> {
    match error {
        ApiError::RequestError(error) => match **error {
            ureq::Error::StatusCode(status) => Some(status),
            _ => None,
        },
        _ => None,
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).at(path.display())
}

/// The value of an environment variable, if it is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn flag(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
}

/// The contents of the cache for a repository.
struct Cached {
    cache: Cache,
    repo: Repo,
}

impl Cached {
    /// Where `huggingface_hub` notes that a repository does not have a file; none before anything of it is in the cache.
    fn missing(&self, file: &str) -> Option<PathBuf> {
        let repo = self.cache.repo(self.repo.clone());
        let snapshots = repo.pointer_path("");
        let folder = snapshots.ancestors().nth(1)?.to_owned();
        let revision = self.repo.revision();
        let commit =
            std::fs::read_to_string(folder.join("refs").join(revision)).unwrap_or_else(|_| revision.to_owned());
        let is_name = commit.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (is_name && repo.pointer_path(&commit).exists()).then(|| folder.join(".no_exist").join(commit).join(file))
    }

    /// Notes it, so that it works without the network. A cache that is read-only is left as it is.
    fn note_missing(&self, file: &str) {
        let Some(marker) = self.missing(file) else { return };
        let made = marker.parent().map(std::fs::create_dir_all);
        if matches!(made, Some(Ok(()))) {
            let _ = std::fs::File::create(marker);
        }
    }

    fn find(&self, file: &str) -> Option<PathBuf> {
        let repo = self.cache.repo(self.repo.clone());
        // A revision given as a commit has a snapshot but, if another program downloaded it, no ref.
        let snapshot = repo.pointer_path(self.repo.revision()).join(file);
        let found = repo.get(file).or_else(|| snapshot.exists().then_some(snapshot));
        // A ref's content is a folder's name too.
        let is_below = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        found.filter(|path| path.strip_prefix(self.cache.path()).is_ok_and(is_below))
    }
}
