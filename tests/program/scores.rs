//! What real servers found of texts to score: the labels that it picks, and that the engine in this process finds the same.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Tests, tests};
use crate::program::{json_lines, output, stderr, stdout};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![
        answers_of_servers_pick_labels,
        #[cfg(feature = "candle")]
        servers_find_what_the_engine_in_this_process_finds
    ]
}

const SERVERS: [&str; 3] = ["vllm", "vllm-generate", "sglang"];

/// Datasets in `tests/engines/scores`, and the label that the demo model prefers in each row.
const DATASETS: [(&str, [&str; 2]); 3] =
    [("capitals", ["Paris", "Tokyo"]), ("continuations", ["Paris.", "Rome."]), ("normalized", ["Rome", "Rome"])];

fn recorded(name: &str) -> PathBuf {
    root().join("tests/engines/scores").join(name)
}

fn run(folder: &Path, args: &[&str]) {
    let ran = output(folder, args);
    assert!(ran.status.success(), "{args:?}: {}{}", stdout(&ran), stderr(&ran));
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    json_lines(text)
}

/// Builds the texts of a dataset.
fn texts(folder: &Path, dataset: &str) -> PathBuf {
    let texts = folder.join(format!("{dataset}.jsonl"));
    let (file, rows) = (recorded(&format!("{dataset}.toml")), recorded("rows.jsonl"));
    let [file, rows, out] = [&file, &rows, &texts].map(|path| path.to_str().expect("it is UTF-8"));
    run(folder, &["build", "-m", "demo", "-q", "-d", file, "--labels", "--keep", "answer", "-o", out, rows]);
    texts
}

/// Scores what a server answered.
fn scored(folder: &Path, dataset: &str, texts: &Path, server: &str) -> Vec<Value> {
    let (answers, out) = (recorded(&format!("{dataset}.{server}.jsonl")), folder.join("scored.jsonl"));
    let [texts, answers, out_name] = [texts, &answers, &out].map(|path| path.to_str().expect("it is UTF-8"));
    let how = ["--ignore-punctuation", "--run-id", dataset, "--texts", texts];
    run(folder, &[&["score", "-r", "answer", "-o", out_name, answers][..], &how].concat());
    lines(&out)
}

fn answers_of_servers_pick_labels() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (dataset, labels) in DATASETS {
        let texts = texts(folder.path(), dataset);
        for server in SERVERS {
            let found: Vec<Value> =
                scored(folder.path(), dataset, &texts, server).iter().map(|row| row["found"].clone()).collect();
            let labels = labels.map(|label| label.trim_end_matches('.'));
            assert_eq!(found, labels, "{dataset}, {server}");
        }
    }
}

/// A text by its row and label, and what the engine finds of it: the sum of the scored tokens' log-probabilities, and how many
/// there are.
#[cfg(feature = "candle")]
fn in_this_process(engine: &metatok::engine::CandleEngine, text: &Value) -> (f64, f64) {
    use metatok::batch::{Batch, Padding};

    let ids: Vec<u32> = serde_json::from_value(text["input_ids"].clone()).expect("they are ids");
    let labels: Vec<i64> = serde_json::from_value(text["labels"].clone()).expect("they are ids, or -100");
    let logits =
        engine.logits(&Batch::new(&[&ids], Padding::new(0)).expect("it fits")).expect("the ids are the model's");
    let logits = logits.index_axis(ndarray::Axis(0), 0);
    let logprob = |place: usize| {
        let logits: Vec<f64> = logits.row(place - 1).iter().map(|&logit| logit.into()).collect();
        let most = logits.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = logits.iter().map(|logit| (logit - most).exp()).sum();
        logits[ids[place] as usize] - most - sum.ln()
    };
    let scored: Vec<usize> = (0..ids.len()).filter(|&place| labels[place] != -100).collect();
    let sum = scored.iter().filter(|&&place| place > 0).map(|&place| logprob(place)).sum();
    (sum, scored.len() as f64)
}

#[cfg(feature = "candle")]
fn servers_find_what_the_engine_in_this_process_finds() {
    let engine = metatok::engine::CandleEngine::demo().expect("it is embedded");
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (dataset, _) in DATASETS {
        let texts = texts(folder.path(), dataset);
        let found: Vec<(f64, f64)> = lines(&texts).iter().map(|text| in_this_process(&engine, text)).collect();
        let mean_loss = |(sum, tokens): (f64, f64)| -sum / tokens;
        let expected: Vec<f64> = match dataset {
            "capitals" => found.iter().map(|&text| mean_loss(text)).collect(),
            "continuations" => found.iter().map(|(sum, _)| *sum).collect(),
            _ => found.chunks(2).map(|pair| mean_loss(pair[0]) - mean_loss(pair[1])).collect(),
        };
        for server in SERVERS {
            let rows = scored(folder.path(), dataset, &texts, server);
            let scores = rows.iter().flat_map(|row| row["scores"].as_array().expect("it is a list"));
            let scores: Vec<f64> = scores.map(|label| label["score"].as_f64().expect("it is a number")).collect();
            assert_eq!(scores.len(), expected.len());
            for (score, expected) in scores.iter().zip(&expected) {
                assert!((score - expected).abs() < 1e-4, "{dataset}, {server}: {score} and {expected}");
            }
        }
    }
}
