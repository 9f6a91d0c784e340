//! What is wrong with a model, and how two differ.

use std::sync::Arc;

use metatok::Checker;
use metatok::dataset::records::InputFormat;
use metatok::dialect::ChatTemplate;
use metatok::diff::Diff;
use metatok::error::Place;
use pyo3::prelude::*;

use crate::builder::Builder;
use crate::conversation::Reader;
use crate::error::OrRaise;
use crate::many;
use crate::objects::data;

/// The findings of the lints, each as a dict.
#[pyfunction]
pub(crate) fn check<'py>(
    py: Python<'py>,
    builder: &Builder,
    conversations: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let tokenizer = builder.shared.builder.tokenizer();
    let options = builder.recipe.options().or_raise(py)?;
    let mut checker = Checker::new(&builder.model, Arc::clone(tokenizer), &options).or_raise(py)?;
    // What has no files has none to compare with.
    if let Ok(Some(template)) = py.detach(|| ChatTemplate::of_tokenizer(tokenizer.name())) {
        checker.compare_with(template);
    }
    let mut reader = Reader::new(&builder.shared.builder);
    for (i, object) in conversations.try_iter()?.enumerate() {
        let place = Place::Conversation(i).to_string();
        match reader.try_object(&object?, &place).map_err(|error| many::at(py, error, i))? {
            Ok(said) => py.detach(|| checker.see(&said.conversation, &place)),
            Err(error) => checker.see_refused(error, &place),
        }
        py.check_signals()?;
    }
    let findings = py.detach(|| checker.finish()).or_raise(py)?;
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
    match conversations {
        Some(conversations) => {
            let mut reader = Reader::of_records(&ours.shared.builder, diff.record_reader(InputFormat::Auto));
            for (i, object) in conversations.try_iter()?.enumerate() {
                let said = reader.object(&object?, Place::Conversation(i)).map_err(|error| many::at(py, error, i))?;
                py.detach(|| diff.see(&said.conversation, Place::Conversation(i)));
                py.check_signals()?;
            }
        }
        None => {
            let templates = [ours, theirs].into_iter().filter_map(|builder| builder.model.chat_template.as_ref());
            let mut asked = Ok(());
            let goes_on = || {
                asked = Python::attach(|py| py.check_signals());
                asked.is_ok()
            };
            py.detach(|| diff.see_generated(usize::MAX, templates, goes_on));
            asked?;
        }
    }
    data(py, &diff)
}
