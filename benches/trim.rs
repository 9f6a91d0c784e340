//! Compares finding the end of generated ids with decoding all of them again after every token and searching the text.
//! Uses a real tokenizer (`../shared/tokenizers/qwen3`, or `$METATOK_BENCH_TOKENIZER`) if there is one, else the demo's.
//! `cargo bench --bench trim`.
#![allow(missing_docs, reason = "criterion's macros write no docs")]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use metatok::stop::{FinishReason, StopCriteria, StopSource};
use metatok::{TokenId, Tokenizer, Trimmer};

/// An answer of this many tokens without a stop.
const TOKENS: usize = 100_000;
/// Fewer tokens for decoding again after each one, which is slow.
const TOKENS_AGAIN: usize = 500;

const STOPS: [&str; 16] = [
    "\nUser:",
    "\nHuman:",
    "###",
    "</answer>",
    "<|end|>",
    "QUESTION:",
    "\n\n\n\n",
    "[/INST]",
    "Observation:",
    "```\n\n#",
    "\nQ:",
    "END_OF_TEXT",
    "</tool_call>",
    "\nAssistant:",
    "<eos>",
    "*** stop ***",
];

fn tokenizer() -> Tokenizer {
    let folder = std::env::var("METATOK_BENCH_TOKENIZER").unwrap_or_else(|_| "../shared/tokenizers/qwen3".into());
    if Path::new(&folder).exists() { Tokenizer::load(&folder) } else { Tokenizer::demo() }.expect("the tokenizer loads")
}

fn ids(tokenizer: &Tokenizer) -> Vec<TokenId> {
    let text = include_str!("../models/demo/corpus.txt");
    let ids = tokenizer.encode(text).expect("it encodes");
    ids.into_iter().cycle().take(TOKENS).collect()
}

/// What one writes by hand: decode all there is after each token, and search it.
fn by_hand(tokenizer: &Tokenizer, ids: &[TokenId], strings: &[String]) -> usize {
    (1..=ids.len())
        .find(|&end| {
            let text = tokenizer.decode(&ids[..end], true).expect("it decodes");
            strings.iter().any(|string| text.contains(string.as_str()))
        })
        .unwrap_or(ids.len())
}

fn trim(criterion: &mut Criterion) {
    let tokenizer = tokenizer();
    let ids = ids(&tokenizer);
    let mut by_id = StopCriteria::default();
    for id in [tokenizer.vocab_size() as TokenId - 1, tokenizer.vocab_size() as TokenId - 2] {
        by_id.add_id(id, StopSource::User);
    }
    let mut by_string = by_id.clone();
    STOPS.iter().for_each(|string| by_string.add_string(string));
    let trimmer = Trimmer::new(&by_string, &tokenizer).expect("they are few");
    let matcher = by_id.matcher().expect("there are no strings");
    assert_eq!(trimmer.end(&ids).expect("the ids exist").finish_reason, FinishReason::Length);

    let mut group = criterion.benchmark_group("trim");
    group.throughput(Throughput::Elements(TOKENS as u64));
    group.bench_function("stop ids", |bench| bench.iter(|| matcher.trim_ids(black_box(&ids)).0.len()));
    group.bench_function("16 stop strings", |bench| bench.iter(|| trimmer.end(black_box(&ids)).map(|end| end.tokens)));
    group.bench_function("16 stop strings, with the text", |bench| {
        bench.iter(|| trimmer.complete(black_box(&ids)).map(|completion| completion.text.len()))
    });
    group.bench_function("16 stop strings, streaming", |bench| {
        bench.iter(|| {
            let (mut stream, mut text) = (trimmer.stream(), String::new());
            for &id in black_box(&ids) {
                stream.push(id, &mut text).expect("it exists");
            }
            (stream.finish(&mut text), text.len())
        });
    });
    group.throughput(Throughput::Elements(TOKENS_AGAIN as u64));
    group.sample_size(10);
    group.bench_function("decode and search at each step", |bench| {
        bench.iter(|| by_hand(&tokenizer, black_box(&ids[..TOKENS_AGAIN]), by_string.strings()))
    });
}

criterion_group!(benches, trim);
criterion_main!(benches);
