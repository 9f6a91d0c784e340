//! What Python does where the references rely on it: its random numbers, and its idea of white space and capitals.

mod random;
mod text;

pub(crate) use random::PythonRandom;
pub(crate) use text::{capitalized, is_space};
