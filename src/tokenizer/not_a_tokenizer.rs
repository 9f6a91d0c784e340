//! Says of what is given as a tokenizer and is none what it is, and the way out.

use std::path::Path;

use crate::error::ErrorKind;
use crate::file_kind::FileKind;

/// What is done about other forms of tokenizers.
const CONVERT: &str = "metatok reads tokenizer.json, and transformers writes one: \
    AutoTokenizer.from_pretrained(\"FOLDER\").save_pretrained(\"FOLDER\")";

/// The error of a file that is something else.
pub(crate) fn file(kind: FileKind) -> ErrorKind {
    let remedy = kind.remedy().unwrap_or_else(|| {
        match kind {
            FileKind::SentencePiece | FileKind::Tiktoken | FileKind::Vocabulary | FileKind::Tekken => CONVERT,
            FileKind::Gguf => {
                "its tokenizer is inside; take the tokenizer.json of the repository that it was made from"
            }
            FileKind::ModelFile => "give it with --model; without --tokenizer the tokenizer that it names is taken",
            _ => "give the folder that has the tokenizer.json, or that file",
        }
        .into()
    });
    ErrorKind::Parse(format!("this is {}; {remedy}", kind.name()))
}

/// The error of a folder without a tokenizer.json.
pub(crate) fn folder(path: &Path) -> ErrorKind {
    let has = |name: &str| path.join(name).is_file();
    let what = if has("tokenizer.model") {
        Some("a tokenizer.model")
    } else if has("tekken.json") {
        Some("Mistral's tekken.json")
    } else if has("vocab.json") && has("merges.txt") {
        Some("vocab.json and merges.txt")
    } else if has("vocab.txt") {
        Some("a vocab.txt")
    } else if has_ending(path, "tiktoken") {
        Some("a tiktoken vocabulary")
    } else {
        None
    };
    ErrorKind::NotFound(match what {
        Some(what) => format!("there is no tokenizer.json here but {what}; {CONVERT}"),
        None if has_ending(path, "gguf") => "there is no tokenizer.json here but a GGUF model, whose tokenizer is inside; take the tokenizer.json of the repository that it was made from".into(),
        None => "there is no tokenizer.json here; metatok reads that format only (transformers writes it with `save_pretrained`)".into(),
    })
}

fn has_ending(folder: &Path, ending: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.path().extension().is_some_and(|extension| extension == ending))
}
