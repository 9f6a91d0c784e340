//! Python behaviour that the references rely on: its random numbers, and its rules for white space and capitals.

mod random;
mod text;

pub(crate) use random::PythonRandom;
pub(crate) use text::capitalized;
