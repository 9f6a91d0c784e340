//! Python's part of metatok: the library's types, as `metatok._metatok`. What people call is written in Python, above it.
#![allow(missing_docs, reason = "the classes are documented where they are used, in Python")]

mod builder;
mod conversation;
mod error;
mod json;
mod many;
mod program;
mod recipe;
mod shared;
mod tokenizer;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _metatok {
    use super::*;

    #[pymodule_export]
    use super::builder::Builder;
    #[pymodule_export]
    use super::program::main;
    #[pymodule_export]
    use super::tokenizer::Tokenizer;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
