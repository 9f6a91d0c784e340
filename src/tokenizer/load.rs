//! Finding a tokenizer's files: in a directory, next to a vocabulary, in a GGUF file, or on the hub.

use std::path::{Path, PathBuf};

use crate::error::{At, ErrorKind, Place, Result};
use crate::file_kind::{FileKind, has_extension, head, without_bom};
use crate::tokenizer::files::{TOKENIZER_JSON, vocabularies};
use crate::tokenizer::formats::{gguf, is_vocabulary};
use crate::tokenizer::hub_name::looks_like_a_repository;
use crate::tokenizer::{Tokenizer, TokenizerCache, TokenizerFiles, not_a_tokenizer};

fn demo_files() -> TokenizerFiles {
    TokenizerFiles {
        name: "demo".to_owned(),
        tokenizer_json: include_bytes!("../../models/demo/tokenizer.json").to_vec(),
        tokenizer_config: Some(include_bytes!("../../models/demo/tokenizer_config.json").to_vec()),
        generation_config: Some(include_bytes!("../../models/demo/generation_config.json").to_vec()),
        ..TokenizerFiles::default()
    }
}

fn is_json(head: &[u8]) -> bool {
    without_bom(head).trim_ascii_start().starts_with(b"{")
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && path.is_symlink() => {
            let way_out = "copy the folder with the files that its links lead to, for example with `cp -rL`";
            let what = "it is a link to a file that is not there";
            Err(ErrorKind::NotFound(what.into()).with_way_out(way_out)).at(Place::file(path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).at(path.display()),
    }
}

impl Tokenizer {
    /// Loads a tokenizer by name: a directory; a file, together with those next to it; a repository of the Hugging Face Hub,
    /// `org/name` or `org/name@revision`; or `demo`, which is embedded.
    ///
    /// Without a `tokenizer.json`, SentencePiece models (`tokenizer.model`), Mistral's `tekken.json`, tiktoken vocabularies
    /// and GGUF files are read; `docs/tokenizers.md` says how. Of a GGUF file only the tokenizer and the chat template are
    /// read.
    ///
    /// The hub honours `HF_HUB_CACHE`, `HF_HOME`, `HF_ENDPOINT`, `HF_TOKEN` and `HF_HUB_OFFLINE` like Python's
    /// `huggingface_hub`. Files are downloaded once and then read from its cache. What takes long to read is kept in the
    /// folder of [`TokenizerCache`].
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] names what was looked for; [`ErrorKind::Hub`] has the hub's response; otherwise as for
    /// [`Self::new`].
    pub fn load(name: &str) -> Result<Self> {
        Self::from_files(Self::files(name)?)
    }

    /// A tokenizer of the contents of its files. What takes long to read is kept as by [`Self::load`].
    ///
    /// ```
    /// let tokenizer = metatok::Tokenizer::from_files(metatok::Tokenizer::files("demo")?)?;
    /// assert_eq!(tokenizer.source().name, "demo");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::new`].
    pub fn from_files(files: TokenizerFiles) -> Result<Self> {
        match TokenizerCache::folder() {
            // The demo is small.
            Some(folder) if files.tokenizer_json.len() > 1 << 20 => Self::kept_in(folder, files),
            _ => Self::new(&files),
        }
    }

    /// The embedded demo tokenizer.
    ///
    /// # Errors
    /// None that a user could cause.
    pub fn demo() -> Result<Self> {
        Self::new(&demo_files())
    }

    /// The files that [`Self::load`] would read.
    ///
    /// # Errors
    /// The same as for [`Self::load`].
    pub fn files(name: &str) -> Result<TokenizerFiles> {
        let path = Path::new(name);
        if path.is_dir() {
            from_folder(name, path)
        } else if path.is_file() {
            from_file(name, path)
        } else if name == "demo" {
            Ok(demo_files())
        } else if looks_like_a_repository(name) {
            from_hub(name)
        } else {
            Err(not_found(name))
        }
    }
}

fn from_folder(name: &str, folder: &Path) -> Result<TokenizerFiles> {
    if let Some(model) = gguf_model(folder) {
        return gguf::files(&model);
    }
    let files = TokenizerFiles::collect(name, |file| read_if_there(&folder.join(file)))?;
    files.ok_or_else(|| not_a_tokenizer::folder(folder).at(Place::file(name)))
}

/// With the files next to it.
fn from_file(name: &str, path: &Path) -> Result<TokenizerFiles> {
    let is_toml = has_extension(path, &["toml"]);
    let head = head(path).at(Place::file(name))?;
    let kind = if is_toml { Some(FileKind::ModelFile) } else { FileKind::of_bytes(&head) };
    let file = match kind {
        Some(FileKind::Gguf) => return gguf::files(path),
        // Whatever it is called.
        Some(_) if is_vocabulary(&head) => path.file_name().unwrap_or_default().to_string_lossy(),
        Some(kind) => return Err(not_a_tokenizer::file(kind)).at(Place::file(name)),
        None if !is_json(&head) => return Err(not_a_tokenizer::unknown()).at(Place::file(name)),
        None => TOKENIZER_JSON.into(),
    };
    let bytes = std::fs::read(path).at(Place::file(name))?;
    TokenizerFiles::with_vocabulary(name, &file, bytes, |file| read_if_there(&path.with_file_name(file)))
}

/// Whether [`Tokenizer::load`] finds a tokenizer at this path, and with it perhaps a chat template.
pub(crate) fn is_model(path: &Path) -> bool {
    has_vocabulary(path) || gguf_model(path).is_some()
}

/// The GGUF file in which a tokenizer with this name is.
fn gguf_model(path: &Path) -> Option<PathBuf> {
    match path.is_dir() {
        true => gguf::only_one(path).filter(|_| !has_vocabulary(path)),
        false => gguf::is_gguf(path).then(|| path.to_owned()),
    }
}

fn has_vocabulary(folder: &Path) -> bool {
    vocabularies().any(|file| folder.join(file).exists())
}

fn not_found(name: &str) -> crate::Error {
    let what =
        format!("there is no directory or file {name:?}, and a repository of the hub would have the form org/name");
    match instead_of(name) {
        Some(way_out) => ErrorKind::NotFound(what).with_way_out(way_out),
        None => ErrorKind::NotFound(what).into(),
    }
}

/// What to write for a path of a shell, or an address of the hub.
fn instead_of(name: &str) -> Option<String> {
    if name.starts_with(['~', '$']) {
        return Some("only a shell expands `~` and variables; write the whole path".into());
    }
    let (_, path) = name.split_once("://")?.1.split_once('/')?;
    match path.split('/').collect::<Vec<_>>()[..] {
        [org, name, ..] if !org.is_empty() && !name.is_empty() => Some(format!("write {org}/{name}")),
        _ => None,
    }
}

#[cfg(feature = "hub")]
fn from_hub(name: &str) -> Result<TokenizerFiles> {
    crate::tokenizer::hub::fetch(name)
}

/// What a file beside a tokenizer holds, which is named as for [`Tokenizer::load`]; none if there is no such file.
///
/// # Errors
/// The same as for [`Tokenizer::load`].
pub(crate) fn tokenizer_file(name: &str, file: &str) -> Result<Option<Vec<u8>>> {
    if name == "demo" && !Path::new(name).exists() {
        return Ok(demo_files().tokenizer_config.filter(|_| file == "tokenizer_config.json"));
    }
    if let Some(model) = gguf_model(Path::new(name)) {
        return (file == "tokenizer_config.json").then(|| gguf::tokenizer_config(&model)).transpose();
    }
    match find_model_file(name, file)? {
        Some(path) => read_if_there(&path),
        None => Ok(None),
    }
}

/// A file of the folder or repository in which [`Tokenizer::load`] finds a tokenizer with this name; none if there is none.
///
/// # Errors
/// The same as for [`Tokenizer::load`].
pub(crate) fn find_model_file(name: &str, file: &str) -> Result<Option<PathBuf>> {
    match beside(name, file) {
        // A link to nothing is an error when it is read.
        Some(path) => Ok(Some(path).filter(|path| path.symlink_metadata().is_ok())),
        None if looks_like_a_repository(name) => find_in_repository(name, file),
        None => Err(not_found(name)),
    }
}

/// A file of a folder or repository, as [`find_model_file`] finds it, that must be there.
///
/// # Errors
/// The same as for [`find_model_file`], and if there is no such file.
#[cfg(feature = "candle")]
pub(crate) fn model_file(name: &str, file: &str) -> Result<PathBuf> {
    let missing = || {
        ErrorKind::NotFound(format!("there is no {file}")).with_way_out(
            "a model must be a folder, or a repository of the hub, with config.json and model.safetensors",
        )
    };
    match beside(name, file) {
        Some(path) => Some(path).filter(|path| path.exists()).ok_or_else(missing),
        None if looks_like_a_repository(name) => require_in_repository(name, file),
        None => Err(not_found(name)),
    }
}

/// Where a file is beside a tokenizer in a folder or file of this name.
fn beside(name: &str, file: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.is_dir() { Some(path.join(file)) } else { path.is_file().then(|| path.with_file_name(file)) }
}

#[cfg(feature = "hub")]
fn find_in_repository(name: &str, file: &str) -> Result<Option<PathBuf>> {
    crate::tokenizer::hub::find_file(name, file)
}

#[cfg(not(feature = "hub"))]
fn find_in_repository(_: &str, _: &str) -> Result<Option<PathBuf>> {
    Err(without_hub("a directory"))
}

#[cfg(all(feature = "hub", feature = "candle"))]
fn require_in_repository(name: &str, file: &str) -> Result<PathBuf> {
    crate::tokenizer::hub::require_file(name, file)
}

#[cfg(all(not(feature = "hub"), feature = "candle"))]
fn require_in_repository(_: &str, _: &str) -> Result<PathBuf> {
    Err(without_hub("a directory"))
}

/// A file of a dataset on the hub, by its `hf://` name.
///
/// # Errors
/// [`ErrorKind::Usage`] for another form of name, [`ErrorKind::Hub`] if the file cannot be downloaded.
#[cfg(feature = "hub")]
pub(crate) fn dataset_file(url: &str) -> Result<PathBuf> {
    crate::tokenizer::hub::fetch_dataset_file(url)
}

#[cfg(not(feature = "hub"))]
pub(crate) fn dataset_file(_: &str) -> Result<PathBuf> {
    Err(without_hub("a file"))
}

#[cfg(not(feature = "hub"))]
fn without_hub(instead: &str) -> crate::Error {
    ErrorKind::MissingFeature { what: "the hub", feature: "hub" }
        .with_way_out(format!("build it with the cargo feature `hub`, or use {instead}"))
}

#[cfg(not(feature = "hub"))]
fn from_hub(name: &str) -> Result<TokenizerFiles> {
    Err(without_hub("a directory").at(Place::file(name)))
}
