//! A prompt that was built, as Python gets it.

use std::borrow::Cow;

use metatok::builder::TokenizedPrompt;
use metatok::conversation::Conversation;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

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
    /// What it was built of, if that has media.
    pub(crate) conversation: Option<Conversation>,
}

impl Prompt {
    /// A prompt of this conversation.
    pub(crate) fn of(prompt: TokenizedPrompt, conversation: Cow<'_, Conversation>) -> Self {
        let conversation = conversation.has_media().then(|| conversation.into_owned());
        Self { prompt, conversation, ..Self::default() }
    }
}

/// The ids of a prompt, and what else is known of it.
pub(crate) type Built<'py> = (Bound<'py, PyArray1<u32>>, Option<Bound<'py, PyAny>>);

/// The ids, which NumPy takes over, and the rest in a dict, if there is any.
pub(crate) fn known<'py>(
    py: Python<'py>,
    roles: &[&str],
    Prompt { mut prompt, truncated, labels, conversation, .. }: Prompt,
) -> PyResult<Built<'py>> {
    let ids = std::mem::take(&mut prompt.input_ids).into_pyarray(py);
    if truncated.is_none() && labels.is_none() && prompt == TokenizedPrompt::default() {
        return Ok((ids, None));
    }
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
    Ok((ids, Some(known)))
}
