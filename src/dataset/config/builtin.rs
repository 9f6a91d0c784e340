//! The built-in dataset files.

use std::borrow::Cow;
use std::path::Path;

use crate::dataset::config::Dataset;
use crate::dialect::{near_among, similar_or_listed};
use crate::error::{At, Error, ErrorKind, Place, Result};

macro_rules! built_in {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../datasets/", $name, ".toml")))),*]
    };
}

const DATASETS: [(&str, &str); 16] = built_in! {
    "arc"
    "bbh"
    "boolq"
    "ceval"
    "gsm8k"
    "hellaswag"
    "humaneval"
    "lm_eval_arc"
    "lm_eval_gsm8k"
    "lm_eval_hellaswag"
    "lm_eval_mmlu"
    "lm_eval_triviaqa"
    "mmlu_gen"
    "mmlu_ppl"
    "triviaqa"
    "truthfulqa"
};

impl Dataset {
    /// The names of the built-in dataset files, each with its purpose.
    pub fn builtin() -> impl Iterator<Item = (&'static str, &'static str)> {
        let about = |text: &'static str| text.lines().next().unwrap_or_default().trim_start_matches("# ");
        DATASETS.iter().map(move |(name, text)| (*name, about(text)))
    }

    /// A built-in dataset file, with its comments.
    pub fn builtin_file(name: &str) -> Option<&'static str> {
        DATASETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// The contents of a dataset file, or of the built-in one with that name if there is no such file.
    ///
    /// # Errors
    /// Names the file; [`ErrorKind::NotFound`] if there is neither.
    pub fn read_file(path: &Path) -> Result<Cow<'static, [u8]>> {
        let name = path.display().to_string();
        if !path.exists()
            && let Some(text) = Self::builtin_file(&name)
        {
            return Ok(text.as_bytes().into());
        }
        if path.is_dir() {
            let what = "a folder of datasets, which only `build` accepts; name one of its files";
            return Err(ErrorKind::Usage(what.into())).at(Place::file(name));
        }
        match std::fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(not_found(&name)),
            read => read.map(Cow::Owned).at(Place::file(name)),
        }
    }
}

fn not_found(name: &str) -> Error {
    let near = near_among(name, DATASETS.iter().map(|(known, _)| *known));
    ErrorKind::NotFound(format!("there is no dataset file {name:?} and no built-in dataset with that name"))
        .with_way_out(similar_or_listed(&near, "metatok datasets"))
}
