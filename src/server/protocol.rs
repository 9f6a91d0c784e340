//! How to talk to a server over HTTP: its paths, its description of itself, and the events of its streams.

use serde_json::Value;

use crate::error::Result;
use crate::input::from_json;
use crate::server::EngineAnswer;
use crate::server::raw_object::RawObject;
use crate::server::server_error;

/// How to talk to a server over HTTP. A request is a line of the output form with this name.
#[derive(Debug)]
pub struct Protocol {
    /// Its name.
    pub name: &'static str,
    /// The form of its requests.
    pub form: &'static str,
    /// The path of requests.
    pub path: &'static str,
    /// The path that answers 200 when the server is ready.
    pub health: &'static str,
    /// How to have a text tokenized.
    pub(crate) tokenize: Tokenize,
    /// The paths where the server describes itself.
    pub(crate) descriptions: &'static [Description],
    /// The key of the limit on new tokens.
    pub(crate) max_tokens: &'static str,
    /// Whether answers have ids.
    pub(crate) gives_ids: bool,
    /// Whether a stream has no event for a token that ends within a character, so that its id is missing.
    pub(crate) omits_ids: bool,
    /// Whether an event without ids has all of the text so far.
    pub(super) repeats_text: bool,
    /// Whether a stream that begins with an object as the error, without a status, refuses the request.
    pub(crate) refuses_in_stream: bool,
    /// Reads an event of a stream, like an answer.
    pub(super) read: for<'a> fn(&RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>>,
    /// Reads the token counts of an event.
    pub(super) usage: fn(&RawObject<'_>) -> Result<Usage>,
}

/// The path of OpenAI's list of models.
pub(crate) const MODELS: &str = "/v1/models";

/// A path where a server describes itself, and how to read the description.
pub(crate) type Description = (&'static str, fn(&Value, &mut Served));

/// How to have a server tokenize a text. Its answer has `tokens`, or LMDeploy's `input_ids`.
#[derive(Debug)]
pub(crate) struct Tokenize {
    pub(crate) path: &'static str,
    pub(crate) body: fn(text: &str, model: Option<&str>) -> Value,
    /// Whether every server of this kind can.
    pub(crate) is_certain: bool,
}

/// A server's description of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// The model's name.
    pub model: Option<String>,
    /// How many tokens a prompt and its answer may have together.
    pub max_model_len: Option<usize>,
    /// How many tokens a prompt may have, if that is fewer than its context has without an answer of one token.
    pub max_prompt_len: Option<usize>,
    /// How many ids its model has.
    pub vocab_size: Option<usize>,
    /// How many requests it handles at a time.
    pub slots: Option<usize>,
}

impl Served {
    /// How many tokens of the context a prompt must leave: one at least, for the answer.
    pub(crate) fn least_after_prompt(&self) -> usize {
        let all = self.max_model_len.zip(self.max_prompt_len);
        all.map_or(1, |(all, of_prompt)| all.saturating_sub(of_prompt).max(1))
    }
}

/// The token counts that a server reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The tokens of the answer so far.
    pub(crate) completion_tokens: Option<usize>,
    /// The tokens of the prompt that were in the server's cache.
    pub(crate) cached_tokens: Option<usize>,
}

/// An event of a stream: a piece of the answer, or the whole answer so far.
#[derive(Debug)]
pub(crate) struct StreamEvent<'a> {
    /// None if the event has only counts.
    pub(crate) answer: Option<EngineAnswer<'a>>,
    pub(crate) usage: Usage,
    pub(crate) extent: Extent,
}

/// How much of an answer an event has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What is new.
    Piece,
    /// Everything so far.
    Whole,
    /// Everything so far if it goes on from the text before, and otherwise what is new.
    WholeText,
}

impl Protocol {
    /// Reads the data of an event.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`](crate::ErrorKind::Parse) and [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if it is not
    /// an event.
    pub(crate) fn event<'a>(&self, data: &'a str) -> Result<StreamEvent<'a>> {
        let object: RawObject<'a> = from_json(data)?;
        if let Some(error) = object.raw("error").or_else(|| server_error::in_stream(&object)) {
            let answer = Some(EngineAnswer { error: Some(error), ..EngineAnswer::default() });
            return Ok(StreamEvent { answer, usage: Usage::default(), extent: Extent::Piece });
        }
        let usage = (self.usage)(&object)?;
        let mut answer = (self.read)(&object)?.into_iter().next();
        if let Some(answer) = &mut answer {
            // Some servers send an empty reason until the answer ends.
            answer.finish_reason.take_if(|reason| reason.is_empty());
        }
        let ids = answer.as_ref().and_then(|answer| answer.token_ids.as_ref());
        let extent = match ids {
            Some(ids) if !ids.is_empty() && Some(ids.len()) == usage.completion_tokens => Extent::Whole,
            None if self.repeats_text => Extent::WholeText,
            _ => Extent::Piece,
        };
        Ok(StreamEvent { answer, usage, extent })
    }
}

/// Reads the model of [`MODELS`] that has the name of `served`, or the first one if that has no name.
pub(super) fn read_models(models: &Value, served: &mut Served) {
    let listed = models["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let named = |name: &str| listed.iter().find(|model| model["id"] == name);
    let Some(model) = served.model.as_deref().map_or_else(|| listed.first(), named) else { return };
    served.model = model["id"].as_str().map(str::to_owned);
    // An adapter has the context of its base model, which vLLM writes only there.
    let base = model["parent"].as_str().and_then(named);
    let of_model = |pointer: &str| number(model, pointer).or_else(|| number(base?, pointer));
    served.max_model_len = served.max_model_len.or_else(|| of_model("/max_model_len"));
    // Dynamo's.
    served.max_model_len = served.max_model_len.or_else(|| of_model("/context_window"));
    // llama.cpp's.
    served.vocab_size = served.vocab_size.or_else(|| of_model("/meta/n_vocab"));
}

/// The number at this place, if there is one.
pub(super) fn number(description: &Value, pointer: &str) -> Option<usize> {
    description.pointer(pointer)?.as_u64()?.try_into().ok()
}
