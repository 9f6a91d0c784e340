//! Dataset files with rows of their own. Input: the file as TOML, rows, rows for examples, and answers, as lines.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use metatok::dataset::retriever::RetrieverKind;
use metatok::{Dataset, Mode, PromptBuilder};

static BUILDERS: LazyLock<[PromptBuilder; 2]> = LazyLock::new(|| [Mode::Generate, Mode::Score].map(metatok_fuzz::demo));

fuzz_target!(|input: &[u8]| {
    let Some([file, rows, train, answers]) = metatok_fuzz::parts(input) else { return };
    let Ok(dataset) = Dataset::parse("d.toml", file.as_bytes()) else { return };
    // Reads a file, of any name.
    if matches!(dataset.task.retriever.kind, RetrieverKind::TopK { .. }) {
        return;
    }
    let (rows, train) = (metatok_fuzz::rows(rows), metatok_fuzz::rows(train));
    let _ = (dataset.abbr(), dataset.task.labels(&rows));
    // A judge sees rows as they are where nobody answered.
    let judge = dataset.judge().map(|judge| judge.dataset);
    for dataset in [Some(&dataset), Some(&dataset.single_pass()), judge.as_ref().ok()].into_iter().flatten() {
        let is_score = dataset.inferencer.kind.mode() == Mode::Score;
        let Ok(prompts) = metatok_fuzz::prompts(dataset, &train, &rows, answers) else { continue };
        for prompt in &prompts {
            metatok_fuzz::build(&BUILDERS[usize::from(is_score)], prompt);
        }
    }
});
