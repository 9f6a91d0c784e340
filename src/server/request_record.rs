//! What a request says that its answer may not repeat: whose prompt it has.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{ErrorKind, Result};
use crate::input::{from_json, without_escapes};
use crate::server::EngineAnswer;
use crate::server::raw_object::RawObject;
use crate::server::request_id::{json_string, row_of_request};

/// A request of any form.
#[derive(Debug, Clone)]
pub(crate) struct RequestRecord {
    id: Box<RawValue>,
    repeat: Option<usize>,
    turn: Option<usize>,
    columns: Option<Arc<RawValue>>,
    /// Whether its answer repeats the id.
    is_repeated: bool,
    /// How many answers it asks for that come one by one.
    count: usize,
    /// Which of these, if there are several.
    choice: Option<usize>,
}

/// More answers to one request than any server gives.
const MOST_ANSWERS: usize = 1 << 16;

/// The keys of a request's id, and whether servers repeat it in the answer.
const IDS: [(&str, bool); 5] =
    [("custom_id", true), ("request_id", true), ("rid", true), ("id", false), ("user", false)];

impl RequestRecord {
    /// Reads a request.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] if it is no object of JSON; [`ErrorKind::Invalid`] if it has no id.
    pub(crate) fn read(json: &str) -> Result<Self> {
        let object: RawObject<'_> = from_json(json)?;
        let id = IDS.iter().find_map(|(key, is_repeated)| object.raw(key).map(|id| (id, *is_repeated)));
        let Some((id, is_repeated)) = id else {
            let names: Vec<&str> = IDS.iter().map(|(key, _)| *key).collect();
            let what = format!("this request has no id; the keys of ids are {}", names.join(", "));
            return Err(ErrorKind::Invalid(what).into());
        };
        Ok(Self {
            id: id.to_owned(),
            repeat: object.get_own("repeat"),
            turn: object.get_own("turn"),
            columns: object.raw("columns").map(|columns| columns.to_owned().into()),
            is_repeated,
            count: count(&object),
            choice: None,
        })
    }

    /// The request once for each of the answers that come one by one.
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        let count = self.count;
        (0..count).map(move |choice| Self { choice: (count > 1).then_some(choice), ..self.clone() })
    }

    /// Whether its answer is the first one, or the only one.
    pub(crate) fn is_first(&self) -> bool {
        self.choice.is_none_or(|choice| choice == 0)
    }

    /// Whether its answer is one of several, so that an answer that is not there shifts those of later requests.
    pub(crate) fn is_one_of_several(&self) -> bool {
        self.choice.is_some()
    }

    /// The row's id, without the repeat and the turn that the request names beside its id.
    fn row_id(&self) -> Cow<'_, RawValue> {
        if self.repeat.is_none() && self.turn.is_none() {
            return Cow::Borrowed(&self.id);
        }
        let id = serde_json::from_str::<String>(self.id.get()).ok();
        let row = id.as_deref().and_then(|id| row_of_request(id, self.repeat, self.turn));
        row.map_or(Cow::Borrowed(&self.id), |row| Cow::Owned(json_string(row)))
    }

    fn not_one_by_one(&self) -> crate::Error {
        let what = format!(
            "the request {} asks for {} answers, but this is not one of them, so those to the requests after it cannot be told",
            self.id, self.count
        );
        ErrorKind::Invalid(what).with_way_out(WAY_OUT)
    }

    /// Gives the answers in its place what it says.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if they answer another request.
    pub(crate) fn give<'a>(&'a self, answers: &mut [EngineAnswer<'a>]) -> Result<()> {
        if let Some(choice) = self.choice {
            let [answer] = answers else { return Err(self.not_one_by_one()) };
            let is_of_all = answer.error.is_some() && answer.finish_reason.is_none();
            if is_of_all || answer.choice.is_some_and(|own| own != choice) {
                return Err(self.not_one_by_one());
            }
            // Each of them has an id of its own.
            (answer.choice, answer.id) = (Some(choice), None);
        } else if let [EngineAnswer { choice: Some(1..), .. }] = answers {
            let what = "this is one of several answers to a request, which would each be taken for that of another";
            return Err(ErrorKind::Invalid(what.into()).with_way_out(WAY_OUT));
        }
        for answer in answers {
            let is_other = |own: &RawValue| without_escapes(own.get()) != without_escapes(self.id.get());
            if let Some(own) = answer.id.as_ref().filter(|own| self.is_repeated && is_other(own)) {
                let (own, id) = (own.get(), self.id.get());
                let what = format!("this is the answer to {own}, but the request in its place is {id}");
                return Err(ErrorKind::Invalid(what).with_way_out(
                    "bring both into one order, or, if the server makes ids of its own, remove the id from the requests",
                ));
            }
            answer.id = Some(self.row_id());
            answer.repeat = answer.repeat.or(self.repeat);
            answer.turn = answer.turn.or(self.turn);
            answer.columns = answer.columns.or(self.columns.as_deref());
        }
        Ok(())
    }
}

/// What is to be done where the answers to one request cannot be told from those to the next.
const WAY_OUT: &str = "request one answer, or leave the requests out";

/// How many answers a request asks for that are no choices of one object, but objects of their own.
fn count(object: &RawObject<'_>) -> usize {
    #[derive(Default, Deserialize)]
    struct Sampling {
        n: Option<usize>,
    }

    let is_sglang = object.has("input_ids") || object.has("text");
    let sampling: Sampling = object.get_own("sampling_params").filter(|_| is_sglang).unwrap_or_default();
    let of_llama_cpp = || object.get_own("n_cmpl").or_else(|| object.get_own("n").filter(|_| object.has("n_predict")));
    sampling.n.or_else(of_llama_cpp).unwrap_or(1).clamp(1, MOST_ANSWERS)
}
