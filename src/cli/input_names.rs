//! What a file of prompts or answers is called: its dataset's short name, by which `build` names it.

use std::path::Path;

/// All files together.
pub(crate) const ALL: &str = "all";

/// The file's name without its endings: `gsm8k` of `prompts/gsm8k.jsonl.gz`, `mmlu_v1.5` of `mmlu_v1.5.jsonl`.
pub(crate) fn abbr(name: &str) -> String {
    let file = Path::new(name).file_name().map_or(name.into(), |file| file.to_string_lossy());
    let mut abbr = &*file;
    for ending in [".gz", ".zst", ".jsonl", ".json", ".partial"] {
        abbr = abbr.strip_suffix(ending).filter(|rest| !rest.is_empty()).unwrap_or(abbr);
    }
    abbr.to_owned()
}
