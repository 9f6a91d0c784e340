//! How many cases of each corpus a replay must reach, from `parity_floors.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Floors {
    /// The least number of replayed cases by corpus.
    floors: BTreeMap<String, usize>,
}

impl Floors {
    pub(crate) fn load() -> Self {
        toml::from_str(include_str!("../parity_floors.toml")).expect("the floors are TOML")
    }

    /// Each corpus of which fewer cases were replayed, in words.
    pub(crate) fn missed(&self, replayed: &BTreeMap<String, usize>) -> Vec<String> {
        let count = |corpus: &String| replayed.get(corpus).copied().unwrap_or_default();
        let missed = self.floors.iter().filter(|(corpus, floor)| count(corpus) < **floor);
        let words = |(corpus, floor)| {
            let count = count(corpus);
            format!("{corpus}: {count} cases were replayed, and tests/parity_floors.toml asks for {floor}")
        };
        missed.map(words).collect()
    }
}

/// A corpus by its file below the folder of all: `tokens/qwen3`.
pub(crate) fn corpus(folder: &Path, file: &Path) -> String {
    let below = file.strip_prefix(folder).unwrap_or(file).to_string_lossy();
    below.trim_end_matches(".jsonl.gz").replace('\\', "/")
}
