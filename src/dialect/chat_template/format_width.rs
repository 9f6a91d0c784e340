//! How wide a text may be that `str.format` and other methods write.

use minijinja::value::Value;
use minijinja::{Error, ErrorKind};

/// The highest width of a text.
pub(super) const MOST: u64 = 999_999;

/// Rejects a format that makes more text than a template may, which is otherwise found out when there is no memory left.
pub(super) fn check_format(text: &str, args: &[Value]) -> Result<(), Error> {
    let is_wide = |digits: &str| !digits.is_empty() && digits.parse().map_or(true, |width: u64| width > MOST);
    // A doubled brace is text.
    let text = text.replace("{{", "");
    let fields = || text.split('{').skip(1);
    let specs = fields().filter_map(|field| Some(field.split('}').next()?.split_once(':')?.1));
    let mut numbers = specs.flat_map(|spec| spec.split(|c: char| !c.is_ascii_digit()));
    // A field within a spec takes a width from an argument.
    let takes_width = || fields().any(|field| field.contains(':') && !field.contains('}'));
    let is_high = |value: &Value| value.as_i64().is_some_and(|number| number.unsigned_abs() > MOST);
    if numbers.any(is_wide) || takes_width() && args.iter().any(is_high) {
        let what = format!("a format asks for a width or precision of more than {MOST}");
        return Err(Error::new(ErrorKind::InvalidOperation, what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        for (format, args, is_refused) in [
            ("at: 12345678 {:>10} 12345678 {0}", vec![Value::from(1)], false),
            ("{{'id': {}}}", vec![Value::from(1_i64 << 40)], false),
            ("{:>999999}", vec![], false),
            ("{:>1000000}", vec![], true),
            ("{:.100000000000000000000000}", vec![], true),
            ("{:>{}}", vec![Value::from("a"), Value::from(9)], false),
            ("{:>{}}", vec![Value::from("a"), Value::from(1_i64 << 40)], true),
            ("{}", vec![Value::from(1_i64 << 40)], false),
        ] {
            assert_eq!(check_format(format, &args).is_err(), is_refused, "{format}");
        }
    }
}
