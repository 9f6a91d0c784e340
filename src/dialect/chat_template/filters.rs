//! The filters of Jinja2, as Python applies them to its values.

use minijinja::value::{Kwargs, Rest, StringInput, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, filters};

use crate::conversation::is_space;
use crate::dialect::chat_template::arguments::{argument, given_argument, is_on};
use crate::dialect::chat_template::attributes::attr;
use crate::dialect::chat_template::float::as_number;
use crate::dialect::chat_template::marks::{has_marks, without_marks};
use crate::dialect::chat_template::methods::{self, iterated, unmarked};
use crate::dialect::chat_template::padding::justified;
use crate::dialect::chat_template::python_repr::{self, JsonStyle, is_namespace};
use crate::dialect::chat_template::{generators, order, printf};

/// Replaces minijinja's own, and removes those that Jinja2 does not have.
pub(super) fn add(environment: &mut Environment<'static>) {
    generators::add(environment);
    order::add(environment);
    environment.add_filter("attr", attr);
    environment.add_filter("list", |state: &State<'_, '_>, value: Value| filters::list(state, iterated(value)?));
    environment.add_filter("default", default);
    environment.add_filter("d", default);
    environment.add_filter("length", length);
    environment.add_filter("count", length);
    add_of_texts(environment);
    add_of_numbers(environment);
    for name in ["bool", "lines", "split", "chain", "zip"] {
        environment.remove_filter(name);
    }
}

fn add_of_texts(environment: &mut Environment<'static>) {
    environment.add_filter("tojson", to_json);
    environment.add_filter("string", string);
    environment.add_filter("join", join);
    environment.add_filter("wordcount", word_count);
    environment.add_filter("indent", indent);
    environment.add_filter("trim", trim);
    environment.add_filter("replace", replace);
    environment.add_filter("center", center);
    environment.add_filter("truncate", truncate);
    environment.add_filter("format", printf::format);
    environment.add_filter("e", escape);
    environment.add_filter("escape", escape);
}

fn add_of_numbers(environment: &mut Environment<'static>) {
    environment.add_filter("int", int);
    environment.add_filter("float", float);
    environment.add_filter("abs", |value: &Value| filters::abs(as_number(value)));
    environment.add_filter("round", round);
}

fn string(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    match python_repr::kind(value) {
        ValueKind::Seq | ValueKind::Map => Ok(Value::from(python_repr::repr(value))),
        ValueKind::Iterable => Err(generators::not_text()),
        _ if is_float(value) => Ok(Value::from(python_repr::repr(value))),
        _ => filters::string(state, value),
    }
}

fn join(
    state: &mut State<'_, '_>,
    value: Value,
    joiner: Option<StringInput<'_>>,
    attribute: Option<&str>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let items = iterated(value)?.try_iter()?;
    let as_text = |item: Value| if is_float(&item) { Value::from(python_repr::repr(&item)) } else { item };
    filters::join(state, &items.map(as_text).collect(), joiner, attribute, kwargs)
}

/// What lines are indented by: a text, or this number of blanks, at most `most`.
fn width(given: Value, most: i64) -> Result<String, Error> {
    match given.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Ok(" ".repeat(usize::try_from(i64::try_from(given)?.clamp(0, most)).unwrap_or_default())),
    }
}

/// `tojson` as transformers has it: `json.dumps` without escapes for HTML.
fn to_json(value: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let named = |i: usize, name: &str| argument(&args, &kwargs, i, name);
    let (ensure_ascii, indent, separators) = (named(0, "ensure_ascii")?, named(1, "indent")?, named(2, "separators")?);
    let sort_keys = is_on(named(3, "sort_keys")?);
    kwargs.assert_all_used()?;
    let indent = indent.map(|indent| width(indent, 64)).transpose()?;
    let separators = separators.map(|given| -> Result<_, Error> {
        let text = |i| Ok::<_, Error>(given.get_item_by_index(i)?.as_str().unwrap_or_default().to_owned());
        Ok((text(0)?, text(1)?))
    });
    let usual = || (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned());
    let (item_separator, key_separator) = separators.transpose()?.unwrap_or_else(usual);
    let style = JsonStyle { indent, item_separator, key_separator, sort_keys, ensure_ascii: is_on(ensure_ascii) };
    python_repr::json(value, &style).map_err(|what| Error::new(ErrorKind::BadSerialization, what))
}

/// Lines as Python tells them, all but the first after blanks.
fn indent(value: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let named = |i: usize, name: &str| argument(&args, &kwargs, i, name);
    let width = width(named(0, "width")?.unwrap_or_else(|| Value::from(4)), 1 << 10)?;
    let (first, blank) = (is_on(named(1, "first")?), is_on(named(2, "blank")?));
    kwargs.assert_all_used()?;
    let text =
        value.as_str().ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "only a string has lines to indent"))?;
    Ok(methods::indented(text, &width, first, blank))
}

/// Another value for what is undefined, and if so told for what is false.
fn default(value: Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let named = |i: usize, name: &str| argument(&args, &kwargs, i, name);
    let is_about_truth = is_on(named(1, "boolean")?);
    // None can be the default.
    let default = if kwargs.has("default_value") { kwargs.get("default_value")? } else { args.first().cloned() };
    kwargs.assert_all_used()?;
    let is_missing = value.is_undefined() || (is_about_truth && !value.is_true());
    Ok(if is_missing { default.unwrap_or_else(|| Value::from("")) } else { value })
}

fn trim(state: &mut State<'_, '_>, value: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let chars = argument(&args, &kwargs, 0, "chars")?;
    kwargs.assert_all_used()?;
    match value.as_str() {
        Some(text) if chars.is_none() && !has_marks(text) => Ok(Value::from(text.trim_matches(is_space))),
        Some(_) => methods::call(state, value, "strip", chars.as_slice()),
        None => Ok(Value::from(value.to_string().trim_matches(is_space))),
    }
}

fn replace(state: &mut State<'_, '_>, value: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let text = |value: Value| if value.as_str().is_some() { value } else { Value::from(value.to_string()) };
    // None is the text `None` here.
    let needed = |i: usize, name: &str| {
        let missing = || Error::new(ErrorKind::MissingArgument, format!("replace needs the argument {name:?}"));
        given_argument(&args, &kwargs, i, name)?.map(text).ok_or_else(missing)
    };
    let (old, new) = (needed(0, "old")?, needed(1, "new")?);
    let most = argument(&args, &kwargs, 2, "count")?.unwrap_or_else(|| Value::from(()));
    kwargs.assert_all_used()?;
    methods::call(state, &text(value.clone()), "replace", &[old, new, most])
}

fn center(value: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let width = argument(&args, &kwargs, 0, "width")?.unwrap_or_else(|| Value::from(80));
    kwargs.assert_all_used()?;
    Ok(Value::from(justified(&value.to_string(), "center", &[width])?))
}

fn truncate(value: Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let named = |i: usize, name: &str| argument(&args, &kwargs, i, name);
    let number = |given: Option<Value>, usual| given.map_or(Ok(usual), usize::try_from);
    let (length, leeway) = (number(named(0, "length")?, 255)?, number(named(3, "leeway")?, 5)?);
    let cuts_words = is_on(named(1, "killwords")?);
    let end = named(2, "end")?.map_or_else(|| "...".to_owned(), |end| end.to_string());
    kwargs.assert_all_used()?;
    match value.as_str() {
        Some(text) => methods::truncated(text, length, cuts_words, &end, leeway),
        None if value.is_undefined() => Ok(value),
        None => Err(Error::new(ErrorKind::InvalidOperation, "only a string can be truncated")),
    }
}

/// How many words a text has, of letters, digits and underscores.
fn word_count(value: &Value) -> usize {
    let text = value.to_string();
    let is_between = |c: char| !(c.is_alphanumeric() || c == '_');
    without_marks(&text).split(is_between).filter(|word| !word.is_empty()).count()
}

fn length(value: &Value) -> Result<usize, Error> {
    match is_namespace(value) {
        true => Err(Error::new(ErrorKind::InvalidOperation, "a namespace has no length")),
        false => filters::length(&unmarked(value)),
    }
}

/// 0 where a value is no number, unless another default is given.
fn int(
    state: &State<'_, '_>,
    value: &Value,
    default: Option<Value>,
    base: Option<u32>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let base = if kwargs.has("base") { kwargs.get("base")? } else { base };
    let int = |value: &Value| match value.as_str().and_then(|text| text.parse::<f64>().ok()) {
        Some(number) if !number.is_finite() => Err(Error::new(ErrorKind::InvalidOperation, "not a whole number")),
        _ => filters::int(state, value, None, base, no_kwargs()),
    };
    number_or_default(value, default.unwrap_or_else(|| Value::from(0)), &kwargs, base.unwrap_or(10), int)
}

/// 0.0 where a value is no number, unless another default is given.
fn float(state: &State<'_, '_>, value: &Value, default: Option<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let float = |value: &Value| filters::float(state, value, None, no_kwargs());
    number_or_default(value, default.unwrap_or_else(|| Value::from(0.0)), &kwargs, 10, float)
}

fn no_kwargs() -> Kwargs {
    std::iter::empty::<(String, Value)>().collect()
}

fn number_or_default(
    value: &Value,
    default: Value,
    kwargs: &Kwargs,
    base: u32,
    number: impl Fn(&Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let default = if kwargs.has("default") { kwargs.get("default")? } else { default };
    kwargs.assert_all_used()?;
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    if value.is_none() {
        return Ok(default);
    }
    let value = as_number(&unmarked(value));
    // As in Python, blanks around a number do not matter.
    let value =
        value.as_str().map(|text| Value::from(joined_digits(text.trim_matches(is_space), base))).unwrap_or(value);
    Ok(number(&value).unwrap_or(default))
}

/// Whether a value is a number that Jinja here may write with other digits than Python.
fn is_float(value: &Value) -> bool {
    value.kind() == ValueKind::Number && !value.is_integer()
}

/// A number without the underscores that may stand between its digits, such as that of `1_000`.
fn joined_digits(text: &str, base: u32) -> String {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_digit(base.clamp(2, 36)));
    let is_between = |(at, _)| is_digit(text[..at].chars().next_back()) && is_digit(text[at + 1..].chars().next());
    if text.match_indices('_').all(is_between) { text.replace('_', "") } else { text.to_owned() }
}

fn round(value: &Value, precision: Option<i32>, method: Option<&str>, kwargs: Kwargs) -> Result<Value, Error> {
    filters::round(as_number(value), precision, method, kwargs)
}

/// Escapes `& < > " '` as `markupsafe` does.
fn escape(value: &Value) -> Value {
    if value.is_safe() {
        return value.clone();
    }
    let text = value.to_string();
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&#34;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    Value::from_safe_string(escaped)
}
