//! The answers to all repeats of a row as one: the most frequent of them.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::compare::AnswerKey;
use crate::error::{ErrorKind, Result};
use crate::score::{Score, ScoredAnswer, Tally};

/// What the answers to each row say. The answer of a row is the most frequent of them. If answers tie, it is the first, as
/// with `sc_size` in OpenCompass. Answers in which nothing is found have no vote, nor have those that failed.
///
/// ```
/// use metatok::score::{Compare, ScoredAnswer, Scorer, Votes};
///
/// let (scorer, mut votes) = (Scorer::new(Compare::Number), Votes::default());
/// for (repeat, text) in ["It is 17.", "18", "That makes 18."].iter().enumerate() {
///     let line = format!(r#"{{"id": 7, "repeat": {repeat}, "columns": {{"answer": "18"}}, "text": "{text}"}}"#);
///     let answer = ScoredAnswer::read(&line)?;
///     votes.add(&answer, scorer.score_answer(&answer, "answer")?)?;
/// }
/// assert_eq!((votes.tally().answers, votes.tally().correct), (1, 1));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Votes {
    /// By row, what its answers say.
    rows: HashMap<AnswerKey, HashMap<Option<Score>, Vote>>,
}

/// How many answers say the same, and how many others were said before.
#[derive(Debug)]
struct Vote {
    count: u64,
    before: usize,
}

impl Votes {
    /// Adds an answer with its score, which is none if it failed.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an answer without an id.
    pub fn add(&mut self, answer: &ScoredAnswer, score: Option<Score>) -> Result<()> {
        let no_id = || ErrorKind::Invalid("there is no \"id\", by which the answers to a row are found".into());
        let votes = self.rows.entry(answer.key_of_row().ok_or_else(no_id)?).or_default();
        let before = votes.len();
        votes.entry(score).or_insert(Vote { count: 0, before }).count += 1;
        Ok(())
    }

    /// How many rows are answered right. A row failed if all its answers did.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        self.rows.values().for_each(|votes| tally.add(chosen(votes)));
        tally
    }
}

fn chosen(votes: &HashMap<Option<Score>, Vote>) -> Option<&Score> {
    let has_vote = |score: &Option<Score>| score.as_ref().map(|score| score.found.is_some());
    let (score, _) = votes.iter().max_by_key(|(score, vote)| (has_vote(score), vote.count, Reverse(vote.before)))?;
    score.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_votes_count_and_of_equal_ones_the_first() {
        let found = |text: &str| Some(Score { found: Some(text.to_owned()), is_correct: text == "A" });
        let nothing = || Some(Score { found: None, is_correct: false });
        for (votes, expected) in [
            (vec![found("B"), found("A"), found("A")], found("A")),
            (vec![found("B"), found("A")], found("B")),
            (vec![nothing(), nothing(), None, None, None, found("A")], found("A")),
            (vec![None, nothing(), None], nothing()),
            (vec![None, None], None),
        ] {
            let mut all = Votes::default();
            for (repeat, score) in votes.iter().enumerate() {
                let line = format!(r#"{{"id": "a", "repeat": {repeat}, "text": ""}}"#);
                all.add(&ScoredAnswer::read(&line).expect("it is one"), score.clone()).expect("it has an id");
            }
            let mut tally = Tally::default();
            tally.add(expected.as_ref());
            assert_eq!(all.tally(), tally, "{votes:?}");
        }
    }
}
