//! Compares padding and masking 10,000 prompts of 700 tokens with handwritten code that appends rows to lists of lists.
//! `cargo bench --bench batch`.
#![allow(missing_docs, reason = "criterion's macros write no docs")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use metatok::batch::{Batch, Dtype, Padding};

fn prompts() -> Vec<Vec<u32>> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    (0..10_000)
        .map(|_| {
            let length = 650 + next() % 101;
            (0..length).map(|_| next() % 150_000).collect()
        })
        .collect()
}

fn by_hand(prompts: &[Vec<u32>]) -> (Vec<Vec<i64>>, Vec<Vec<i64>>) {
    let width = prompts.iter().map(Vec::len).max().unwrap_or(0);
    let row = |prompt: &Vec<u32>| {
        let padding = vec![0; width - prompt.len()];
        let ids = padding.iter().copied().chain(prompt.iter().map(|&id| i64::from(id))).collect();
        (ids, [padding, vec![1; prompt.len()]].concat())
    };
    prompts.iter().map(row).unzip()
}

fn padded<N: Dtype>(prompts: &[Vec<u32>]) -> usize {
    let batch: Batch<N> = Batch::new(prompts, Padding::new(0)).expect("they fit");
    let mask = batch.attention_mask();
    black_box((&batch, &mask));
    batch.len()
}

fn pad(criterion: &mut Criterion) {
    let prompts = prompts();
    let (ids, mask) = by_hand(&prompts);
    let batch: Batch<i64> = Batch::new(&prompts, Padding::new(0)).expect("they fit");
    assert!(batch.input_ids.iter().eq(ids.iter().flatten()) && batch.attention_mask().iter().eq(mask.iter().flatten()));
    let numbers = 2 * batch.input_ids.len() as u64;
    let mut group = criterion.benchmark_group("pad and mask");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(numbers * 8));
    group.bench_function("metatok, i64", |bench| bench.iter(|| padded::<i64>(&prompts)));
    group.bench_function("lists of lists, i64", |bench| bench.iter(|| by_hand(black_box(&prompts))));
    group.throughput(Throughput::Bytes(numbers * 4));
    group.bench_function("metatok, u32", |bench| bench.iter(|| padded::<u32>(&prompts)));
}

criterion_group!(benches, pad);
criterion_main!(benches);
