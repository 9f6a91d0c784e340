//! Two answers to one prompt, compared, as a line of JSON.

use serde::Serialize;
use serde_json::value::RawValue;

use super::FirstDifference;
use super::answer::{Answer, AnswerKey, End};
use crate::stop::Stop;
use crate::tokenizer::{TokenId, Tokenizer};

/// How many characters are shown for each token of context, if an answer has only text.
const CHARACTERS_PER_TOKEN: usize = 4;

/// Two answers to one prompt, compared, as a line of JSON.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Comparison<'a> {
    /// The id of the prompt, as JSON.
    pub id: Box<RawValue>,
    /// Which of the repeats of its row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<usize>,
    /// Which turn of its row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// Which of several answers to one request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<usize>,
    /// Whether the answers have the same tokens and the same end. If one has only text, the same text. If a file does
    /// not have the end, it does not count. An error equals nothing.
    pub equal: bool,
    /// The file that has the answer, if the other has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_in: Option<&'a str>,
    /// None if the answers are equal, or if there is no answer on one side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<FirstDifference>,
    /// The text before the difference, the same on both sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The first file's answer, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<DifferingAnswer>,
    /// The second file's answer, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<DifferingAnswer>,
}

/// An answer, from the difference on.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct DifferingAnswer {
    /// The token at the difference. This is the stop if the answer ends there at a stop id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<TokenId>,
    /// Its text; `<E4>` for a part of a character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The text from the difference on, without the stop.
    pub text: String,
    /// Why the answer ends; none if there is no stop and the engine reported nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The stop at which it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The error that the engine reported in place of an answer, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<RawValue>>,
}

impl<'a> Comparison<'a> {
    /// An answer that the other file does not have.
    pub(super) fn only_in(file: &'a str, key: &AnswerKey, answer: &Answer) -> Self {
        Self { only_in: Some(file), ..Self::equal(key, answer) }.differing()
    }

    pub(super) fn of(key: &AnswerKey, answers: [&Answer; 2], tokenizer: &Tokenizer, context: usize) -> Self {
        let equal = Self::equal(key, answers[0]);
        if answers.iter().any(|answer| answer.end.error.is_some()) {
            let [a, b] = answers.map(|answer| Some(DifferingAnswer::new(None, answer.text.clone(), &answer.end)));
            return Self { a, b, ..equal.differing() };
        }
        let Some(difference) = FirstDifference::of(answers) else { return equal };
        let show = Shown { difference, tokenizer, context };
        let [a, b] = answers.map(|answer| Some(show.differing_answer(answer)));
        Self { first_difference: Some(difference), before: Some(show.before(answers[0])), a, b, ..equal.differing() }
    }

    fn equal(key: &AnswerKey, answer: &Answer) -> Self {
        let AnswerKey { repeat, turn, choice, .. } = *key;
        Self {
            id: answer.id.clone(),
            repeat,
            turn,
            choice,
            equal: true,
            only_in: None,
            first_difference: None,
            before: None,
            a: None,
            b: None,
        }
    }

    fn differing(self) -> Self {
        Self { equal: false, ..self }
    }
}

impl DifferingAnswer {
    fn new(token: Option<(TokenId, String)>, text: String, end: &End) -> Self {
        let (token_id, token) = token.unzip();
        let End { finish_reason, stop, error } = end.clone();
        Self { token_id, token, text, finish_reason, stop, error }
    }
}

/// How a difference is shown.
struct Shown<'t> {
    difference: FirstDifference,
    tokenizer: &'t Tokenizer,
    context: usize,
}

impl Shown<'_> {
    fn before(&self, answer: &Answer) -> String {
        match (self.difference, &answer.token_ids) {
            (FirstDifference::Token(index), Some(ids)) => self.text(&ids[index.saturating_sub(self.context)..index]),
            (FirstDifference::Token(_), None) => String::new(),
            (FirstDifference::Byte { byte }, _) => {
                let before = &answer.text[..byte];
                let start = before.char_indices().rev().take(self.characters()).last().map_or(byte, |(start, _)| start);
                before[start..].to_owned()
            }
        }
    }

    fn differing_answer(&self, answer: &Answer) -> DifferingAnswer {
        match (self.difference, &answer.token_ids) {
            (FirstDifference::Token(index), Some(ids)) => {
                let id = ids.get(index).copied().or_else(|| answer.end.stop_id());
                let token = id.map(|id| (id, self.token(id)));
                let text = self.text(&ids[index..ids.len().min(index.saturating_add(self.context))]);
                DifferingAnswer::new(token, text, &answer.end)
            }
            (FirstDifference::Token(_), None) => DifferingAnswer::new(None, String::new(), &answer.end),
            (FirstDifference::Byte { byte }, _) => {
                let text = answer.text[byte..].chars().take(self.characters()).collect();
                DifferingAnswer::new(None, text, &answer.end)
            }
        }
    }

    fn characters(&self) -> usize {
        self.context.saturating_mul(CHARACTERS_PER_TOKEN)
    }

    fn token(&self, id: TokenId) -> String {
        let bytes = self.tokenizer.token_bytes(id).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_else(|_| self.tokenizer.display_token(id))
    }

    fn text(&self, ids: &[TokenId]) -> String {
        let bytes: Vec<u8> = ids.iter().filter_map(|id| self.tokenizer.token_bytes(*id)).flatten().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
