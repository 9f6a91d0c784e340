//! The texts to score of a dataset's rows, with an engine's likelihood of each: the answer is a row's most likely
//! label.
//!
//! OpenCompass: `icl_ppl_inferencer.py`, `icl_ll_inferencer.py`, and `_get_ppl` and `_get_loglikelihood` of
//! `huggingface.py`.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde_json::value::RawValue;

use crate::error::{At, Error, ErrorKind, Place, Result, Setting, way_out};
use crate::input::{Input, each_object};
use crate::score::labeled_row::{Label, LabeledRow};
use crate::score::text_to_score::{TextLine, TextToScore};
use crate::score::{LogLikelihood, NormalizeBy, PickedLabel};
use crate::server::{
    EngineAnswer, gave_up, read_answers, split_label, split_request_id, without_infinities, without_run_id,
};

/// The texts to score of a dataset's rows. All are kept in memory, five bytes for each token.
///
/// ```
/// use metatok::input::Input;
/// use metatok::score::{LogLikelihoods, TextsToScore};
///
/// let texts = r#"{"id": 7, "label": "yes", "input_ids": [5, 8], "labels": [5, 8], "columns": {"answer": "no"}}
/// {"id": 7, "label": "no", "input_ids": [5, 9], "labels": [5, 9], "columns": {"answer": "no"}}"#;
/// let texts = TextsToScore::read(Input::new("texts", texts.as_bytes()), 1 << 20)?;
///
/// let mut found = LogLikelihoods::default();
/// let answer = |label: usize, id: u32, logprob: f64| format!(
///     r#"{{"id": "cmpl-7-label-{label}", "choices": [{{"text": "", "prompt_logprobs": [null, {{"{id}": {{"logprob": {logprob}}}}}]}}]}}"#
/// );
/// found.add(&texts, &answer(1, 9, -1.0), None)?;
/// found.add(&texts, &answer(0, 8, -3.0), None)?;
/// let picked: Vec<_> = texts.picked(&found).collect();
/// assert_eq!(picked[0].label(), Some("no"));
/// assert_eq!(picked[0].answer().references("answer")?, ["no"]);
/// assert_eq!(picked[0].scores[0].score, Some(1.5));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct TextsToScore {
    rows: Vec<LabeledRow>,
    by_row: HashMap<RowName, usize>,
    normalize_by: Option<NormalizeBy>,
}

/// A row's id as text, as it is in the ids of requests, and its repeat.
type RowName = (String, Option<usize>);

/// Which text it is: the row, its label, and whether it is the normalizing one.
type TextPlace = (usize, usize, bool);

/// The likelihoods of texts to score; none for those that the engine failed at.
#[derive(Debug, Default)]
pub struct LogLikelihoods(HashMap<TextPlace, Option<LogLikelihood>>);

impl TextsToScore {
    /// Reads what `metatok build` wrote with labels in the form `ids`: lines of `id`, `label`, `input_ids` and
    /// `labels`, and `repeat`, `normalizing` and `columns`.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] and [`ErrorKind::Invalid`] with the place: a line without labels, an empty file.
    pub fn read(input: Input, max_line_bytes: usize) -> Result<Self> {
        let (name, mut texts) = (input.name().to_owned(), Self::default());
        each_object(vec![input], max_line_bytes, |place, line| {
            line.and_then(|line| texts.push(TextLine::read(line)?)).map_err(|error| place.of_error(error))?;
            Ok(ControlFlow::Continue(()))
        })?;
        if texts.rows.is_empty() {
            return Err(ErrorKind::Parse("it contains no texts to score".into())).at(Place::file(name));
        }
        Ok(texts)
    }

    /// Divides the likelihoods of labels by their lengths before they are compared.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the row's id: all tokens of its texts are scored, or one of its labels is empty.
    pub fn normalized_by(self, by: NormalizeBy) -> Result<Self> {
        for row in &self.rows {
            row.check_normalizes(by).at(format_args!("id {}", row.id))?;
        }
        Ok(Self { normalize_by: Some(by), ..self })
    }

    fn push(&mut self, line: TextLine<'_>) -> Result<()> {
        let row = *self.by_row.entry((text_of(line.id), line.repeat)).or_insert(self.rows.len());
        if row == self.rows.len() {
            self.rows.push(LabeledRow::of(&line));
        }
        self.rows[row].push(line)
    }

    /// The row and the label of a request's id, and its text.
    fn find(&self, id: &str) -> Result<(TextPlace, &TextToScore)> {
        let (row, label, is_normalizing) = split_label(id);
        let Some(label) = label else {
            let what =
                format!("{id:?} is not the id of a text to score: it does not end with a label, as in \"0-label-1\"");
            return Err(ErrorKind::Invalid(what).with_way_out("send the texts as requests for vLLM or SGLang"));
        };
        // A row's own id may look like that of a request.
        let whole = self.by_row.get(&(row.to_owned(), None)).copied();
        let (name, repeat, _) = split_request_id(row);
        let row = whole.or_else(|| self.by_row.get(&(name.to_owned(), repeat)).copied());
        let found = row.and_then(|row| {
            let text = self.rows[row].text(label, is_normalizing)?;
            Some(((row, label, is_normalizing), text))
        });
        found.ok_or_else(|| {
            ErrorKind::Invalid(format!("there is no text {id:?} among the texts to score"))
                .with_way_out(way_out!["if the id begins with a run's, name it with ", Setting::RUN_ID])
        })
    }

    /// The label of each row, in their order, by the likelihoods of its texts.
    pub fn picked<'t>(&'t self, found: &'t LogLikelihoods) -> impl Iterator<Item = PickedLabel<'t>> {
        self.rows.iter().enumerate().map(|(number, row)| {
            let rule = row.rule(self.normalize_by);
            let of = |label, is_normalizing| found.of(number, label, is_normalizing);
            let score = |(at, label): (usize, &Label)| rule.score(&label.name, of(at, false)?, of(at, true));
            PickedLabel::new(row, rule, row.labels.iter().enumerate().map(score))
        })
    }
}

impl LogLikelihoods {
    fn of(&self, row: usize, label: usize, is_normalizing: bool) -> Option<LogLikelihood> {
        *self.0.get(&(row, label, is_normalizing))?
    }

    /// Reads a line of answers in any of [`ANSWER_FORMATS`](crate::server::ANSWER_FORMATS), to requests with the ids
    /// that [`PromptKey`](crate::sink::PromptKey)s have. The `run_id` is removed from the front of ids.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] and [`ErrorKind::Invalid`]: an answer to no text or a second one, other ids than the
    /// text's, a scored token without its log-probability.
    pub fn add(&mut self, texts: &TextsToScore, line: &str, run_id: Option<&str>) -> Result<()> {
        without_infinities(line, |line| {
            read_answers(line)?.into_iter().try_for_each(|answer| self.add_answer(texts, &answer, run_id))
        })
    }

    fn add_answer(&mut self, texts: &TextsToScore, answer: &EngineAnswer<'_>, run_id: Option<&str>) -> Result<()> {
        let Some(id) = &answer.id else {
            return Err(ErrorKind::Invalid("the answer has no id, so its prompt is unknown".into()).into());
        };
        let id = without_run_id(id, run_id).map_or_else(|| text_of(id), |id| text_of(&id));
        let (place, text) = texts.find(&id)?;
        let is_failed = answer.error.is_some() || answer.finish_reason.as_deref().is_some_and(gave_up);
        let found = match &answer.prompt_logprobs {
            _ if is_failed => None,
            Some(logprobs) => Some(text.log_likelihood(logprobs).at(format_args!("the answer to {id}"))?),
            None => return Err(no_logprobs(&id)),
        };
        match self.0.insert(place, found) {
            None => Ok(()),
            Some(_) => Err(ErrorKind::Invalid(format!("there are two answers to {id}")).into()),
        }
    }
}

/// An id as text, whether it is a string or a number.
fn text_of(id: &RawValue) -> String {
    serde_json::from_str(id.get()).unwrap_or_else(|_| id.get().to_owned())
}

fn no_logprobs(id: &str) -> Error {
    let what = format!("the answer to {id} has no log-probabilities of the prompt's tokens");
    ErrorKind::Invalid(what)
        .with_way_out("request them with `prompt_logprobs` (vLLM) or `logprob_start_len` (SGLang), as the requests of `metatok build` do")
}
