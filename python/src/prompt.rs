//! A prompt that was built, as Python gets it.

use metatok::builder::TokenizedPrompt;
use metatok::conversation::Conversation;
use metatok::error::Result;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::ids::Ids;
use crate::objects::data;

/// A prompt, and what is known of it.
#[derive(Default)]
pub(crate) struct Prompt {
    pub(crate) prompt: TokenizedPrompt,
    /// What was dropped so that it fits.
    pub(crate) truncated: Option<serde_json::Value>,
    /// Its record's id, as JSON.
    pub(crate) id: Option<String>,
    /// How many tokens its record allows the answer.
    pub(crate) max_out_len: Option<u64>,
    /// The ids that are scored, and -100 for all others.
    pub(crate) labels: Option<Vec<i64>>,
    /// The conversation whose messages its media number, if it has any.
    pub(crate) conversation: Option<Conversation>,
}

impl Prompt {
    /// A prompt of this conversation, which is only made if it has media.
    ///
    /// # Errors
    /// That of making it.
    pub(crate) fn of(prompt: TokenizedPrompt, conversation: impl FnOnce() -> Result<Conversation>) -> Result<Self> {
        let conversation = if prompt.media.is_empty() { None } else { Some(conversation()?) };
        Ok(Self { prompt, conversation, ..Self::default() })
    }
}

/// The ids of a prompt, and all else of it, if more is known than these. A whole prompt is large, and most are only ids.
pub(crate) type IdsAndRest = (Vec<u32>, Option<Box<Prompt>>);

impl Prompt {
    pub(crate) fn split(mut self) -> IdsAndRest {
        let ids = std::mem::take(&mut self.prompt.input_ids);
        let is_more = self.truncated.is_some() || self.labels.is_some() || self.prompt != TokenizedPrompt::default();
        (ids, is_more.then(|| Box::new(self)))
    }
}

/// The ids of a prompt, and what else is known of it.
pub(crate) type Built<'py> = (Ids, Option<Bound<'py, PyAny>>);

/// The ids, and the rest in a dict, if there is any.
pub(crate) fn known<'py>(py: Python<'py>, roles: &[&str], (ids, rest): IdsAndRest) -> PyResult<Built<'py>> {
    let rest = rest.map(|rest| rest_of(py, roles, *rest)).transpose()?;
    Ok((ids.into(), rest))
}

fn rest_of<'py>(py: Python<'py>, roles: &[&str], built: Prompt) -> PyResult<Bound<'py, PyAny>> {
    let Prompt { prompt, truncated, labels, conversation, .. } = built;
    let known = data(py, &prompt)?;
    let dict = known.cast::<PyDict>()?;
    dict.del_item("input_ids")?;
    if let Some(truncated) = &truncated {
        dict.set_item("truncated", data(py, truncated)?)?;
    }
    if let Some(labels) = labels {
        dict.set_item("labels", labels.into_pyarray(py))?;
    }
    for (i, at) in prompt.media.iter().enumerate() {
        let said = conversation.as_ref().and_then(|said| said.media_at(at.message, at.content_part));
        if let Some(media) = said {
            let at = dict.as_any().get_item("media")?.get_item(i)?;
            at.set_item("kind", media.kind.name())?;
            at.set_item("source", &media.source)?;
        }
    }
    for (i, span) in prompt.spans.iter().flatten().enumerate() {
        if let Some(role) = span.part.role.and_then(|role| roles.get(role as usize)) {
            dict.as_any().get_item("spans")?.get_item(i)?.set_item("role", role)?;
        }
    }
    Ok(known)
}
