//! Which of a package's dataset dicts and files build, and why the others do not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use metatok::Result;
use serde::Deserialize;

use super::build::Built;
use super::package::DatasetLine;

/// What differs from a package, and is meant to.
#[derive(Deserialize)]
pub(crate) struct Known {
    #[serde(default)]
    reason: Vec<Reason>,
    #[serde(default)]
    pub(crate) judge: Vec<Reason>,
    #[serde(default)]
    pub(crate) only_there: Vec<OnlyThere>,
}

/// Why dicts are refused: what the message says, and for which classes.
#[derive(Deserialize)]
pub(crate) struct Reason {
    pub(crate) message: String,
    /// Whether the package refuses it too.
    #[serde(default)]
    there_too: bool,
    #[allow(dead_code, reason = "for readers")]
    about: String,
}

/// What the package refuses and metatok builds.
#[derive(Deserialize)]
pub(crate) struct OnlyThere {
    pub(crate) error: String,
    #[allow(dead_code, reason = "for readers")]
    about: String,
}

/// The dataset dicts of all files.
#[derive(Default)]
pub(crate) struct Datasets {
    /// Why each is refused; nothing where it builds.
    built: BTreeMap<usize, Option<String>>,
    files: usize,
    broken_files: Vec<String>,
    pub(crate) refused_files: BTreeMap<String, String>,
    /// How many of them the package's own code builds.
    built_there: usize,
    used_reasons: BTreeSet<usize>,
    unknown_reasons: Vec<String>,
}

impl Datasets {
    pub(crate) fn see(&mut self, line: &DatasetLine, built: Result<Built>, known: &Known) -> Option<Built> {
        match built {
            Ok(built) => {
                self.built.insert(line.number, None);
                Some(built)
            }
            Err(error) => {
                let message = error.to_string();
                let reason = known.reason.iter().position(|reason| message.contains(&reason.message));
                let said = reason.map(|reason| known.reason[reason].message.clone());
                self.used_reasons.extend(reason);
                if said.is_none() {
                    self.unknown_reasons.push(format!("{message}\n{}", line.dataset.get()));
                }
                self.built.insert(line.number, Some(said.unwrap_or(message)));
                None
            }
        }
    }

    pub(crate) fn see_file(&mut self, file: String, error: Option<String>, datasets: &[usize], known: &Known) {
        self.files += 1;
        if let Some(error) = error {
            self.broken_files.push(format!("{file}: {error}"));
            return;
        }
        if let Some(said) = datasets.iter().find_map(|number| self.built[number].clone()) {
            let there_too = known.reason.iter().any(|reason| reason.message == said && reason.there_too);
            self.built_there += usize::from(!there_too);
            self.refused_files.insert(file, said);
        }
    }

    /// Of all files, at least 98 % of those that the package builds build here, and each reason counts for some.
    pub(crate) fn check(&self, known: &Known, has_all: bool) {
        assert!(self.unknown_reasons.is_empty(), "refused for reasons not listed: {}", self.unknown_reasons.join("\n"));
        if has_all {
            let run = self.files - self.broken_files.len();
            assert!(self.built_there * 100 <= run * 2, "{:#?}", self.refused_files);
            for (i, reason) in known.reason.iter().enumerate() {
                assert!(self.used_reasons.contains(&i), "nothing is refused for {:?}", reason.message);
            }
        }
    }
}

impl fmt::Display for Datasets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused = self.built.values().filter(|reason| reason.is_some()).count();
        write!(
            f,
            "{} files of datasets, {} that Python cannot run, {} refused of which the package builds {}; {} different dicts, {refused} refused",
            self.files,
            self.broken_files.len(),
            self.refused_files.len(),
            self.built_there,
            self.built.len()
        )
    }
}
