//! Rows, with every built-in dataset, and the demo's prompts of them. Input: the dataset's number, JSON lines.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use metatok::{Dataset, Mode, PromptBuilder};

static DATASETS: LazyLock<Vec<Dataset>> =
    LazyLock::new(|| Dataset::builtin().map(|(name, _)| Dataset::load(Path::new(name)).expect("it is built in")).collect());
static BUILDERS: LazyLock<[PromptBuilder; 2]> = LazyLock::new(|| [Mode::Generate, Mode::Score].map(metatok_fuzz::demo));

fuzz_target!(|input: &[u8]| {
    let Some((&number, lines)) = input.split_first() else { return };
    let Ok(lines) = std::str::from_utf8(lines) else { return };
    let dataset = &DATASETS[number as usize % DATASETS.len()];
    let rows = metatok_fuzz::rows(lines);
    let Ok(prompts) = metatok_fuzz::prompts(dataset, &rows, &rows, "") else { return };
    let is_score = dataset.inferencer.kind.mode() == Mode::Score;
    for prompt in &prompts {
        metatok_fuzz::build(&BUILDERS[usize::from(is_score)], prompt);
    }
});
