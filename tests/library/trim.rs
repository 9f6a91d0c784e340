//! Trimming equals decoding everything and searching it, on every tokenizer, finished or while it streams.

use metatok::error::Fault;
use metatok::stop::{FinishReason, StopCriteria, StopSource, without_echo};
use metatok::trim::{AnswerTrimmer, TrimOptions};
use metatok::{Completion, PromptBuilder, TokenId, Trimmer};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::harness::{Tests, tests};
use crate::laws;
use crate::subjects::{self, SUBJECTS, Subject};

pub(crate) fn tests() -> Tests {
    tests![
        as_decoding_everything_and_searching,
        the_stop_may_stay,
        padding_and_echo_are_left_out,
        an_id_that_does_not_exist_is_named
    ]
}

/// The bytes of each token, of special ones none.
fn bytes(subject: &Subject, id: TokenId) -> Vec<u8> {
    let is_special = subject.fast.added_tokens().any(|token| token.id == id && token.special);
    if is_special { Vec::new() } else { subject.fast.token_bytes(id).expect("it exists") }
}

/// Everything is decoded, and every end is tried with every stop. None where an id before the stop does not exist.
fn oracle(
    subject: &Subject,
    ids: &[TokenId],
    stops: &[TokenId],
    strings: &[String],
    include_stop: bool,
) -> Option<(Vec<TokenId>, String, FinishReason)> {
    let mut text = Vec::new();
    let mut ends = vec![0];
    let text_of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for (i, &id) in ids.iter().enumerate() {
        if stops.contains(&id) {
            let kept = if include_stop { i + 1 } else { i };
            if include_stop {
                text.extend(subject.fast.token_bytes(id).unwrap_or_default());
            }
            return Some((ids[..kept].to_vec(), text_of(&text), FinishReason::StopToken(id)));
        }
        subject.fast.id_to_token(id)?;
        let start = text.len();
        text.extend(bytes(subject, id));
        for end in start + 1..=text.len() {
            let ended = |string: &&String| text[..end].ends_with(string.as_bytes());
            if let Some(longest) = strings.iter().filter(ended).max_by_key(|string| string.len()) {
                let index = strings.iter().position(|string| string == longest).expect("it is one of them");
                if include_stop {
                    return Some((ids[..=i].to_vec(), text_of(&text[..end]), FinishReason::StopString(index)));
                }
                let cut = end - longest.len();
                let kept = ends.iter().rposition(|&end| end <= cut).expect("the first is 0");
                return Some((ids[..kept].to_vec(), text_of(&text[..cut]), FinishReason::StopString(index)));
            }
        }
        ends.push(text.len());
    }
    Some((ids.to_vec(), text_of(&text), FinishReason::Length))
}

/// Ids, where in their text stop strings are taken from, a stop among the ids, ids that do not exist and where they come, and
/// whether the stop stays.
type Trial = (Vec<Index>, Vec<(Index, usize)>, Option<Index>, Vec<(u32, Index)>, bool);

fn as_decoding_everything_and_searching() {
    let trial = (
        prop::collection::vec(any::<Index>(), 0..30),
        prop::collection::vec((any::<Index>(), 1..6_usize), 0..4),
        prop::option::weighted(0.3, any::<Index>()),
        prop::collection::vec((0..3_u32, any::<Index>()), 0..3),
        any::<bool>(),
    );
    for subject in SUBJECTS.iter() {
        let known: Vec<TokenId> =
            (0..subject.fast.vocab_size() as TokenId).filter(|&id| subject.fast.id_to_token(id).is_some()).collect();
        let any_stops = Trimmer::new(&StopCriteria::default(), &subject.fast).expect("there are none");
        let config = laws::cases(100);
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let outcome = runner.run(&trial, |trial: Trial| {
            let mut ids: Vec<TokenId> = trial.0.iter().map(|index| known[index.index(known.len())]).collect();
            let text: String =
                String::from_utf8_lossy(&ids.iter().flat_map(|&id| bytes(subject, id)).collect::<Vec<_>>())
                    .into_owned();
            let characters: Vec<char> = text.chars().filter(|c| *c != char::REPLACEMENT_CHARACTER).collect();
            let mut criteria = StopCriteria::default();
            for (at, length) in &trial.1 {
                if !characters.is_empty() {
                    let at = at.index(characters.len());
                    criteria
                        .add_string(&characters[at..(at + length).min(characters.len())].iter().collect::<String>());
                }
            }
            let size = subject.fast.vocab_size() as TokenId;
            let beyond = [size, size + 271, TokenId::MAX];
            for (id, at) in &trial.3 {
                ids.insert(at.index(ids.len() + 1), beyond[*id as usize]);
            }
            // Of these the first is no stop.
            beyond[1..].iter().for_each(|&id| criteria.add_id(id, StopSource::GenerationConfig));
            if let (Some(index), false) = (trial.2, ids.is_empty()) {
                criteria.add_id(ids[index.index(ids.len())], StopSource::User);
            }
            let stops: Vec<TokenId> = criteria.stop_token_ids().collect();
            let trimmer = any_stops.with_criteria(&criteria).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let trimmer = trimmer.include_stop(trial.4);
            let Some((token_ids, text, finish_reason)) = oracle(subject, &ids, &stops, criteria.strings(), trial.4)
            else {
                let (mut stream, mut streamed) = (trimmer.stream(), String::new());
                let refused = ids.iter().find_map(|&id| stream.push(id, &mut streamed).err());
                let refused = refused.map(|error| error.to_string());
                prop_assert!(refused.is_some());
                prop_assert_eq!(trimmer.complete(&ids).err().map(|error| error.to_string()), refused);
                return Ok(());
            };
            let completion = trimmer.complete(&ids).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(
                (&completion.token_ids, &completion.text, completion.finish_reason),
                (&token_ids, &text, finish_reason)
            );
            let stop_sources = completion.stop_sources().to_vec();
            prop_assert_eq!([completion.token_ids, completion.tail].concat(), ids.clone());

            let (mut stream, mut streamed) = (trimmer.stream(), String::new());
            for &id in &ids {
                let ended = stream.push(id, &mut streamed).map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert!(text.starts_with(&streamed), "{streamed:?} is no beginning of {text:?}");
                if ended.is_some() {
                    break;
                }
            }
            prop_assert_eq!((stream.finish(&mut streamed), streamed), (finish_reason, text));
            prop_assert_eq!(stream.finish(&mut String::new()), finish_reason);
            if finish_reason != FinishReason::Length {
                prop_assert_eq!(stream.token_ids(), token_ids);
            }
            prop_assert_eq!(stream.stop_sources(), stop_sources);
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{}: {error}", subject.name);
        }
    }
}

fn trimmer(strings: &[&str]) -> Trimmer {
    let subject = subjects::subject("demo");
    let mut criteria = StopCriteria::default();
    criteria.add_id(1052, StopSource::RoleEnd);
    strings.iter().for_each(|string| criteria.add_string(string));
    Trimmer::new(&criteria, &subject.fast).expect("they are few")
}

fn completed(trimmer: &Trimmer, ids: &[TokenId]) -> Completion {
    trimmer.complete(ids).unwrap_or_else(|error| panic!("{error}"))
}

fn the_stop_may_stay() {
    let ids = subjects::subject("demo").fast.encode("Mars.\nUser: and").expect("it encodes");
    let apart = completed(&trimmer(&["User:"]), &ids);
    assert_eq!((&*apart.text, apart.finish_reason), ("Mars.\n", FinishReason::StopString(0)));
    let kept = completed(&trimmer(&["User:"]).include_stop(true), &ids);
    assert_eq!(kept.text, "Mars.\nUser:");
    let by_id = completed(&trimmer(&[]).include_stop(true), &[44, 695, 1052, 44]);
    assert_eq!((&*by_id.token_ids, &*by_id.text, &*by_id.tail), (&[44, 695, 1052][..], "Mars<|im_end|>", &[44][..]));
}

fn padding_and_echo_are_left_out() {
    let trimmer = trimmer(&[]).pad_token_id(Some(1053));
    let completion = completed(&trimmer, &[44, 695, 1053, 1053]);
    assert_eq!(
        (&*completion.token_ids, &*completion.text, &*completion.tail),
        (&[44, 695][..], "Mars", &[1053, 1053][..])
    );
    assert_eq!(completion.finish_reason, FinishReason::Length);
    for (prompt, ids, generated) in [
        (&[1, 2][..], &[1, 2, 44][..], &[44][..]),
        (&[1, 2], &[44], &[44]),
        (&[1, 2], &[0, 0, 0, 1, 2, 44], &[44]),
        (&[0, 1, 2], &[0, 0, 0, 1, 2, 44], &[44]),
        (&[0, 0], &[0, 0, 0], &[0]),
        (&[], &[0, 0, 44], &[0, 0, 44]),
        (&[1, 2], &[0, 5, 1, 2, 44], &[0, 5, 1, 2, 44]),
    ] {
        assert_eq!(without_echo(prompt, ids), generated, "{prompt:?} before {ids:?}");
    }
}

fn an_id_that_does_not_exist_is_named() {
    let demo = PromptBuilder::demo().expect("the demo");
    let answers = AnswerTrimmer::new(&demo, TrimOptions::default()).expect("its stops");
    for error in [
        demo.complete(&[44, 99_999]).err(),
        demo.tokenizer().decode(&[44, 99_999], false).err(),
        answers.trim(r#"{"token_ids": [44, 99999]}"#).err(),
    ] {
        let error = error.expect("there are not so many");
        assert!(error.to_string().ends_with("token id 99999 is outside the vocabulary (1054 tokens)"), "{error}");
        assert_eq!(error.fault(), Fault::Input);
    }
}
