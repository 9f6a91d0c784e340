//! Fetching a tokenizer's files from the Hugging Face Hub, or from its cache.

use std::path::{Path, PathBuf};

use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};

use crate::error::{At, ErrorKind, Result};
use crate::tokenizer::TokenizerFiles;
use crate::tokenizer::load::FILES;

/// Fetches `org/name` or `org/name@revision`.
pub(crate) fn fetch(name: &str) -> Result<TokenizerFiles> {
    let (id, revision) = name.split_once('@').unwrap_or((name, "main"));
    let repo = Repo::with_revision(id.to_owned(), RepoType::Model, revision.to_owned());
    // hf-hub panics where it finds neither.
    if std::env::var_os("HF_HOME").is_none() && std::env::home_dir().is_none() {
        return Err(ErrorKind::Hub("there is no home directory for the cache; set HF_HOME".into()).into());
    }
    let cache = Cached { cache: Cache::from_env(), repo: repo.clone() };
    if flag("HF_HUB_OFFLINE") {
        if cache.find(FILES[0]).is_none() {
            return Err(ErrorKind::Hub(format!(
                "HF_HUB_OFFLINE is set, and {} is not in the cache {}; unset it to fetch the file",
                FILES[0],
                cache.cache.path().display()
            ))
            .into());
        }
        return TokenizerFiles::collect(name, |file| cache.find(file).map(|path| read(&path)).transpose());
    }

    let mut api = ApiBuilder::from_env().with_progress(false).with_user_agent("metatok", env!("CARGO_PKG_VERSION"));
    if let Ok(token) = std::env::var("HF_TOKEN") {
        api = api.with_token(Some(token).filter(|token| !token.is_empty()));
    }
    let api = api.build().map_err(|error| ErrorKind::Hub(error.to_string()))?.repo(repo);
    let known = cache.find(FILES[0]).is_some();
    TokenizerFiles::collect(name, |file| match cache.find(file) {
        Some(path) => read(&path).map(Some),
        None => download(&api, file, known),
    })
}

fn download(api: &ApiRepo, file: &str, known: bool) -> Result<Option<Vec<u8>>> {
    let error = match api.download(file) {
        Ok(path) => return read(&path).map(Some),
        Err(error) => error,
    };
    let required = file == FILES[0];
    let message = match status(&error) {
        Some(404) if !required => return Ok(None),
        Some(404) => format!(
            "the hub has no {file} under {}; check the spelling, and that the repository has one",
            api.url(file)
        ),
        Some(401 | 403) => format!(
            "the hub refuses {}: the repository is gated, private or does not exist; accept its terms on its page and set HF_TOKEN to a token that may read it",
            api.url(file)
        ),
        Some(status) => format!("the hub answered {} with status {status}", api.url(file)),
        // What the cache holds works without the network; only files that may be missing are asked for here.
        None if known && !required => return Ok(None),
        None => format!(
            "{} could not be fetched ({error}); what has arrived is kept, so try again, or give a directory",
            api.url(file)
        ),
    };
    Err(ErrorKind::Hub(message).into())
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

fn flag(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
}

/// What the cache holds of a repository.
struct Cached {
    cache: Cache,
    repo: Repo,
}

impl Cached {
    fn find(&self, file: &str) -> Option<PathBuf> {
        let repo = self.cache.repo(self.repo.clone());
        // A revision given as a commit has a snapshot but, when another program fetched it, no ref.
        let snapshot = repo.pointer_path(self.repo.revision()).join(file);
        repo.get(file).or_else(|| snapshot.exists().then_some(snapshot))
    }
}
