//! Filters whose results Jinja2 makes one by one: such a result is true even if nothing comes, has no length, and what was
//! taken from it is gone.

use std::borrow::Cow;

use minijinja::value::{Kwargs, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State, filters};

type Name<'a> = Cow<'a, str>;
type Items = Result<Vec<Value>, Error>;

/// Puts them in the place of those that make lists.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("map", |state: &mut State<'_, '_>, value: Value, args: Rest<ValueOrKwargs>| {
        generator(filters::map(state, value, args))
    });
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
    environment.add_filter("unique", |state: &State<'_, '_>, value: Value, kwargs: Kwargs| {
        generator(items_of(&filters::unique(state, value, kwargs)?))
    });
    environment.add_filter("batch", |state: &State<'_, '_>, value: Value, count: usize, fill_with: Option<Value>| {
        generator(items_of(&filters::batch(state, value, count, fill_with)?))
    });
    environment.add_filter("slice", |state: &State<'_, '_>, value: Value, count: usize, fill_with: Option<Value>| {
        generator(items_of(&filters::slice(state, value, count, fill_with)?))
    });
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

fn items_of(value: &Value) -> Items {
    Ok(value.try_iter()?.collect())
}

fn generator(items: Items) -> Result<Value, Error> {
    Ok(Value::make_one_shot_iterator(items?.into_iter()))
}
