//! Floats as Python writes them. Where a template makes text of them by a filter or by `~`, Jinja here writes them in its own
//! way, so that those which Python writes otherwise are values of their own.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{DynObject, Object, ObjectRepr};

use crate::python_repr;

/// A float that Jinja here would write otherwise: without an exponent, or with another last digit.
#[derive(Debug)]
struct WrittenAsPython(f64);

impl Object for WrittenAsPython {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        self.0.partial_cmp(&other.downcast_ref::<Self>()?.0)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&python_repr::float(self.0))
    }
}

/// A float of a conversation.
pub(super) fn of(number: f64) -> Value {
    let value = Value::from(number);
    if value.to_string() == python_repr::float(number) { value } else { Value::from_object(WrittenAsPython(number)) }
}

/// The same as a number of Jinja's.
pub(super) fn as_number(value: &Value) -> Value {
    match value.downcast_object_ref::<WrittenAsPython>() {
        Some(WrittenAsPython(number)) => Value::from(*number),
        None => value.clone(),
    }
}
