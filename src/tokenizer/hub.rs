//! Downloading files from the Hugging Face Hub, or reading them from its cache.

use std::path::{Component, Path, PathBuf};

use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};

use crate::error::{At, Error, ErrorKind, Result};
use crate::tokenizer::TokenizerFiles;
use crate::tokenizer::files::FILES;
use crate::tokenizer::hub_home::HubHome;
use crate::tokenizer::hub_name::{split_dataset_file, split_revision};

/// Downloads `org/name` or `org/name@revision`.
pub(crate) fn fetch(name: &str) -> Result<TokenizerFiles> {
    let hub = Hub::of(name, RepoType::Model)?;
    let known = hub.cache.find(FILES[0]).is_some();
    if hub.api.is_none() && !known {
        return Err(hub.not_cached(FILES[0]));
    }
    TokenizerFiles::collect(name, |file| match (hub.cache.find(file), &hub.api) {
        (Some(path), _) => read(&path).map(Some),
        (None, Some(api)) => match download(api, file, file == FILES[0], known)? {
            Some(path) => read(&path).map(Some),
            None => Ok(None),
        },
        (None, None) => Ok(None),
    })
}

/// Downloads a file of `org/name` or `org/name@revision`; none if it is not `required` and the hub does not have it.
/// Returns its path in the cache.
pub(crate) fn fetch_file(name: &str, file: &str, required: bool) -> Result<Option<PathBuf>> {
    let hub = Hub::of(name, RepoType::Model)?;
    match (hub.cache.find(file), &hub.api) {
        (Some(path), _) => Ok(Some(path)),
        (None, Some(api)) => download(api, file, required, hub.cache.find("config.json").is_some()),
        (None, None) if required => Err(hub.not_cached(file)),
        (None, None) => Ok(None),
    }
}

/// Downloads `hf://datasets/org/name/path`, or `hf://datasets/org/name@revision/path`. Returns its path in the cache.
pub(crate) fn fetch_dataset_file(url: &str) -> Result<PathBuf> {
    let (name, file) = split_dataset_file(url)?;
    let hub = Hub::of(name, RepoType::Dataset)?;
    match (hub.cache.find(file), &hub.api) {
        (Some(path), _) => Ok(path),
        (None, None) => Err(hub.not_cached(file)),
        (None, Some(api)) => Ok(download(api, file, true, false)?.expect("a required file is there, or an error")),
    }
}

/// A repository, in the cache and, unless that is forbidden, on the hub.
struct Hub {
    cache: Cached,
    api: Option<ApiRepo>,
}

impl Hub {
    /// `org/name` or `org/name@revision`.
    fn of(name: &str, kind: RepoType) -> Result<Self> {
        let (id, revision) = split_revision(name)?;
        let repo = Repo::with_revision(id.to_owned(), kind, revision.to_owned());
        let home = HubHome::from_env()?;
        let hub = Cache::new(home.cache);
        let cache = Cached { cache: hub.clone(), repo: repo.clone() };
        if flag("HF_HUB_OFFLINE") {
            return Ok(Self { cache, api: None });
        }
        let mut api =
            ApiBuilder::from_cache(hub).with_progress(false).with_user_agent("metatok", env!("CARGO_PKG_VERSION"));
        if let Some(endpoint) = variable("HF_ENDPOINT") {
            api = api.with_endpoint(endpoint);
        }
        let saved = || Some(std::fs::read_to_string(home.token).ok()?.trim().to_owned());
        let token = variable("HF_TOKEN").or_else(|| variable("HUGGING_FACE_HUB_TOKEN")).or_else(saved);
        api = api.with_token(token.filter(|token| !token.is_empty()));
        let api = api.build().map_err(|error| ErrorKind::Hub(error.to_string()))?;
        Ok(Self { cache, api: Some(api.repo(repo)) })
    }

    fn not_cached(&self, file: &str) -> Error {
        let cache = self.cache.cache.path().display();
        ErrorKind::Offline(format!("HF_HUB_OFFLINE is set, but {file} is not in the cache {cache}"))
            .with_way_out("unset it to download the file")
    }
}

/// The file in the cache; none if it is not `required` and the hub does not have it, or if the repository is `known`
/// and cannot be reached.
fn download(api: &ApiRepo, file: &str, required: bool, known: bool) -> Result<Option<PathBuf>> {
    let error = match api.download(file) {
        Ok(path) => return Ok(Some(path)),
        Err(error) => error,
    };
    let url = api.url(file);
    Err(match status(&error) {
        Some(404) if !required => return Ok(None),
        Some(404) => ErrorKind::HubMissing(format!("the hub has no {file} under {url}"))
            .with_way_out("check the spelling, and that the repository has this file"),
        Some(401 | 403) => ErrorKind::HubAccess(format!(
            "the hub refuses access to {url}: the repository is gated, private or does not exist"
        ))
        .with_way_out("accept its terms on its page and set HF_TOKEN to a token that may read it"),
        Some(status) => ErrorKind::Hub(format!("the hub answered {url} with status {status}")).into(),
        // What the cache contains works without the network; only files that may be missing are requested here.
        None if known && !required => return Ok(None),
        None => ErrorKind::Hub(format!("{url} could not be downloaded ({error})")).with_way_out(
            "check the network and try again, which goes on where a download ended, or use a local directory",
        ),
    })
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
