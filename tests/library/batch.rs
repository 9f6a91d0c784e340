//! Batches: what is padded, masked, planned and packed is the prompts, each whole and in its place.

use std::num::NonZeroUsize;
use std::sync::Arc;

use metatok::batch::{Batch, BatchPlan, BatchSize, Pack, Padding, PaddingSide};
use metatok::builder::IGNORE_INDEX;
use metatok::{BuilderOptions, ChatMessage, Conversation, Model, PromptBuilder, Tokenizer};
use proptest::prelude::*;

use crate::harness::{Tests, tests};

pub(crate) fn tests() -> Tests {
    tests![
        token_budgets_hold_whatever_the_numbers,
        rows_that_no_memory_holds_are_an_error,
        a_row_is_its_prompt_and_padding,
        plans_hold_every_prompt_once_within_the_budget,
        packs_hold_every_prompt_whole,
        errors,
        the_padding_is_the_models_or_the_tokenizers,
        a_conversation_that_cannot_be_built_is_named
    ]
}

/// The id of the padding, which prompts have too: only places tell them apart.
const PAD: u32 = 1;

fn prompts() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(0..4_u32, 0..9), 0..7)
}

fn nonzero(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("it is not zero")
}

proptest! {
    fn token_budgets_hold_whatever_the_numbers(
        lengths in prop::collection::vec(
            prop_oneof![0_usize..100, Just(usize::MAX), Just(usize::MAX / 2), Just(usize::MAX / 3 + 1), any::<usize>()],
            0..12,
        ),
        budget in prop_oneof![1_usize..200, Just(usize::MAX), any::<usize>()],
        sorted in any::<bool>(),
    ) {
        let Some(tokens) = NonZeroUsize::new(budget) else { return Ok(()) };
        let size = BatchSize::Tokens(tokens);
        let plan = if sorted { BatchPlan::by_length(&lengths, size) } else { BatchPlan::in_order(&lengths, size) };
        let Ok(plan) = plan else {
            prop_assert!(lengths.iter().any(|&length| length > budget));
            return Ok(());
        };
        let tokens = |batch: &[usize]| {
            let longest = batch.iter().map(|&prompt| lengths[prompt] as u128).max().unwrap_or(0);
            longest * batch.len() as u128
        };
        let mut all: Vec<usize> = plan.batches().concat();
        for batch in plan.batches() {
            prop_assert!(tokens(batch) <= budget as u128);
        }
        // The next prompt would have been too much.
        for pair in plan.batches().windows(2) {
            prop_assert!(tokens(&[&pair[0][..], &pair[1][..1]].concat()) > budget as u128);
        }
        all.sort_unstable();
        prop_assert!(all.into_iter().eq(0..lengths.len()));
    }
}

fn rows_that_no_memory_holds_are_an_error() {
    let error = |multiple: usize| {
        let multiple = NonZeroUsize::new(multiple).expect("it is not zero");
        let padding = Padding { pad_to_multiple_of: multiple, ..Padding::new(0) };
        Batch::<i64>::new(&[vec![1, 2], vec![3]], padding).expect_err("it does not fit").to_string()
    };
    assert_eq!(
        error(1 << 62),
        "2 rows of 4611686018427387904 tokens do not fit into memory; use fewer prompts at a time, or shorter rows"
    );
    assert_eq!(
        error(usize::MAX),
        "2 rows of 18446744073709551615 tokens do not fit into memory; use fewer prompts at a time, or shorter rows"
    );
}

proptest! {
    fn a_row_is_its_prompt_and_padding(prompts in prompts(), left in any::<bool>(), multiple in 1_usize..5) {
        let padding_side = if left { PaddingSide::Left } else { PaddingSide::Right };
        let padding = Padding { pad_token_id: PAD, padding_side, pad_to_multiple_of: nonzero(multiple) };
        let batch: Batch<u32> = Batch::new(&prompts, padding).expect("they fit");
        let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
        let width = longest.div_ceil(multiple) * multiple;
        prop_assert_eq!(batch.input_ids.dim(), (prompts.len(), width));
        let labels: Vec<Vec<i64>> = prompts.iter().map(|prompt| prompt.iter().map(|&id| i64::from(id) - 2).collect()).collect();
        let (mask, positions, labels_of) = (batch.attention_mask(), batch.position_ids(), batch.labels(&labels).expect("they fit"));
        for (row, prompt) in prompts.iter().enumerate() {
            prop_assert_eq!(batch.prompt(row).to_vec(), prompt.clone());
            let before = if left { width - prompt.len() } else { 0 };
            for column in 0..width {
                let place = column.checked_sub(before).filter(|&place| place < prompt.len());
                let expected = place.map_or((PAD, 0, 0, IGNORE_INDEX), |place| (prompt[place], 1, place as u32, labels[row][place]));
                let at = [row, column];
                prop_assert_eq!((batch.input_ids[at], mask[at], positions[at], labels_of[at]), expected);
            }
        }
        // The other type of numbers holds the same.
        let wide: Batch<i64> = Batch::new(&prompts, padding).expect("they fit");
        prop_assert_eq!(wide.input_ids.mapv(|id| id as u32), batch.input_ids);
    }

    fn plans_hold_every_prompt_once_within_the_budget(
        lengths in prop::collection::vec(0_usize..9, 0..20),
        budget in 8_usize..30,
        by_tokens in any::<bool>(),
        sorted in any::<bool>(),
    ) {
        let size = if by_tokens { BatchSize::Tokens(nonzero(budget)) } else { BatchSize::Prompts(nonzero(budget)) };
        let plan = if sorted { BatchPlan::by_length(&lengths, size) } else { BatchPlan::in_order(&lengths, size) };
        let plan = plan.expect("every prompt fits");
        for batch in plan.batches() {
            let longest = batch.iter().map(|&prompt| lengths[prompt]).max().unwrap_or(0);
            prop_assert!(!batch.is_empty());
            let size = if by_tokens { longest * batch.len() } else { batch.len() };
            prop_assert!(size <= budget);
        }
        let flat: Vec<usize> = plan.batches().concat();
        if !sorted {
            prop_assert!(flat.is_sorted());
        } else {
            prop_assert!(flat.iter().map(|&prompt| lengths[prompt]).rev().is_sorted());
        }
        prop_assert_eq!(plan.restore(flat).expect("they are as many"), (0..lengths.len()).collect::<Vec<_>>());
    }

    fn packs_hold_every_prompt_whole(prompts in prompts(), room in 0_usize..4) {
        let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
        let row_len = longest + room;
        let pack: Pack<i64> = Pack::new(&prompts, row_len, PAD).expect("every prompt fits");
        prop_assert_eq!(pack.places.len(), prompts.len());
        let mut taken = vec![0; pack.input_ids.nrows()];
        for (i, prompt) in prompts.iter().enumerate() {
            prop_assert_eq!(pack.prompt(i).mapv(|id| id as u32).to_vec(), prompt.clone());
            let place = pack.places[i];
            for at in 0..place.len {
                prop_assert_eq!(pack.position_ids[[place.row, place.start + at]], at as i64);
            }
            let (start, end) = (place.start as u32, (place.start + place.len) as u32);
            prop_assert!(pack.cu_seqlens[place.row].windows(2).any(|ends| ends == [start, end]));
            taken[place.row] += place.len;
        }
        let mut order: Vec<usize> = (0..prompts.len()).collect();
        order.sort_by_key(|prompt| std::cmp::Reverse(prompts[*prompt].len()));
        let mut ends: Vec<usize> = Vec::new();
        for prompt in order {
            let len = prompts[prompt].len();
            let row = ends.iter().position(|end| end + len <= row_len).unwrap_or(ends.len());
            ends.resize(ends.len().max(row + 1), 0);
            prop_assert_eq!((pack.places[prompt].row, pack.places[prompt].start), (row, ends[row]));
            ends[row] += len;
        }
        for (row, ends) in pack.cu_seqlens.iter().enumerate() {
            prop_assert!(ends.is_sorted());
            prop_assert_eq!(ends.last().copied(), Some(taken[row] as u32));
            prop_assert!(pack.input_ids.row(row).iter().skip(taken[row]).all(|&id| id == i64::from(PAD)));
        }
    }
}

fn errors() {
    let batch: Batch = Batch::new(&[vec![5], vec![6, 7]], Padding::new(PAD)).expect("they fit");
    let plan = BatchPlan::in_order(&[1, 2], BatchSize::Prompts(nonzero(2))).expect("they fit");
    let budget = BatchSize::Tokens(nonzero(4));
    for (error, expected) in [
        (batch.labels(&[vec![1], vec![2]]).err(), "prompt 1 has 2 tokens, but 1 label"),
        (batch.labels(&[vec![1]]).err(), "the batch has 2 prompts, but there are labels for 1"),
        (BatchPlan::by_length(&[3, 5], budget).err(), "prompt 1 has 5 tokens, more than the 4 of a whole batch"),
        (plan.restore(vec!["one"]).err(), "the batches have 2 prompts, but there is not one result for each: 1"),
        (Pack::<i64>::new(&[vec![1, 2]], 1, PAD).err(), "prompt 0 has 2 tokens, more than the 1 of a row"),
        ("middle".parse::<PaddingSide>().err(), "unknown padding_side \"middle\"; choose one of left, right"),
    ] {
        assert_eq!(error.map(|error| error.to_string()).as_deref(), Some(expected));
    }
}

fn the_padding_is_the_models_or_the_tokenizers() {
    let tokenizer = Arc::new(Tokenizer::demo().expect("it is embedded"));
    let pad = |model: &str| {
        let model = Model::parse("m.toml", model.as_bytes())?;
        PromptBuilder::new(&model, Arc::clone(&tokenizer), &BuilderOptions::default())
            .map(|builder| builder.pad_token_id())
    };
    assert_eq!(pad("pad_token_id = 7").expect("there is one"), Some(7));
    let own = tokenizer.special_token_ids();
    assert_eq!(pad("").expect("there is one"), own.pad.or(own.eos));
    let error = pad("pad_token_id = 99999").expect_err("there is none");
    assert_eq!(error.to_string(), "m.toml: pad_token_id: token id 99999 is outside the vocabulary (1054 tokens)");
}

fn a_conversation_that_cannot_be_built_is_named() {
    let builder = PromptBuilder::demo().expect("it is embedded");
    let chats = ["user", "judge"].map(|role| Conversation::Messages(vec![ChatMessage::new(role, "Hi")]));
    let error = builder.build_batch(&chats).expect_err("there is no judge");
    assert!(error.to_string().starts_with("conversation 1: message 0: "), "{error}");
}
