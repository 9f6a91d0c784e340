//! A model's answers to the turns of dialogues, from a file, for the prompts of later turns.
//!
//! ```
//! use metatok::answers::ModelAnswers;
//! use metatok::input::Input;
//!
//! let lines = r#"{"id": 7, "turn": 0, "text": "Hi!"}"#;
//! let answers = ModelAnswers::read(Input::new("answers", lines.as_bytes()), None, false, 1 << 20)?;
//! assert!(answers.has("7", None, 0) && !answers.has("7", None, 1));
//! # Ok::<(), metatok::Error>(())
//! ```

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::dataset::{RowKey, TurnPlan};
use crate::digest::number;
use crate::error::{At, ErrorKind, Result, Setting, Warning, counted, way_out};
use crate::fingerprint::Fingerprint;
use crate::input::{Input, each_object, without_escapes};
use crate::server::{
    EngineAnswer, SeenSamples, gave_up, json_string, read_answers, split_request_id, without_infinities, without_run_id,
};
use crate::stop::{Stop, before_first};
use crate::tokenizer::TokenId;
use crate::turns::{Turns, UnfinishedThoughts, without_thoughts};

/// The answers by row and turn. All are kept in memory.
#[derive(Debug)]
pub struct ModelAnswers {
    by_turn: HashMap<(Asker, usize), Given>,
    strip_thoughts: bool,
    unfinished: UnfinishedThoughts,
    /// A hash of the file's answers.
    digest: String,
}

/// An answer of the file.
#[derive(Debug)]
struct Given {
    answer: RecordedAnswer,
    /// How many came before it.
    number: usize,
    is_used: AtomicBool,
}

/// Which row it answers: the row's id as JSON, and its repeat.
pub(crate) type Asker = (String, Option<usize>);

/// A model's answer in a file of answers.
#[derive(Debug)]
pub(crate) struct RecordedAnswer {
    pub(crate) turn: Option<usize>,
    /// With the ids from the stop on, if it ends at one.
    pub(crate) token_ids: Option<Vec<TokenId>>,
    pub(crate) text: Option<String>,
    /// The stop at which it ended.
    pub(crate) stop: Option<Stop>,
    /// Whether there is an error in place of an answer.
    pub(crate) is_failed: bool,
    /// Its id as it is, if the repeat or the turn was read from it: a row's own id may look so.
    pub(crate) request_id: Option<String>,
}

impl RecordedAnswer {
    /// A hash of all that it says, and to whom.
    fn hash_of(&self, asker: &Asker) -> u64 {
        let Self { turn, token_ids, text, stop, is_failed, request_id } = self;
        number(&json!([asker, turn, token_ids, text, stop, is_failed, request_id]))
    }

    /// Answers the turn that is generated next.
    fn give(&self, turns: &mut Turns) -> Result<()> {
        let turn = turns.plan().turn().unwrap_or_default();
        let stop = self.stop.as_ref();
        let given = match (&self.token_ids, &self.text) {
            (Some(ids), _) => turns.answer_generated(ids, stop),
            (None, Some(text)) => {
                let builder = turns.builder();
                let token = |id| builder.tokenizer().added_token(id).map(|token| &*token.content);
                turns.answer_text(self.before_stop(text, builder.stop().in_text(builder.tokenizer()), token));
                Ok(())
            }
            (None, None) => {
                turns.fail();
                Ok(())
            }
        };
        given.at(format_args!("the answer to turn {turn}"))
    }

    /// A text of it up to the first of these strings, or the stop at which it ended. The text of a stop id is that of an added
    /// `token`: that of another token may be a part of others.
    fn before_stop<'t, 's>(
        &'s self,
        text: &'t str,
        strings: impl Iterator<Item = &'s str>,
        token: impl Fn(TokenId) -> Option<&'s str>,
    ) -> &'t str {
        let own = match &self.stop {
            Some(Stop::String { string }) => Some(&**string),
            Some(Stop::Token { token_id, .. }) => token(*token_id),
            None => None,
        };
        before_first(text, strings.chain(own))
    }
}

/// Reads the lines of a file of answers, in any of [`ANSWER_FORMATS`](crate::server::ANSWER_FORMATS), and passes on
/// each answer. Ids are those of rows, without the run's. Returns a hash of the answers, whatever their order and
/// however the file spells them.
pub(crate) fn each_answer(
    input: Input,
    run_id: Option<&str>,
    longest: usize,
    mut visit: impl FnMut(Asker, RecordedAnswer) -> Result<()>,
) -> Result<String> {
    let mut sum = 0u64;
    let mut seen = SeenSamples::default();
    each_object(vec![input], longest, |place, line| {
        let placed = |error| place.of_error(error);
        let line = line.map_err(placed)?;
        if seen.has(place.input(), line) {
            return Ok(ControlFlow::Continue(()));
        }
        let read = |line: &str| read_answers(line)?.into_iter().map(|answer| asked(answer, run_id)).collect();
        let answers: Vec<(Asker, RecordedAnswer)> = without_infinities(line, read).map_err(placed)?;
        for (asker, answer) in answers {
            sum = sum.wrapping_add(answer.hash_of(&asker));
            visit(asker, answer).map_err(placed)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(format!("{sum:016x}"))
}

fn asked(mut answer: EngineAnswer<'_>, run_id: Option<&str>) -> Result<(Asker, RecordedAnswer)> {
    if answer.choice.is_some() {
        let what = "there are several answers to one request; keep one of them";
        return Err(ErrorKind::Invalid(what.into()).into());
    }
    answer.id = answer.id.map(|id| without_run_id(&id, run_id).map_or(id, Cow::Owned));
    let (asker, turn) = asker(&answer)?;
    let id = answer.id.as_ref().map(|id| without_escapes(id.get()));
    let request_id = id.filter(|id| **id != *asker.0).map(Cow::into_owned);
    if answer.error.is_some() || answer.finish_reason.as_deref().is_some_and(gave_up) {
        return Ok((
            asker,
            RecordedAnswer { turn, token_ids: None, text: None, stop: None, is_failed: true, request_id },
        ));
    }
    let stop = answer.own_stop();
    // Without a stop, these are padding.
    let tail = if stop.is_some() { &*answer.tail } else { &[] };
    let token_ids = answer.generated_ids().map(|ids| [ids, tail].concat());
    Ok((asker, RecordedAnswer { turn, token_ids, text: answer.text, stop, is_failed: false, request_id }))
}

/// The row and the turn of an answer. Its id may be that of a request, which contains the turn and the repeat too.
pub(crate) fn asker(answer: &EngineAnswer<'_>) -> Result<(Asker, Option<usize>)> {
    let Some(id) = &answer.id else {
        return Err(ErrorKind::Invalid("the answer has no id, so its prompt is unknown".into()).with_way_out(
            way_out!["write the id into the line, as \"id\", or trim the answers with ", Setting::REQUESTS],
        ));
    };
    let EngineAnswer { repeat, turn, .. } = *answer;
    let request = serde_json::from_str::<String>(id.get()).ok().filter(|_| repeat.is_none() && turn.is_none());
    Ok(match request.as_deref().map(split_request_id) {
        Some((id, repeat, turn)) => ((json_string(id).get().to_owned(), repeat), turn),
        None => ((without_escapes(id.get()).into_owned(), repeat), turn),
    })
}

/// Looks up a row by its id and repeat, or by its id as a string.
pub(crate) fn of_row<'m, T>(
    (id, repeat): (&str, Option<usize>),
    find: impl Fn(&Asker) -> Option<&'m T>,
) -> Option<&'m T> {
    find(&(id.to_owned(), repeat)).or_else(|| find(&(string_id(id).into_owned(), repeat)))
}

/// An id, as JSON, after a server returned it: servers turn ids into strings.
pub(crate) fn string_id(id: &str) -> Cow<'_, str> {
    if id.starts_with('"') { id.into() } else { format!("\"{id}\"").into() }
}

impl ModelAnswers {
    /// Reads JSON lines of `id` (and `repeat`), as prompts have them, `turn`, and `token_ids`, `text` or `error`. The
    /// `run_id` is removed from the front of ids. With `strip_thoughts`, a model's thoughts are removed from its
    /// answers.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] and [`ErrorKind::Invalid`] with the place: a line that is not an answer, a turn that is
    /// answered twice.
    pub fn read(input: Input, run_id: Option<&str>, strip_thoughts: bool, max_line_bytes: usize) -> Result<Self> {
        let (mut by_turn, mut unfinished) = (HashMap::new(), UnfinishedThoughts::default());
        let digest = each_answer(input, run_id, max_line_bytes, |asker, answer| {
            let no_turn = || ErrorKind::Invalid("an answer to a turn must have the turn's number, \"turn\"".into());
            let turn = answer.turn.ok_or_else(no_turn)?;
            let id = asker.0.clone();
            if strip_thoughts {
                unfinished.see(answer.text.as_deref().unwrap_or_default(), &id);
            }
            let given = Given { answer, number: by_turn.len(), is_used: AtomicBool::new(false) };
            match by_turn.insert((asker, turn), given) {
                Some(_) => Err(twice(&format!("turn {turn} of id {id}"))),
                None => Ok(()),
            }
        })?;
        Ok(Self { by_turn, strip_thoughts, unfinished, digest })
    }

    /// Whether there is an answer to a turn of the row with this id, as JSON.
    pub fn has(&self, id: &str, repeat: Option<usize>, turn: usize) -> bool {
        self.get((&without_escapes(id), repeat), turn).is_some()
    }

    /// Whether a model's thoughts are removed from its answers.
    pub fn strips_thoughts(&self) -> bool {
        self.strip_thoughts
    }

    /// With what these answers change in prompts.
    pub(crate) fn fingerprint(&self, fingerprint: Fingerprint) -> Fingerprint {
        let fingerprint = fingerprint.with("answers", self.digest.as_str());
        if self.strip_thoughts { fingerprint.with("strip_thoughts", true) } else { fingerprint }
    }

    fn get(&self, row: (&str, Option<usize>), turn: usize) -> Option<&RecordedAnswer> {
        let given = of_row(row, |asker| self.by_turn.get(&(asker.clone(), turn)))?;
        given.is_used.store(true, Ordering::Relaxed);
        Some(&given.answer)
    }

    /// A note about answers that nothing asked for so far: of other rows, or of turns that rows do not have.
    pub fn unused(&self) -> Option<Warning> {
        // The turns after an error have errors too, and are never asked for.
        let is_unused = |given: &Given| !given.answer.is_failed && !given.is_used.load(Ordering::Relaxed);
        let unused = self.by_turn.iter().filter(|(_, given)| is_unused(given));
        let (((id, _), turn), _) = unused.clone().min_by_key(|(_, given)| given.number)?;
        let turn = format!("turn of these rows, the first one to turn {turn} of id {id}");
        Some(of_no(&turn, unused.count()))
    }

    /// A note about answers of which nothing is left without their thoughts. Of answers without a text nothing is known.
    pub fn unfinished_thoughts(&self) -> Option<Warning> {
        self.unfinished.warning()
    }

    /// Answers the turn of a row that is generated next, if there is an answer to it.
    ///
    /// # Errors
    /// The same as for [`Turns::answer_ids`], with the turn.
    pub fn answer(&self, row: &RowKey, turns: &mut Turns) -> Result<bool> {
        let answer = turns.plan().turn().and_then(|turn| self.get((row.id.get(), row.repeat), turn));
        answer.map_or(Ok(false), |answer| answer.give(turns).map(|()| true))
    }

    /// Answers the turn of a row that is generated next as messages, which need text. It ends at the first of these strings.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] for an answer with token ids only.
    pub fn answer_messages(&self, row: &RowKey, plan: &mut TurnPlan, stop_strings: &[String]) -> Result<bool> {
        let Some((turn, answer)) =
            plan.turn().and_then(|turn| Some((turn, self.get((row.id.get(), row.repeat), turn)?)))
        else {
            return Ok(false);
        };
        match answer {
            RecordedAnswer { text: Some(text), .. } => {
                let text = answer.before_stop(text, stop_strings.iter().map(String::as_str), |_| None);
                plan.answer(if self.strip_thoughts { without_thoughts(text) } else { text });
            }
            RecordedAnswer { is_failed: true, .. } => plan.fail(),
            RecordedAnswer { .. } => {
                let what = "it has token ids but no text, which messages need; add its text";
                return Err(ErrorKind::Row(what.into())).at(format_args!("the answer to turn {turn}"));
            }
        }
        Ok(true)
    }
}

/// A note that this many answers belong to no row or turn.
pub(crate) fn of_no(asker: &str, count: usize) -> Warning {
    let belong = if count == 1 { "belongs" } else { "belong" };
    Warning::new("unused-answer", format!("{} {belong} to no {asker}", counted(count as u64, "answer")))
}

/// The error for an answer that already exists.
pub(crate) fn twice(to: &str) -> crate::Error {
    ErrorKind::Invalid(format!("there are two answers to {to}")).into()
}

#[cfg(test)]
mod tests {
    use super::ModelAnswers;
    use crate::input::Input;

    #[test]
    fn the_digest_depends_on_answers_and_not_on_their_spelling() {
        let digest = |lines: &'static str| {
            let input = Input::new("answers", lines.as_bytes());
            ModelAnswers::read(input, None, false, 1 << 20).expect("they are answers").digest
        };
        let two = digest("{\"id\": 0, \"turn\": 0, \"text\": \"a\"}\n{\"id\": 1, \"turn\": 0, \"token_ids\": [1]}\n");
        for (lines, is_same) in [
            ("{\"text\":\"\\u0061\",\"turn\":0,\"id\":0}\r\n{\"id\":1,\"turn\":0,\"token_ids\":[1]}\r\n", true),
            ("{\"id\": 1, \"turn\": 0, \"token_ids\": [1]}\n{\"id\": 0, \"turn\": 0, \"text\": \"a\"}", true),
            ("{\"id\": 0, \"turn\": 0, \"text\": \"b\"}\n{\"id\": 1, \"turn\": 0, \"token_ids\": [1]}\n", false),
            ("{\"id\": 1, \"turn\": 0, \"text\": \"a\"}\n{\"id\": 0, \"turn\": 0, \"token_ids\": [1]}\n", false),
            ("{\"id\": 0, \"turn\": 0, \"text\": \"a\"}\n{\"id\": 1, \"turn\": 1, \"token_ids\": [1]}\n", false),
            ("{\"id\": 0, \"turn\": 0, \"text\": \"a\"}\n", false),
        ] {
            assert_eq!(digest(lines) == two, is_same, "{lines}");
        }
    }
}
