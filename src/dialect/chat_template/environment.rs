//! Jinja as transformers sets it up: its white space rules, functions, filters and tests.

use jiff::civil::DateTime;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, StringInput, Value, ValueKind};
use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior, escape_formatter, filters, tests,
};

use crate::conversation::is_space;
use crate::dialect::chat_template::arguments::{argument, given_argument, is_on};
use crate::dialect::chat_template::attributes::{ATTRIBUTE, attr, attribute};
use crate::dialect::chat_template::float::as_number;
use crate::dialect::chat_template::for_minijinja::ITERATED;
use crate::dialect::chat_template::generators;
use crate::dialect::chat_template::marks::{has_marks, without_marks};
use crate::dialect::chat_template::methods::{self, iterated, unmarked};
use crate::dialect::chat_template::order;
use crate::dialect::chat_template::padding::justified;
use crate::dialect::chat_template::parameters::{ARGUMENT, GIVEN, argument as argument_of_macro, given};
use crate::dialect::chat_template::printf;
use crate::dialect::chat_template::python_repr::{self, JsonStyle, is_namespace};
use crate::dialect::chat_template::values::Dict;

/// How much a template may do: about one unit for an instruction, and one for 64 bytes of text that it makes.
const FUEL: u64 = 20_000_000;
/// How deep macros and blocks may be nested.
const RECURSION: usize = 200;

/// What a template refuses, in its own words (`raise_exception`).
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(super) struct Raised(pub(super) String);

/// The environment of all chat templates.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_syntax(syntax());
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(RECURSION);
    environment.set_unknown_method_callback(methods::call);
    environment.set_formatter(|out, state, value| match python_repr::kind(value) {
        ValueKind::Number | ValueKind::Seq | ValueKind::Map if !value.is_integer() => {
            escape_formatter(out, state, &Value::from(python_repr::repr(value)))
        }
        ValueKind::Iterable => Err(generators::not_text()),
        _ => escape_formatter(out, state, value),
    });
    environment.add_function("raise_exception", raise_exception);
    environment.add_function(TELLS_TIME, strftime_now);
    // `self` names the template's blocks, of which chat templates have none.
    environment.add_global("self", Value::from_object(Dict(Vec::new())));
    environment.add_filter(ITERATED.trim_end(), iterated);
    environment.add_filter(ATTRIBUTE, attribute);
    environment.add_filter(ARGUMENT, argument_of_macro);
    environment.add_filter(GIVEN, given);
    environment.add_filter("attr", attr);
    generators::add(&mut environment);
    order::add(&mut environment);
    environment.add_filter("tojson", to_json);
    environment.add_filter("string", |state: &State<'_, '_>, value: &Value| match python_repr::kind(value) {
        ValueKind::Seq | ValueKind::Map => Ok(Value::from(python_repr::repr(value))),
        ValueKind::Iterable => Err(generators::not_text()),
        _ if is_float(value) => Ok(Value::from(python_repr::repr(value))),
        _ => filters::string(state, value),
    });
    environment.add_filter("list", |state: &State<'_, '_>, value: Value| filters::list(state, iterated(value)?));
    environment.add_filter(
        "join",
        |state: &mut State<'_, '_>,
         value: Value,
         joiner: Option<StringInput<'_>>,
         attribute: Option<&str>,
         kwargs: Kwargs| {
            let items = iterated(value)?.try_iter()?;
            let as_text = |item: Value| if is_float(&item) { Value::from(python_repr::repr(&item)) } else { item };
            filters::join(state, &items.map(as_text).collect(), joiner, attribute, kwargs)
        },
    );
    environment.add_filter("wordcount", word_count);
    environment.add_filter("indent", indent);
    environment.add_filter("default", default);
    environment.add_filter("d", default);
    environment.add_filter("trim", trim);
    environment.add_filter("replace", replace);
    environment.add_filter("center", center);
    environment.add_filter("truncate", truncate);
    environment.add_filter("format", printf::format);
    environment.add_filter("length", length);
    environment.add_filter("count", length);
    environment.add_filter("int", int);
    environment.add_filter("float", float);
    environment.add_filter("abs", |value: &Value| filters::abs(as_number(value)));
    environment.add_filter("round", round);
    environment.add_filter("e", escape);
    environment.add_filter("escape", escape);
    // Not in Jinja2 as transformers has it.
    environment.remove_global("debug");
    for name in ["bool", "lines", "split", "chain", "zip"] {
        environment.remove_filter(name);
    }
    // In Python, None is not iterable, and neither is a namespace, which is no dict.
    environment
        .add_test("iterable", |value: &Value| !value.is_none() && !is_namespace(value) && tests::is_iterable(value));
    environment.add_test("mapping", |value: &Value| !is_namespace(value) && tests::is_mapping(value));
    environment.add_test("even", |value: &Value| divisible(value).map(tests::is_even));
    environment.add_test("odd", |value: &Value| divisible(value).map(tests::is_odd));
    environment.add_test("number", |value: &Value| tests::is_number(&as_number(value)));
    environment.add_test("float", |value: &Value| tests::is_float(&as_number(value)));
    // What has a length and items: dicts and strings, too.
    environment.add_test("sequence", |value: &Value| {
        let has_items = matches!(python_repr::kind(value), ValueKind::Seq | ValueKind::Map | ValueKind::String);
        value.is_undefined() || has_items && !is_namespace(value)
    });
    environment
}

/// A number that may have a remainder.
///
/// # Errors
/// Which kind of value has none.
fn divisible(value: &Value) -> Result<Value, Error> {
    match as_number(value) {
        number if matches!(number.kind(), ValueKind::Number | ValueKind::Bool) => Ok(number),
        other => {
            let what = format!("only a number is even or odd, not a value of type {}", other.kind());
            Err(Error::new(ErrorKind::InvalidOperation, what))
        }
    }
}

/// The white space rules of transformers.
pub(super) fn syntax() -> SyntaxConfig {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    syntax.expect("these are settings of white space alone")
}

/// The function that tells the time.
pub(super) const TELLS_TIME: &str = "strftime_now";
/// The variable with the time that it tells.
pub(super) const NOW: &str = "metatok_now";

/// `strftime_now` as transformers has it: the local time, in Python's formats.
fn strftime_now(state: &State<'_, '_>, format: Option<&str>, kwargs: Kwargs) -> Result<String, Error> {
    let format = format.map_or_else(|| kwargs.get("format"), Ok)?;
    kwargs.assert_all_used()?;
    let now = state.lookup(NOW).and_then(|now| now.as_str()?.parse::<DateTime>().ok());
    let now = now.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "it is unknown what time it is"))?;
    let failed = |error: jiff::Error| Error::new(ErrorKind::InvalidOperation, error.to_string());
    jiff::fmt::strtime::format(of_python(format), now).map_err(failed)
}

/// Directives whose text differs in Python, which has the `C` locale here and a time without a zone.
fn of_python(format: &str) -> String {
    let (mut translated, mut rest) = (String::with_capacity(format.len() + 8), format);
    while let Some(at) = rest.find('%').filter(|at| at + 1 < rest.len()) {
        translated += &rest[..at];
        // Modifiers for eras and digits of other languages, which `C` has none of.
        let modified = rest[at + 1..].strip_prefix(['E', 'O']).and_then(|rest| rest.chars().next());
        let at = at + usize::from(modified.is_some_and(|c| c.is_ascii_alphabetic()));
        let directive = rest[at + 1..].chars().next().unwrap_or('%');
        match directive {
            'f' => translated += "%6f",
            'c' => translated += "%a %b %e %H:%M:%S %Y",
            'x' => translated += "%m/%d/%y",
            'X' => translated += "%H:%M:%S",
            'r' => translated += "%I:%M:%S %p",
            'z' | 'Z' => {}
            directive => translated.extend(['%', directive]),
        }
        rest = &rest[at + 1 + directive.len_utf8()..];
    }
    // A sign alone at the end.
    translated + &rest.replace('%', "%%")
}

fn raise_exception(what: &Value) -> Result<Value, Error> {
    let what = without_marks(&what.to_string()).into_owned();
    Err(Error::new(ErrorKind::InvalidOperation, what.clone()).with_source(Raised(what)))
}

/// What lines are indented by: a text, or so many blanks, `most` at most.
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
