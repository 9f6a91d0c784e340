//! Floats as Python writes them. Where a template makes text of them by a filter or by `~`, Jinja here writes all their digits,
//! so that those which Python writes with an exponent are values of their own.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{DynObject, Object, ObjectRepr};

/// A float as Python's `repr`: the shortest digits that give the same number, without an exponent from 1e-4 to 1e16.
pub(super) fn repr(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "nan".into()
        } else if value > 0.0 {
            "inf".into()
        } else {
            "-inf".into()
        };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let plain = value.to_string();
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

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
        f.write_str(&repr(self.0))
    }
}

/// A float of a conversation.
pub(super) fn of(number: f64) -> Value {
    if repr(number).contains('e') { Value::from_object(WithExponent(number)) } else { Value::from(number) }
}

/// The same as a number of Jinja's.
pub(super) fn as_number(value: &Value) -> Value {
    match value.downcast_object_ref::<WithExponent>() {
        Some(WithExponent(number)) => Value::from(*number),
        None => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_in_python() {
        let cases = [
            (1.0, "1.0"),
            (-0.5, "-0.5"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.234_567_890_123_456_7e300, "1.2345678901234567e+300"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (number, written) in cases {
            assert_eq!(repr(number), written);
            assert_eq!(of(number).to_string(), written);
        }
    }
}
