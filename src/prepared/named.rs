//! One of several datasets, with the files that are named after it in the folders that all share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::dataset::retriever::RetrieverKind;
use crate::dataset::{Dataset, DatasetSource};
use crate::error::{At, ErrorKind, Result};
use crate::file_kind::has_extension;
use crate::prepared::DatasetOptions;

/// The possible extensions of files of rows.
const EXTENSIONS: [&str; 5] = ["jsonl", "json", "csv", "tsv", "parquet"];

/// A dataset among several. Its short name names its files: of rows, of examples, of answers, and of prompts.
///
/// ```
/// use metatok::Dataset;
/// use metatok::prepared::NamedDataset;
///
/// let folder = std::env::temp_dir().join("metatok-named");
/// std::fs::create_dir_all(folder.join("rows"))?;
/// std::fs::write(folder.join("a.toml"), "infer_cfg = {}")?;
/// std::fs::write(folder.join("rows/a.csv"), "q\n1+1=?\n")?;
/// let sources = Dataset::sources(&folder)?.expect("a folder has several");
/// let dataset = NamedDataset::read(&sources[0])?;
/// assert_eq!(dataset.name(), "a");
/// assert_eq!(dataset.file_in(&folder.join("rows"))?, folder.join("rows/a.csv"));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NamedDataset {
    source: DatasetSource,
    name: String,
    needs_examples: bool,
    /// Whether it has examples if there is a number of them.
    takes_examples: bool,
    reads_neighbours: bool,
}

impl NamedDataset {
    /// Reads a dataset for its name and for what its examples need.
    ///
    /// # Errors
    /// The same as for [`DatasetSource::read`]; [`ErrorKind::Dataset`] if its short name cannot be that of a file.
    pub fn read(source: &DatasetSource) -> Result<Self> {
        let dataset = source.read()?;
        let name = file_name(&dataset).at(source.path().display())?;
        let retriever = &dataset.task.retriever;
        Ok(Self {
            source: source.clone(),
            name,
            needs_examples: retriever.count() > 0,
            takes_examples: !matches!(retriever.kind, RetrieverKind::Zero),
            reads_neighbours: matches!(retriever.kind, RetrieverKind::TopK { .. }),
        })
    }

    /// Rejects two datasets that would write to one file.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] with both.
    pub fn check_names(datasets: &[Self]) -> Result<()> {
        let mut seen = BTreeMap::new();
        for Self { source, name, .. } in datasets {
            if let Some(before) = seen.insert(name, source) {
                let what = format!(
                    "{} and {} have the same abbr {name:?}, which names their rows and outputs; change one",
                    before.path().display(),
                    source.path().display()
                );
                return Err(ErrorKind::Dataset(what).into());
            }
        }
        Ok(())
    }

    /// The dataset, for [`PreparedDataset::from_source`](crate::prepared::PreparedDataset::from_source).
    pub fn source(&self) -> &DatasetSource {
        &self.source
    }

    /// Its short name as a file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A folder's file with this name, or the file that all datasets share.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if the folder has no such file, [`ErrorKind::Invalid`] if it has several.
    pub fn file_in(&self, path: &Path) -> Result<PathBuf> {
        if !path.is_dir() {
            return Ok(path.to_owned());
        }
        let files = std::fs::read_dir(path).at(path.display())?.flatten().map(|entry| entry.path());
        let is_own = |file: &PathBuf| {
            let is_named_so = file.file_stem().is_some_and(|stem| stem == self.name.as_str());
            is_named_so && has_extension(file, &EXTENSIONS) && !file.is_dir()
        };
        let mut files: Vec<PathBuf> = files.filter(is_own).collect();
        files.sort();
        let name = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match &files[..] {
            [] => {
                let file = format!("{}.{}", self.name, EXTENSIONS[0]);
                let others = EXTENSIONS[1..].join(", ");
                let what = format!("it contains no {file}, nor the same name with one of the extensions {others}");
                Err(ErrorKind::NotFound(what))
            }
            [file] => Ok(file.clone()),
            [one, other, ..] => {
                let what = format!("it contains both {} and {}; keep only one", name(one), name(other));
                Err(ErrorKind::Invalid(what))
            }
        }
        .at(path.display())
    }

    /// The options for this dataset alone: where all share a folder, its file there. Files that it has no use for are
    /// left out.
    ///
    /// # Errors
    /// The same as for [`Self::file_in`].
    pub fn options(&self, all: &DatasetOptions) -> Result<DatasetOptions> {
        let has_examples = all.num_fewshot.map_or(self.needs_examples, |count| count > 0 && self.takes_examples)
            && all.judge.is_empty();
        let file = |path: &PathBuf| self.file_in(path);
        Ok(DatasetOptions {
            judge: all.judge.iter().map(file).collect::<Result<_>>()?,
            train: all.train.as_ref().filter(|_| has_examples).map(file).transpose()?,
            neighbours: all
                .neighbours
                .as_ref()
                .filter(|_| has_examples && self.reads_neighbours)
                .map(file)
                .transpose()?,
            ..all.clone()
        })
    }
}

/// The short name as a file name, converted like in OpenCompass.
fn file_name(dataset: &Dataset) -> Result<String> {
    let name = dataset.abbr().replace('/', "_");
    if name.is_empty() || name.starts_with('.') || name.contains(|c: char| c == '\\' || c == ':' || c.is_control()) {
        let what = format!(
            "the abbr {:?} names the files of the rows and the output, but is not a valid file name",
            dataset.abbr()
        );
        return Err(ErrorKind::Dataset(what).into());
    }
    Ok(name)
}
