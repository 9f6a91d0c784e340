//! The fingerprints in a file of prompts, to be compared with what would be built now.

use std::ops::ControlFlow;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::{At, ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::input::{Input, RecordPlace, each_object, from_json};
use crate::sink::metadata;

/// Prompts of a file with the same fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedFingerprint {
    /// What built them; none if the file does not record it.
    pub fingerprint: Option<Fingerprint>,
    /// The place of the first, such as `prompts.jsonl: line 1`.
    pub first: String,
    /// How many there are.
    pub prompts: u64,
}

/// The parts of a line that matter here.
#[derive(Deserialize)]
struct Line {
    fingerprint: Option<Fingerprint>,
    /// The rows of a file of arrays.
    prompts: Option<Vec<IgnoredAny>>,
    /// The number of a table's rows.
    rows: Option<u64>,
}

impl RecordedFingerprint {
    /// The fingerprints in a file of prompts, in the order in which they first occur: of lines, of arrays, or of a
    /// table.
    ///
    /// ```
    /// use metatok::build::RecordedFingerprint;
    /// use metatok::{BuilderOptions, Fingerprint, Model, Tokenizer};
    ///
    /// let now = Fingerprint::new(&Model::load("demo")?, &Tokenizer::demo()?, &BuilderOptions::default());
    /// let line = format!("{{\"id\": 0, \"input_ids\": [1051], \"fingerprint\": {}}}\n", now.to_json());
    /// let path = std::env::temp_dir().join("metatok-recorded.jsonl");
    /// std::fs::write(&path, line.repeat(2))?;
    /// let recorded = RecordedFingerprint::read(&path, 1 << 20)?;
    /// assert_eq!((recorded.len(), recorded[0].prompts), (1, 2));
    /// assert_eq!(recorded[0].fingerprint.as_ref(), Some(&now));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of reading the file; [`ErrorKind::Parse`] for a line that is not a prompt; [`ErrorKind::Usage`] if there
    /// are no prompts.
    pub fn read(path: &Path, max_line_bytes: usize) -> Result<Vec<Self>> {
        let mut recorded = Vec::new();
        each_object(vec![open(path)?], max_line_bytes, |place, line| {
            let line: Line = line.and_then(from_json).map_err(|error| place.of_error(error))?;
            Self::add(&mut recorded, line, place);
            Ok(ControlFlow::Continue(()))
        })?;
        if recorded.iter().all(|same| same.prompts == 0) {
            return Err(ErrorKind::Usage("it contains no prompts".into())).at(path.display());
        }
        Ok(recorded)
    }

    fn add(recorded: &mut Vec<Self>, line: Line, place: RecordPlace<'_>) {
        let Line { fingerprint, prompts, rows } = line;
        let prompts = prompts.map(|prompts| prompts.len() as u64).or(rows).unwrap_or(1);
        match recorded.iter_mut().find(|same| same.fingerprint == fingerprint) {
            Some(same) => same.prompts = same.prompts.saturating_add(prompts),
            None => recorded.push(Self { fingerprint, first: place.to_string(), prompts }),
        }
    }
}

/// A file of arrays or a table has one line, with its metadata.
fn open(path: &Path) -> Result<Input> {
    match metadata(path).at(path.display())? {
        Some(metadata) => Ok(Input::record(path.display().to_string(), "prompt", metadata)),
        None => Input::open(path),
    }
}
