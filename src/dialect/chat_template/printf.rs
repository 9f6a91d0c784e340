//! The filter `format`, which pads texts to a number of characters, as `%` does in Python.

use minijinja::value::{Rest, Value, ValueOrKwargs};
use minijinja::{Error, ErrorKind, State, filters};

use crate::dialect::chat_template::marks::without_marks;

/// A text with arguments in the place of its specifiers. Each is formatted by itself, because minijinja pads to a number of
/// bytes.
pub(super) fn format(state: &mut State<'_, '_>, text: &Value, args: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let (mut formatted, mut rest) = (String::new(), text.as_str().unwrap_or_default());
    let mut unused = args.iter();
    while let Some(at) = rest.find('%') {
        let specifier = Specifier::at_start_of(&rest[at..]);
        formatted += &rest[..at];
        rest = &rest[at + specifier.code.len()..];
        let args = match specifier.argument {
            Argument::None => Vec::new(),
            Argument::Next => unused.next().into_iter().cloned().collect(),
            Argument::Named => {
                unused = [].iter();
                args.to_vec()
            }
        };
        let is_safe = text.is_safe();
        let code = if is_safe { Value::from_safe_string(specifier.code.into()) } else { Value::from(specifier.code) };
        let written = filters::format(state, &code, Rest(args))?.to_string();
        let missing = " ".repeat(specifier.width.saturating_sub(without_marks(&written).chars().count()));
        let [left, right] = if specifier.is_left { [&*written, &*missing] } else { [&*missing, &*written] };
        formatted = formatted + left + right;
    }
    if unused.next().is_some() {
        return Err(Error::new(ErrorKind::TooManyArguments, "format has more arguments than its text asks for"));
    }
    formatted += rest;
    Ok(if text.is_safe() { Value::from_safe_string(formatted) } else { Value::from(formatted) })
}

/// A `%` with what follows it.
struct Specifier<'t> {
    code: &'t str,
    argument: Argument,
    width: usize,
    /// Whether the text is on the left of what it is padded with.
    is_left: bool,
}

enum Argument {
    None,
    Next,
    Named,
}

impl<'t> Specifier<'t> {
    fn at_start_of(text: &'t str) -> Self {
        let name = text[1..].strip_prefix('(').map(|name| name.find(')').map_or(name.len(), |end| end + 1) + 1);
        let flags = &text[1 + name.unwrap_or(0)..];
        let width = flags.trim_start_matches(['#', '0', '-', ' ', '+']);
        let after = width.trim_start_matches(|c: char| c.is_ascii_digit());
        let kind = after.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | 'h' | 'l' | 'L'));
        let end = text.len() - after.len()
            + kind.map_or(after.len(), |at| at + after[at..].chars().next().map_or(0, char::len_utf8));
        Self {
            code: &text[..end],
            argument: match name {
                Some(_) => Argument::Named,
                None if text[..end].ends_with('%') => Argument::None,
                None => Argument::Next,
            },
            width: width[..width.len() - after.len()].parse().unwrap_or(0),
            is_left: flags[..flags.len() - width.len()].contains('-'),
        }
    }
}
