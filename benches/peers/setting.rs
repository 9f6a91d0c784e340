//! Where tokenizers and texts are, and what of all is measured.

use std::path::{Path, PathBuf};

use crate::text::Text;

/// A part of what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Speed,
    Loading,
    Files,
    Python,
    Extras,
}

const SECTIONS: [(&str, Section); 5] = [
    ("speed", Section::Speed),
    ("loading", Section::Loading),
    ("files", Section::Files),
    ("python", Section::Python),
    ("extras", Section::Extras),
];

/// What this run measures.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) tokenizers: PathBuf,
    pub(crate) folders: Vec<PathBuf>,
    text: PathBuf,
    /// What was asked for on the command line.
    filters: Vec<String>,
    /// Whether it measures. Otherwise it is only to be seen that it runs, with little of everything.
    pub(crate) measures: bool,
    /// Prompts in a round.
    pub(crate) prompts: usize,
    /// The sections that were asked for.
    sections: Vec<Section>,
}

impl Setting {
    pub(crate) fn read(mut filters: Vec<String>) -> Self {
        let measures = filters.iter().any(|arg| arg == "--bench");
        filters.retain(|arg| !arg.starts_with('-'));
        let section = |filter: &String| SECTIONS.iter().find(|(name, _)| name == filter).map(|(_, section)| *section);
        let sections = filters.iter().filter_map(section).collect();
        filters.retain(|filter| section(filter).is_none());
        let variable = |name: &str, usual: &str| PathBuf::from(std::env::var_os(name).unwrap_or_else(|| usual.into()));
        let tokenizers = variable("METATOK_TOKENIZERS", "../shared/tokenizers");
        let mut folders = folders(&tokenizers);
        if !measures {
            folders.truncate(1);
        }
        let (text, prompts) = (variable("METATOK_TEXT", "../shared/text"), if measures { 1000 } else { 10 });
        Self { tokenizers, folders, text, filters, measures, prompts, sections }
    }

    /// All of them, unless some were asked for.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let all = || SECTIONS.iter().map(|(_, section)| *section).collect();
        if self.sections.is_empty() { all() } else { self.sections.clone() }
    }

    /// Whether a row is asked for: each kind of name that a filter speaks of must be fit.
    pub(crate) fn wants(&self, tokenizer: &str, workload: &str) -> bool {
        let fits = |name: &str, all: &dyn Fn(&str) -> bool| {
            let mut of_kind = self.filters.iter().filter(|filter| all(filter)).peekable();
            of_kind.peek().is_none() || of_kind.any(|filter| name.contains(filter.as_str()))
        };
        let is_tokenizer = |filter: &str| self.folders.iter().any(|folder| name(folder).contains(filter));
        fits(tokenizer, &is_tokenizer) && fits(workload, &|filter| !is_tokenizer(filter))
    }

    pub(crate) fn text(&self, multilingual: bool) -> Option<Text> {
        let path = self.text.join(if multilingual { "multilingual.txt" } else { "english.txt" });
        let text = Text::read(&path);
        if let Err(error) = &text {
            println!("skipped: {}: {error}", path.display());
        }
        text.ok()
    }
}

/// Folders with a tokenizer, by name.
fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join("tokenizer.json").exists());
    folders.sort();
    folders
}

pub(crate) fn name(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
