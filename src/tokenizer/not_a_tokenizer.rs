//! Explains what something is that is not a tokenizer, and what to do.

use std::path::Path;

use crate::error::{Error, ErrorKind, Setting, WayOut, way_out};
use crate::file_kind::FileKind;

/// What to do about vocabularies that are not read.
const CONVERT: &str = "metatok reads tokenizer.json, which transformers can write: \
    AutoTokenizer.from_pretrained(\"FOLDER\").save_pretrained(\"FOLDER\")";

/// The error for a file of another kind.
pub(crate) fn file(kind: FileKind) -> Error {
    let remedy = kind.remedy().map_or_else(
        || match kind {
            FileKind::Vocabulary => CONVERT.into(),
            FileKind::Tekken => {
                "use the tekken.json of the model's repository: this one has neither default_num_special_tokens nor token_bytes"
                    .into()
            }
            FileKind::ModelFile => way_out![
                "use it with ",
                Setting::MODEL,
                "; without ",
                Setting::TOKENIZER,
                " the tokenizer that it names is used"
            ],
            _ => "use the folder with the tokenizer.json, or that file".into(),
        },
        WayOut::from,
    );
    ErrorKind::WrongFile(kind.name().into()).with_way_out(remedy)
}

/// The error for a file of no kind that is known.
pub(crate) fn unknown() -> Error {
    let what =
        "this is not a tokenizer.json, a SentencePiece model, a tekken.json, a tiktoken vocabulary or a GGUF file";
    ErrorKind::Invalid(what.into()).with_way_out("use the files of the model's repository")
}

/// The error for a folder without a vocabulary.
pub(crate) fn folder(path: &Path) -> Error {
    let has = |name: &str| path.join(name).is_file();
    let what = if has("vocab.json") && has("merges.txt") {
        Some("vocab.json and merges.txt")
    } else if has("vocab.txt") {
        Some("a vocab.txt")
    } else {
        None
    };
    let missing = "there is no tokenizer.json";
    let may_hold =
        named(path, |name| name.contains(".model") || name.contains("tekken") || name.ends_with(".tiktoken"));
    match what {
        Some(what) => ErrorKind::NotFound(format!("{missing}, only {what}")).with_way_out(CONVERT),
        None if !named(path, |name| name.ends_with(".gguf")).is_empty() => ErrorKind::NotFound(format!("{missing}, but there are GGUF files"))
            .with_way_out("name the one to use"),
        None if !may_hold.is_empty() => ErrorKind::NotFound(format!("{missing}, only {}", may_hold.join(", ")))
            .with_way_out("if one of them is the vocabulary, name it"),
        None => ErrorKind::NotFound(missing.into()).with_way_out(
            "a tokenizer is a tokenizer.json, tokenizer.model, tekken.json, tiktoken vocabulary or GGUF file; transformers writes a tokenizer.json with `save_pretrained`",
        ),
    }
}

/// The names of the files of a folder for which this holds, sorted.
fn named(folder: &Path, is_it: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| is_it(name));
    names.sort();
    names
}
