//! A prompt to look at.

use metatok::view::TerminalOptions;
use pyo3::prelude::*;

use crate::builder::Builder;
use crate::conversation::conversation;
use crate::error::OrRaise;
use crate::objects::data;

/// A prompt with the origin of each of its tokens.
#[pyclass(frozen, module = "metatok._metatok")]
#[derive(Debug)]
pub(crate) struct View {
    view: metatok::View,
}

#[pymethods]
impl View {
    #[new]
    fn new(py: Python<'_>, builder: &Builder, said: &Bound<'_, PyAny>) -> PyResult<Self> {
        let said = conversation(said, &builder.shared.builder)?;
        let view = py.detach(|| metatok::View::new(&builder.shared.builder, &builder.model.name, &said));
        Ok(Self { view: view.or_raise(py)? })
    }

    /// A page of HTML that needs nothing else.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.view.html())
    }

    /// The view for a terminal.
    fn terminal(&self, py: Python<'_>, width: usize, colour: bool, ids: bool) -> String {
        py.detach(|| self.view.terminal(TerminalOptions { width, colour, ids }))
    }

    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        data(py, &self.view)
    }

    #[getter]
    fn input_ids(&self) -> Vec<u32> {
        self.view.tokens.iter().map(|token| token.id).collect()
    }
}
