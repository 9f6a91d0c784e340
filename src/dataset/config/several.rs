//! Several datasets at once: a folder of dataset files, or a file that lists dataset dicts.

use std::path::{Path, PathBuf};

use crate::dataset::config::Dataset;
use crate::dataset::rows::Value;
use crate::error::{At, ErrorKind, Result};
use crate::file_kind::{has_extension, without_bom};

/// A dataset among several, before it is read. An error in it does not affect the others.
///
/// ```
/// use metatok::Dataset;
///
/// let folder = std::env::temp_dir().join("metatok-several");
/// std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("a.json"), r#"[{"abbr": "a-1", "infer_cfg": {}}, {"abbr": "a-2", "infer_cfg": {}}]"#)?;
/// std::fs::write(folder.join("b.toml"), "infer_cfg = {}")?;
/// let sources = Dataset::sources(&folder)?.expect("a folder has several");
/// let abbrs: Vec<String> = sources.iter().map(|source| source.read().unwrap().abbr().to_owned()).collect();
/// assert_eq!(abbrs, ["a-1", "a-2", "b"]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetSource {
    /// The file; if it is a list, followed by the dict's number, as in `several.json[3]`.
    path: PathBuf,
    bytes: Vec<u8>,
}

impl DatasetSource {
    /// The file, and its number in a list.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its contents, as TOML or JSON.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// The same as for [`Dataset::load`].
    pub fn read(&self) -> Result<Dataset> {
        Dataset::parse_at(&self.path, &self.bytes)
    }
}

impl Dataset {
    /// The datasets of a folder's TOML and JSON files in the order of their names, or of a JSON list; none if the path
    /// is a single dataset.
    ///
    /// # Errors
    /// Names the file that cannot be read; [`ErrorKind::NotFound`] for an empty folder or list.
    pub fn sources(path: &Path) -> Result<Option<Vec<DatasetSource>>> {
        let sources = if path.is_dir() {
            let files = files_of(path).at(path.display())?;
            files.iter().map(|file| sources_of(file)).collect::<Result<Vec<_>>>()?.concat()
        } else if path.is_file() {
            let sources = sources_of(path)?;
            if matches!(&sources[..], [source] if source.path == path) {
                return Ok(None);
            }
            sources
        } else {
            return Ok(None);
        };
        if sources.is_empty() {
            let what = "no datasets found: a folder must contain .toml or .json files, and a list must contain dicts";
            return Err(ErrorKind::NotFound(what.into())).at(path.display());
        }
        Ok(Some(sources))
    }
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        // A link to nothing is an error when it is read.
        let is_file = path.is_file() || path.is_symlink() && !path.exists();
        if has_extension(&path, &["toml", "json"]) && is_file && !is_hidden {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The dicts that a file lists, or the file itself.
fn sources_of(file: &Path) -> Result<Vec<DatasetSource>> {
    let bytes = std::fs::read(file).at(file.display())?;
    let is_json = !has_extension(file, &["toml"]);
    let list = is_json.then(|| serde_json::from_slice::<Vec<Value>>(without_bom(&bytes)).ok()).flatten();
    let Some(list) = list else { return Ok(vec![DatasetSource { path: file.to_owned(), bytes }]) };
    let source = |(number, dict): (usize, &Value)| {
        let bytes = serde_json::to_vec(dict).expect("what was read from JSON is JSON");
        DatasetSource { path: format!("{}[{number}]", file.display()).into(), bytes }
    };
    Ok(list.iter().enumerate().map(source).collect())
}
