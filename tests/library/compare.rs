//! Comparing answers finds the first token that differs, whatever the answers, and whichever file comes first.

use std::ops::ControlFlow;

use metatok::compare::{AnswerComparer, CompareTotals, FirstDifference};
use metatok::input::Input;
use metatok::{PromptBuilder, TokenId};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::harness::{Tests, tests};
use crate::laws;

pub(crate) fn tests() -> Tests {
    tests![the_first_token_that_differs_is_found]
}

/// Ids of the demo below its stops.
const IDS: TokenId = 1000;

fn lines(answers: &[Vec<TokenId>]) -> String {
    let lines = answers.iter().enumerate().map(|(id, ids)| json!({"id": id, "token_ids": ids}).to_string() + "\n");
    lines.collect()
}

fn compare(comparer: &AnswerComparer, a: &str, b: &str) -> metatok::Result<(CompareTotals, Vec<Value>)> {
    let input = |name: &str, text: &str| Input::new(name, std::io::Cursor::new(text.to_owned()));
    let mut comparisons = Vec::new();
    let a = comparer.read(input("a", a), 1 << 20)?;
    let totals = comparer.compare(a, input("b", b), 1 << 20, |comparison| {
        comparisons.push(serde_json::to_value(comparison).map_err(std::io::Error::from)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((totals, comparisons))
}

fn the_first_token_that_differs_is_found() {
    let comparer = PromptBuilder::demo().and_then(|builder| AnswerComparer::new(&builder)).expect("it is embedded");
    let answers = prop::collection::vec(prop::collection::vec(0..IDS, 1..20), 1..6);
    let trial = (answers, any::<Index>(), any::<Index>(), 1..IDS);
    let config = laws::cases(200);
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&trial, |(answers, row, token, by)| {
        let failed = |error: metatok::Error| TestCaseError::fail(error.to_string());
        let same = lines(&answers);
        let (totals, _) = compare(&comparer, &same, &same).map_err(failed)?;
        prop_assert!(totals.is_equal() && totals.equal == answers.len() as u64, "{totals:?}");

        let row = row.index(answers.len());
        let token = token.index(answers[row].len());
        let mut changed = answers.clone();
        changed[row][token] = (changed[row][token] + by) % IDS;
        let changed = lines(&changed);
        let (totals, there) = compare(&comparer, &same, &changed).map_err(failed)?;
        prop_assert_eq!((totals.differ, &*totals.tokens), (1, &[token][..]));
        prop_assert_eq!(&there[row]["first_difference"], &json!(FirstDifference::Token(token)));

        let (back_totals, back) = compare(&comparer, &changed, &same).map_err(failed)?;
        prop_assert_eq!(back_totals, totals);
        for (there, back) in there.iter().zip(&back) {
            prop_assert_eq!((&there["a"], &there["b"]), (&back["b"], &back["a"]));
            prop_assert_eq!((&there["id"], &there["before"]), (&back["id"], &back["before"]));
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
