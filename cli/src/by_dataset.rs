//! Files of prompts or answers, one per dataset, which `build` names by its short name.

use std::ops::ControlFlow;
use std::path::Path;

use crate::source::Source;
use metatok::error::{At, ErrorKind, Result};
use metatok::input::each_line;

/// All files together.
pub(crate) const ALL: &str = "all";

/// Visits the lines of each file; returns the result and the dataset's name. A file without lines is an error, which
/// says that `what` is missing.
pub(crate) fn by_dataset<T: Default>(
    source: Source,
    longest: usize,
    what: &str,
    mut visit: impl FnMut(&mut T, &str) -> Result<ControlFlow<()>>,
) -> Result<Vec<(String, T)>> {
    let mut datasets = Vec::new();
    for input in source.open(None)? {
        let (name, mut found, mut is_empty) = (input.name().to_owned(), T::default(), true);
        each_line(vec![input], longest, |place, line| {
            is_empty = false;
            line.and_then(|line| visit(&mut found, line)).map_err(|error| place.of_error(error))
        })?;
        if is_empty {
            return Err(ErrorKind::Parse(format!("it contains no {what}s"))).at(name);
        }
        datasets.push((abbr(&name), found));
    }
    Ok(datasets)
}

/// The file's name without its extensions: `gsm8k` for `prompts/gsm8k.jsonl.gz`, `mmlu_v1.5` for `mmlu_v1.5.jsonl`.
fn abbr(name: &str) -> String {
    let file = Path::new(name).file_name().map_or(name.into(), |file| file.to_string_lossy());
    let mut abbr = &*file;
    for ending in [".gz", ".zst", ".jsonl", ".json", ".partial"] {
        abbr = abbr.strip_suffix(ending).filter(|rest| !rest.is_empty()).unwrap_or(abbr);
    }
    abbr.to_owned()
}
