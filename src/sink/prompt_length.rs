//! The length of a prompt that was written as a JSON line, in any of the forms.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{At, Error, ErrorKind, Result, Setting, WayOut, way_out};
use crate::wording;

/// The length of a written prompt.
///
/// ```
/// use metatok::sink::PromptLength;
///
/// let length = PromptLength::read(r#"{"request_id": "0", "prompt": [1051, 375, 263], "max_tokens": 512}"#)?;
/// assert_eq!(length, PromptLength { tokens: 3, max_out_len: Some(512) });
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptLength {
    /// Its tokens.
    pub tokens: u64,
    /// The limit on its answer's tokens, if the line has one.
    pub max_out_len: Option<u64>,
}

/// The keys of all forms. Others are ignored.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    input_ids: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    token_ids: Option<&'a RawValue>,
    #[serde(borrow)]
    body: Option<Box<Line<'a>>>,
    #[serde(borrow)]
    inputs: Option<&'a RawValue>,
    max_out_len: Option<u64>,
    max_tokens: Option<u64>,
    n_predict: Option<u64>,
    sampling_params: Option<Sampling>,
}

#[derive(Deserialize)]
struct Sampling {
    max_new_tokens: Option<u64>,
    max_tokens: Option<u64>,
}

/// An input of Triton's.
#[derive(Deserialize)]
struct Tensor<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

impl PromptLength {
    /// Reads it from a line that `metatok build` wrote in a form with token ids, or from a line of a batch file with
    /// such a body.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] for a line that is not JSON, [`ErrorKind::Invalid`] for one without token ids.
    pub fn read(line: &str) -> Result<Self> {
        let mut line: Line<'_> = wording::object_from_line(line)?;
        if let Some(body) = line.body {
            line = *body;
        }
        let tensors: Vec<Tensor<'_>> =
            line.inputs.and_then(|inputs| serde_json::from_str(inputs.get()).ok()).unwrap_or_default();
        let tensor = |name: &str| Some(tensors.iter().find(|tensor| tensor.name == name)?.data);
        // Answers have token_ids too.
        let token_ids = line.token_ids.filter(|_| line.sampling_params.is_some());
        let ids = [("input_ids", line.input_ids), ("prompt", line.prompt), ("token_ids", token_ids)];
        let ids = ids.into_iter().find_map(|(key, ids)| Some((key, ids?)));
        let ids = ids.or_else(|| Some(("inputs", tensor("input_ids")?)));
        let Some((key, ids)) = ids else { return Err(no_ids(line.messages.is_some())) };
        let ids: Vec<u64> = serde_json::from_str(ids.get())
            .map_err(|_| ErrorKind::Invalid("this is not a list of token ids".into()).with_way_out(build_ids()))
            .at(key)?;
        let of_triton =
            || serde_json::from_str::<[u64; 1]>(tensor("request_output_len")?.get()).ok().map(|[limit]| limit);
        let nested = line.sampling_params.as_ref().and_then(|params| params.max_new_tokens.or(params.max_tokens));
        let max_out_len = line.max_out_len.or(line.max_tokens).or(line.n_predict).or(nested).or_else(of_triton);
        Ok(Self { tokens: ids.len() as u64, max_out_len })
    }
}

fn no_ids(has_messages: bool) -> Error {
    if has_messages {
        let what = "messages have no tokens until a server applies its template";
        ErrorKind::Invalid(what.into()).with_way_out(build_ids())
    } else {
        let what = "there is neither \"input_ids\" nor \"prompt\", as `metatok build` writes them";
        ErrorKind::Invalid(what.into()).into()
    }
}

fn build_ids() -> WayOut {
    way_out!["build with ", Setting::FORMAT.set_to("ids")]
}
