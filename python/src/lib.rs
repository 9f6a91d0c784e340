//! Python's part of metatok: the library's types, as `metatok._metatok`. What people call is written in Python, above it.
#![allow(missing_docs, reason = "the classes are documented where they are used, in Python")]

mod answers;
mod arrow;
mod as_in_files;
mod at_least_one;
mod binary;
mod builder;
mod column;
mod compare;
mod conversation;
mod dialogue;
mod error;
mod foreign;
mod ids;
mod json;
mod json_text;
mod objects;
mod many;
mod padded;
mod program;
mod prompt;
mod recipe;
mod repeated_ids;
mod requests;
mod setting_name;
mod shared;
mod spare;
mod table_rows;
mod task;
mod tokenizer;
mod view;
mod wrong;

use numpy::PyArray1;
use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _metatok {
    use super::*;

    #[pymodule_export]
    use super::answers::{Stream, complete, trim};
    #[pymodule_export]
    use super::arrow::build_arrow;
    #[pymodule_export]
    use super::builder::Builder;
    #[pymodule_export]
    use super::column::{companions, conversation_key};
    #[pymodule_export]
    use super::compare::{check, diff};
    #[pymodule_export]
    use super::dialogue::Dialogue;
    #[pymodule_export]
    use super::ids::Ids;
    #[pymodule_export]
    use super::program::main;
    #[pymodule_export]
    use super::requests::{check_sampling, requests};
    #[pymodule_export]
    use super::task::{Task, row_json};
    #[pymodule_export]
    use super::tokenizer::Tokenizer;
    #[pymodule_export]
    use super::view::View;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // NumPy's functions are found at their first use, which a signal that waits for Python would turn into a panic.
        PyArray1::<u32>::zeros(module.py(), 0, false);
        module.add("DEFAULT_MAX_OUT_LEN", metatok::sink::DEFAULT_MAX_OUT_LEN)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
