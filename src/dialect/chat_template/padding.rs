//! Texts that Python's methods of strings pad to a number of characters.

use minijinja::value::{Value, ValueKind, from_args};
use minijinja::{Error, ErrorKind};

use crate::dialect::chat_template::format_width::MOST;
use crate::dialect::chat_template::marks::without_marks;

/// A text with characters beside it, as `center`, `ljust` and `rjust` put them there.
pub(super) fn justified(text: &str, method: &str, args: &[Value]) -> Result<String, Error> {
    let (width, fill): (Value, Option<&str>) = from_args(args)?;
    let fill = fill.unwrap_or(" ");
    if without_marks(fill).chars().count() != 1 {
        return Err(refused(format!("{method}: {fill:?} is not one character")));
    }
    let (width, length) = (checked(&width, method)?, length(text));
    let missing = width.saturating_sub(length);
    let before = match method {
        // The odd one stands on the left of a text of even length.
        "center" => missing / 2 + (missing & width & 1),
        "rjust" => missing,
        _ => 0,
    };
    Ok(format!("{}{text}{}", fill.repeat(before), fill.repeat(missing - before)))
}

/// The zeros that `zfill` puts behind the sign of a text.
pub(super) fn zeros(text: &str, args: &[Value]) -> Result<String, Error> {
    let (width,): (Value,) = from_args(args)?;
    Ok("0".repeat(checked(&width, "zfill")?.saturating_sub(length(text))))
}

fn length(text: &str) -> usize {
    without_marks(text).chars().count()
}

/// A width, which is a whole number and not too high.
fn checked(width: &Value, method: &str) -> Result<usize, Error> {
    if !width.is_integer() && width.kind() != ValueKind::Bool {
        return Err(refused(format!("{method}: the width {width} is not a whole number")));
    }
    let width = i64::try_from(width.clone())?.max(0).unsigned_abs();
    let allowed = usize::try_from(width).ok().filter(|_| width <= MOST);
    allowed.ok_or_else(|| refused(format!("{method}: the width {width} is more than {MOST}")))
}

fn refused(what: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}
