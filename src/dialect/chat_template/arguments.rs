//! The arguments of filters, which have a place or a name.

use minijinja::Error;
use minijinja::value::{Kwargs, Value};

/// An argument that has a place or a name, unless it is None.
pub(super) fn argument(args: &[Value], kwargs: &Kwargs, place: usize, name: &str) -> Result<Option<Value>, Error> {
    Ok(given_argument(args, kwargs, place, name)?.filter(|value| !value.is_none()))
}

/// An argument that has a place or a name, and may be None.
pub(super) fn given_argument(
    args: &[Value],
    kwargs: &Kwargs,
    place: usize,
    name: &str,
) -> Result<Option<Value>, Error> {
    if kwargs.has(name) { kwargs.get(name).map(Some) } else { Ok(args.get(place).cloned()) }
}

pub(super) fn is_on(value: Option<Value>) -> bool {
    value.is_some_and(|value| value.is_true())
}
