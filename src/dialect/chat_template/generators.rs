//! Filters that return generators in Jinja2: a generator is true even when empty, has no length, and can be read only once.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex};

use minijinja::value::{Enumerator, Kwargs, Object, ObjectRepr, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, filters};

type Name<'a> = Cow<'a, str>;
type Items = Result<Vec<Value>, Error>;

/// Puts them in the place of those that make lists.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("map", |state: &mut State<'_, '_>, value: Value, args: Rest<ValueOrKwargs>| {
        generator(map(state, value, args))
    });
    environment.add_filter(WITH_NAMES, with_names);
    environment.add_filter(
        "select",
        |state: &mut State<'_, '_>, value: Value, test: Option<Name<'_>>, args: Rest<ValueOrKwargs>| {
            generator(filters::select(state, value, test, args))
        },
    );
    environment.add_filter(
        "reject",
        |state: &mut State<'_, '_>, value: Value, test: Option<Name<'_>>, args: Rest<ValueOrKwargs>| {
            generator(filters::reject(state, value, test, args))
        },
    );
    environment.add_filter(
        "selectattr",
        |state: &mut State<'_, '_>, value: Value, name: Name<'_>, test: Option<Name<'_>>, args: Rest<ValueOrKwargs>| {
            generator(filters::selectattr(state, value, name, test, args))
        },
    );
    environment.add_filter(
        "rejectattr",
        |state: &mut State<'_, '_>, value: Value, name: Name<'_>, test: Option<Name<'_>>, args: Rest<ValueOrKwargs>| {
            generator(filters::rejectattr(state, value, name, test, args))
        },
    );
    environment.add_filter(
        "batch",
        |state: &State<'_, '_>, value: Value, count: Option<usize>, fill_with: Option<Value>, kwargs: Kwargs| {
            let (count, fill_with) = group_of(count, "linecount", fill_with, &kwargs)?;
            generator(items_of(&filters::batch(state, value, count, fill_with)?))
        },
    );
    environment.add_filter(
        "slice",
        |state: &State<'_, '_>, value: Value, count: Option<usize>, fill_with: Option<Value>, kwargs: Kwargs| {
            let (count, fill_with) = group_of(count, "slices", fill_with, &kwargs)?;
            generator(items_of(&filters::slice(state, value, count, fill_with)?))
        },
    );
    environment.add_filter("items", |value: &Value| generator(items_of(&filters::items(value)?)));
    environment.add_filter("reverse", |value: &Value| {
        let reversed = filters::reverse(value)?;
        // A string is one in either direction.
        if matches!(reversed.kind(), ValueKind::String | ValueKind::Undefined) {
            return Ok(reversed);
        }
        generator(items_of(&reversed))
    });
}

/// `map`, which gives all arguments to the filter that its first one names. minijinja gives it none that have names.
fn map(state: &mut State<'_, '_>, value: Value, args: Rest<ValueOrKwargs>) -> Items {
    let mut args = args.into_values();
    let named = args.last().and_then(|last| Kwargs::try_from(last.clone()).ok());
    let has_none = |named: &&Kwargs| {
        named.args().count() == 2 && named.has("attribute") && named.get("default").is_ok_and(Value::is_none)
    };
    if let Some(named) = named.as_ref().filter(has_none) {
        // None stands for no default.
        args.pop();
        args.push(Kwargs::from_iter([("attribute", named.get::<Value>("attribute")?)]).into());
        return filters::map(state, value, Rest(args.into_iter().map(Into::into).collect()));
    }
    if let Some(named) = named.filter(|_| args.first().is_some_and(|filter| filter.as_str().is_some())) {
        let names: Vec<String> = named.args().map(str::to_owned).collect();
        let named = names.into_iter().map(|name| Ok((name.clone(), named.get::<Value>(&name)?)));
        let last = args.len() - 1;
        args[last] = named.collect::<Result<Value, Error>>()?;
        args.insert(0, Value::from(WITH_NAMES));
    }
    filters::map(state, value, Rest(args.into_iter().map(Into::into).collect()))
}

/// The filter that `map` calls for another one. Its last argument is a list of names and arguments.
const WITH_NAMES: &str = "metatok_with_names";

fn with_names(state: &mut State<'_, '_>, value: Value, filter: &str, args: Rest<Value>) -> Result<Value, Error> {
    let mut args = [&[value], &args[..]].concat();
    let Some(named) = args.pop() else { return Err(Error::from(ErrorKind::MissingArgument)) };
    let named = named.try_iter()?.map(|pair| Ok((pair.get_item_by_index(0)?.to_string(), pair.get_item_by_index(1)?)));
    args.push(named.collect::<Result<Kwargs, Error>>()?.into());
    state.apply_filter(filter, &args)
}

/// How many there are, and what fills the last group, by place or by name.
fn group_of(
    count: Option<usize>,
    name: &str,
    fill_with: Option<Value>,
    kwargs: &Kwargs,
) -> Result<(usize, Option<Value>), Error> {
    let count = count.map_or_else(|| kwargs.get(name), Ok)?;
    let fill_with = if kwargs.has("fill_with") { kwargs.get("fill_with")? } else { fill_with };
    kwargs.assert_all_used()?;
    Ok((count, fill_with))
}

fn items_of(value: &Value) -> Items {
    Ok(value.try_iter()?.collect())
}

pub(super) fn generator(items: Items) -> Result<Value, Error> {
    Ok(Value::from_object(Generator(Mutex::new(items?.into_iter()))))
}

/// What comes one by one. It has no first item, as in Python.
#[derive(Debug)]
struct Generator(Mutex<std::vec::IntoIter<Value>>);

impl Object for Generator {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn get_value(self: &Arc<Self>, _: &Value) -> Option<Value> {
        Some(Value::UNDEFINED)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let this = Arc::clone(self);
        Enumerator::Iter(Box::new(std::iter::from_fn(move || this.0.lock().ok()?.next())))
    }

    /// Where it is joined with a text. Python would write where it is in memory, too.
    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<generator object>")
    }
}

/// The error of writing what comes one by one. Python would write where it is in memory.
pub(super) fn not_text() -> Error {
    let what = "`map`, `select` and similar filters give a generator, which cannot be written as text; add `| list`";
    Error::new(ErrorKind::InvalidOperation, what)
}
