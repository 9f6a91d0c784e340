//! Jinja as transformers sets it up: its white space rules, functions and tests.

use jiff::civil::DateTime;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior, escape_formatter, tests};

use crate::dialect::chat_template::attributes::{ATTRIBUTE, attribute};
use crate::dialect::chat_template::float::as_number;
use crate::dialect::chat_template::for_minijinja::ITERATED;
use crate::dialect::chat_template::marks::without_marks;
use crate::dialect::chat_template::methods::{self, iterated};
use crate::dialect::chat_template::parameters::{ARGUMENT, GIVEN, argument, given};
use crate::dialect::chat_template::python_repr::{self, is_namespace};
use crate::dialect::chat_template::values::Dict;
use crate::dialect::chat_template::{filters, generators};

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
    add_functions(&mut environment);
    add_filters_of_rewriting(&mut environment);
    filters::add(&mut environment);
    add_tests(&mut environment);
    environment
}

fn add_functions(environment: &mut Environment<'static>) {
    environment.add_function("raise_exception", raise_exception);
    environment.add_function(TELLS_TIME, strftime_now);
    // `self` names the template's blocks, of which chat templates have none.
    environment.add_global("self", Value::from_object(Dict(Vec::new())));
    // Not in Jinja2 as transformers has it.
    environment.remove_global("debug");
}

/// What templates are rewritten with for minijinja.
fn add_filters_of_rewriting(environment: &mut Environment<'static>) {
    environment.add_filter(ITERATED.trim_end(), iterated);
    environment.add_filter(ATTRIBUTE, attribute);
    environment.add_filter(ARGUMENT, argument);
    environment.add_filter(GIVEN, given);
}

fn add_tests(environment: &mut Environment<'static>) {
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
            // `#` writes these in capitals.
            '#' if rest[at + 2..].starts_with(['a', 'A', 'b', 'B', 'h']) => translated += "%^",
            directive => translated.extend(['%', directive]),
        }
        rest = &rest[at + 1 + directive.len_utf8()..];
    }
    // A sign alone at the end.
    translated + &rest.replace('%', "%%")
}

fn raise_exception(what: &Value) -> Result<Value, Error> {
    let text = what.as_str().map_or_else(|| python_repr::repr(what), str::to_owned);
    let what = without_marks(&text).into_owned();
    Err(Error::new(ErrorKind::InvalidOperation, what.clone()).with_source(Raised(what)))
}
