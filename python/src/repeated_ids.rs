//! Ids that come again: nobody could tell the prompts that have them apart.

use std::collections::HashMap;

use metatok::error::Warning;
use pyo3::prelude::*;

use crate::error::warn;

/// Warns if conversations have the same id. One without an id has its number for one.
///
/// # Errors
/// What Python's filters make of a warning.
pub(crate) fn tell_repeated<'i>(py: Python<'_>, ids: impl Iterator<Item = &'i str>) -> PyResult<()> {
    let mut first_of = HashMap::new();
    let (mut first, mut more) = (None, 0_usize);
    for (number, id) in ids.enumerate() {
        let before = *first_of.entry(id).or_insert(number);
        match (before == number, first.is_some()) {
            (true, _) => {}
            (false, false) => first = Some((id, before, number)),
            (false, true) => more += 1,
        }
    }
    let Some((id, before, number)) = first else { return Ok(()) };
    let others = if more == 0 { String::new() } else { format!(", and {more} more have the id of another one") };
    let what = format!("conversations {before} and {number} both have the id {id}{others}");
    let way_out = "give each an id of its own, or none to all; without one, the number of a conversation is its id";
    warn(py, &Warning::new("repeated-id", what).with_way_out(way_out))
}
