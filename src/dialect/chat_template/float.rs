//! Floats as Python writes them. Where a template makes text of them by a filter or by `~`, Jinja here writes all their digits,
//! so that those which Python writes with an exponent are values of their own.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{DynObject, Object, ObjectRepr};

use crate::python_repr;

/// A float whose text has an exponent.
#[derive(Debug)]
struct WithExponent(f64);

impl Object for WithExponent {
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
    match python_repr::float(number).contains('e') {
        true => Value::from_object(WithExponent(number)),
        false => Value::from(number),
    }
}

/// A float of a conversation as a number of Jinja's.
pub(super) fn as_number(value: &Value) -> Value {
    match value.downcast_object_ref::<WithExponent>() {
        Some(WithExponent(number)) => Value::from(*number),
        None => value.clone(),
    }
}
