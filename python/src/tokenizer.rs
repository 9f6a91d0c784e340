//! A tokenizer by itself.

use std::sync::Arc;

use metatok::dialect::load_tokenizer;
use metatok::tokenizer::TokenizerFiles;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::OrRaise;

/// A tokenizer, with the contents of its files.
#[pyclass(frozen, module = "metatok._metatok")]
#[derive(Debug, Clone)]
pub(crate) struct Tokenizer {
    pub(crate) tokenizer: Arc<metatok::Tokenizer>,
}

/// The contents of a file, if there is one.
type File = Option<Vec<u8>>;

#[pymethods]
impl Tokenizer {
    /// By name.
    #[staticmethod]
    fn load(py: Python<'_>, name: &str) -> PyResult<Self> {
        py.detach(|| load_tokenizer(name)).or_raise(py).map(Self::of)
    }

    /// A tokenizer of the contents of its files.
    #[staticmethod]
    fn of_files(
        py: Python<'_>,
        name: String,
        tokenizer_json: Vec<u8>,
        tokenizer_config: File,
        special_tokens_map: File,
        generation_config: File,
        added_tokens: File,
    ) -> PyResult<Self> {
        let files = TokenizerFiles {
            name,
            tokenizer_json,
            tokenizer_config,
            special_tokens_map,
            generation_config,
            added_tokens,
            ..TokenizerFiles::default()
        };
        py.detach(|| metatok::Tokenizer::from_files(files)).or_raise(py).map(Self::of)
    }

    #[getter]
    fn name(&self) -> &str {
        self.tokenizer.name()
    }

    #[getter]
    fn vocab_size(&self) -> usize {
        self.tokenizer.vocab_size()
    }

    /// `bos`, `eos` and `pad`.
    #[getter]
    fn special_token_ids(&self) -> (Option<u32>, Option<u32>, Option<u32>) {
        let special = self.tokenizer.special_token_ids();
        (special.bos, special.eos, special.pad)
    }

    fn encode<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(py.detach(|| self.tokenizer.encode(text)).or_raise(py)?.into_pyarray(py))
    }

    fn decode(&self, py: Python<'_>, ids: Vec<u32>, skip_special_tokens: bool) -> PyResult<String> {
        py.detach(|| self.tokenizer.decode(&ids, skip_special_tokens)).or_raise(py)
    }

    fn id_to_token(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let TokenizerFiles {
            name,
            tokenizer_json,
            tokenizer_config,
            special_tokens_map,
            generation_config,
            added_tokens,
            ..
        } = self.tokenizer.source();
        let file = |file: &File| file.as_ref().map(|bytes| PyBytes::new(py, bytes));
        let files = (
            name,
            PyBytes::new(py, tokenizer_json),
            file(tokenizer_config),
            file(special_tokens_map),
            file(generation_config),
            file(added_tokens),
        );
        Ok((py.get_type::<Self>().getattr("of_files")?, files.into_pyobject(py)?))
    }
}

impl Tokenizer {
    pub(crate) fn of(tokenizer: metatok::Tokenizer) -> Self {
        Self { tokenizer: Arc::new(tokenizer) }
    }
}
