//! What is wrong with a model, and how two differ.

use std::collections::BTreeMap;
use std::sync::Arc;

use metatok::Checker;
use metatok::dialect::ChatTemplate;
use metatok::diff::Diff;
use metatok::error::{At, ErrorKind, Place};
use metatok::import::{ContentKind, generated};
use pyo3::prelude::*;

use crate::builder::Builder;
use crate::conversation::conversation;
use crate::error::OrRaise;
use crate::objects::data;

/// The findings of the lints, each as a dict.
#[pyfunction]
pub(crate) fn check<'py>(
    py: Python<'py>,
    builder: &Builder,
    conversations: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let tokenizer = builder.shared.builder.tokenizer();
    if builder.model.conversation_template.is_some() || builder.model.chat_template.is_some() {
        let what = "check reads meta templates, but this is a conversation template or a chat template";
        return Err(ErrorKind::Usage(what.into())).at(Place::file(&builder.model.name)).or_raise(py);
    }
    let mut checker = Checker::new(&builder.model, Arc::clone(tokenizer), &builder.recipe.options().or_raise(py)?);
    // What has no files has none to compare with.
    if let Ok(Some(template)) = py.detach(|| ChatTemplate::of_tokenizer(tokenizer.name())) {
        checker.compare_with(template);
    }
    for (i, said) in conversations.try_iter()?.enumerate() {
        let said = conversation(&said?, &builder.shared.builder)?;
        checker.see(&said, &Place::Conversation(i).to_string());
    }
    let findings = py.detach(|| checker.finish()).or_raise(py)?;
    let findings: Vec<_> = findings.iter().map(|finding| serde_json::json!({
        "code": finding.code, "level": finding.level, "place": finding.place, "message": finding.message, "help": finding.help.to_string(),
    })).collect();
    data(py, &findings)
}

/// How two builders differ on conversations, or on generated ones, as a dict.
#[pyfunction]
pub(crate) fn diff<'py>(
    py: Python<'py>,
    ours: &Builder,
    theirs: &Builder,
    conversations: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut diff = Diff::new(ours.shared.builder.clone(), theirs.shared.builder.clone());
    let mut all = Vec::new();
    match conversations {
        Some(conversations) => {
            for (i, said) in conversations.try_iter()?.enumerate() {
                all.push((format!("conversation {i}"), conversation(&said?, &ours.shared.builder)?));
            }
        }
        None => {
            for kind in ContentKind::ALL {
                let said = generated(kind, &[]).into_iter().enumerate();
                all.extend(said.map(|(i, said)| (format!("generated, {}, {i}", kind.name()), said)));
            }
        }
    }
    let mut first = BTreeMap::new();
    py.detach(|| {
        for (place, said) in &all {
            if let Some(difference) = diff.see(said) {
                let entry = serde_json::json!({"place": place, "difference": difference});
                first.entry(difference.cause).or_insert(entry);
            }
        }
    });
    let causes: BTreeMap<String, u64> = diff.causes().iter().map(|(cause, n)| (cause.to_string(), *n)).collect();
    data(
        py,
        &serde_json::json!({
            "equal": diff.equal(), "refused_by_both": diff.refused(), "different": diff.different(),
            "causes": causes, "first": first.into_values().collect::<Vec<_>>(),
        }),
    )
}
