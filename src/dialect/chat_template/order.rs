//! Filters that compare values: `sort`, `dictsort`, `min`, `max`, `unique` and `groupby`. Marks in texts do not matter to them.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use minijinja::value::{Enumerator, Kwargs, Object, ObjectRepr, Rest, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};

use crate::dialect::chat_template::arguments::{argument, is_on};
use crate::dialect::chat_template::float::as_number;
use crate::dialect::chat_template::generators::generator;
use crate::dialect::chat_template::marks::without_marks;
use crate::dialect::chat_template::methods::iterated;
use crate::dialect::chat_template::python_repr::{kind, pairs};

/// Puts them in the place of those that compare texts with their marks.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("sort", sort);
    environment.add_filter("dictsort", dictsort);
    environment.add_filter("min", |state: &State<'_, '_>, value: Value, args: Rest<Value>, kwargs: Kwargs| {
        extreme(state, value, &args, &kwargs, false)
    });
    environment.add_filter("max", |state: &State<'_, '_>, value: Value, args: Rest<Value>, kwargs: Kwargs| {
        extreme(state, value, &args, &kwargs, true)
    });
    environment.add_filter("unique", unique);
    environment.add_filter("groupby", groupby);
}

fn sort(state: &State<'_, '_>, value: Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let named = |i: usize, name: &str| argument(&args, &kwargs, i, name);
    let (is_reverse, keeps_case) = (is_on(named(0, "reverse")?), is_on(named(1, "case_sensitive")?));
    let attributes = named(2, "attribute")?.map(|names| names.to_string());
    kwargs.assert_all_used()?;
    let keyed = iterated(value)?.try_iter()?.map(|item| {
        // As in Jinja2, the key is a list, so that values which are equal need no order.
        let attributes = attributes.as_deref().map(|names| names.split(',').map(Some));
        let parts = attributes.map_or_else(|| vec![None], Iterator::collect);
        let part = |name| part_of_key(state, &attribute(&item, name, None)?, keeps_case);
        Ok((parts.into_iter().map(part).collect::<Result<Vec<Value>, Error>>()?.into(), item))
    });
    let sorted = sorted(state, keyed.collect::<Result<_, Error>>()?, is_reverse)?;
    Ok(sorted.into_iter().map(|(_, item)| item).collect())
}

fn dictsort(state: &State<'_, '_>, value: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let named = |i: usize, name: &str| argument(&args, &kwargs, i, name);
    let (keeps_case, by, is_reverse) =
        (is_on(named(0, "case_sensitive")?), named(1, "by")?, is_on(named(2, "reverse")?));
    kwargs.assert_all_used()?;
    let by_value = match by.as_ref().map(|by| by.as_str()) {
        None | Some(Some("key")) => false,
        Some(Some("value")) => true,
        _ => return Err(Error::new(ErrorKind::InvalidOperation, "dictsort sorts by \"key\" or \"value\"")),
    };
    if value.kind() != ValueKind::Map {
        let what = format!("dictsort sorts a dict, not a value of type {}", value.kind());
        return Err(Error::new(ErrorKind::InvalidOperation, what));
    }
    let keyed = pairs(value).map(|(name, item)| {
        let key = part_of_key(state, if by_value { &item } else { &name }, keeps_case)?;
        Ok((key, Value::from((name, item))))
    });
    let sorted = sorted(state, keyed.collect::<Result<_, Error>>()?, is_reverse)?;
    Ok(sorted.into_iter().map(|(_, item)| item).collect())
}

/// The first of the least or greatest items; undefined if there is none.
fn extreme(
    state: &State<'_, '_>,
    value: Value,
    args: &[Value],
    kwargs: &Kwargs,
    is_greatest: bool,
) -> Result<Value, Error> {
    let keeps_case = is_on(argument(args, kwargs, 0, "case_sensitive")?);
    let name = argument(args, kwargs, 1, "attribute")?.map(|name| name.to_string());
    kwargs.assert_all_used()?;
    let mut keyed = keyed(state, value, name.as_deref(), None, keeps_case)?.into_iter();
    let Some((mut key, mut item)) = keyed.next() else { return Ok(Value::UNDEFINED) };
    for (other_key, other) in keyed {
        if let Some(kinds) = without_order(&other_key, &key) {
            return Err(no_order(kinds));
        }
        if other_key.cmp(&key) == if is_greatest { Ordering::Greater } else { Ordering::Less } {
            (key, item) = (other_key, other);
        }
    }
    Ok(item)
}

fn unique(state: &State<'_, '_>, value: Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let keeps_case = is_on(argument(&args, &kwargs, 0, "case_sensitive")?);
    let name = argument(&args, &kwargs, 1, "attribute")?.map(|name| name.to_string());
    kwargs.assert_all_used()?;
    let (mut seen, mut items) = (BTreeSet::new(), Vec::new());
    for (key, item) in keyed(state, value, name.as_deref(), None, keeps_case)? {
        if !has_hash(&key) {
            let what = format!("unique compares no lists and dicts, and an item is of type {}", kind(&key));
            return Err(Error::new(ErrorKind::InvalidOperation, what));
        }
        if seen.insert(key) {
            items.push(item);
        }
    }
    generator(Ok(items))
}

/// Whether Python finds a value in a set.
fn has_hash(value: &Value) -> bool {
    match kind(value) {
        ValueKind::Seq => value.is_tuple() && value.try_iter().into_iter().flatten().all(|item| has_hash(&item)),
        ValueKind::Map => false,
        _ => true,
    }
}

fn groupby(state: &State<'_, '_>, value: Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let named = |i: usize, name: &str| argument(&args, &kwargs, i, name);
    let (name, default) = (named(0, "attribute")?.map(|name| name.to_string()), named(1, "default")?);
    let keeps_case = is_on(named(2, "case_sensitive")?);
    kwargs.assert_all_used()?;
    let name = name.ok_or_else(|| Error::new(ErrorKind::MissingArgument, "groupby needs an attribute"))?;
    let keyed = keyed(state, value, Some(&name), default.as_ref(), keeps_case)?;
    let (mut groups, mut last): (Vec<Group>, Option<Value>) = (Vec::new(), None);
    for (key, item) in sorted(state, keyed, false)? {
        match groups.last_mut().filter(|_| last.as_ref() == Some(&key)) {
            Some(group) => group.items.push(item),
            None => {
                let by = attribute(&item, Some(&name), default.as_ref())?;
                groups.push(Group { by, items: vec![item] });
                last = Some(key);
            }
        }
    }
    Ok(groups.into_iter().map(Value::from_object).collect())
}

/// Items that have something in common, with what that is.
#[derive(Debug)]
struct Group {
    by: Value,
    items: Vec<Value>,
}

impl Object for Group {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match (key.as_usize(), key.as_str()) {
            (Some(0), _) | (_, Some("grouper")) => Some(self.by.clone()),
            (Some(1), _) | (_, Some("list")) => Some(self.items.clone().into()),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(2)
    }
}

/// The items of a value with what they are compared by: themselves, or one of their attributes.
fn keyed(
    state: &State<'_, '_>,
    value: Value,
    name: Option<&str>,
    default: Option<&Value>,
    keeps_case: bool,
) -> Result<Vec<(Value, Value)>, Error> {
    let keyed = iterated(value)?
        .try_iter()?
        .map(|item| Ok((part_of_key(state, &attribute(&item, name, default)?, keeps_case)?, item)));
    keyed.collect()
}

/// What stands in an item under a name such as `function.name` or `0`, or the item itself.
fn attribute(item: &Value, name: Option<&str>, default: Option<&Value>) -> Result<Value, Error> {
    let mut value = item.clone();
    for part in name.into_iter().flat_map(|name| name.split('.')) {
        value = match (part.parse::<usize>(), part.strip_prefix('-').map(str::parse::<usize>)) {
            (Ok(index), _) => value.get_item_by_index(index)?,
            (_, Some(Ok(behind))) => match value.len().and_then(|len| len.checked_sub(behind)) {
                Some(index) => value.get_item_by_index(index)?,
                None => Value::UNDEFINED,
            },
            _ => value.get_attr(part)?,
        };
        if let Some(default) = default.filter(|_| value.is_undefined()) {
            value = default.clone();
        }
    }
    Ok(value)
}

/// What a value is compared by: texts have no marks, and if so told no case.
fn part_of_key(state: &State<'_, '_>, value: &Value, keeps_case: bool) -> Result<Value, Error> {
    let text = value.as_str().map(without_marks);
    state.consume_fuel(1 + text.as_ref().map_or(0, |text| text.len() as u64 / 64))?;
    Ok(match (text, kind(value)) {
        (Some(text), _) if keeps_case => Value::from(&*text),
        (Some(text), _) => Value::from(text.to_lowercase()),
        (None, ValueKind::Bool) => Value::from(i64::from(value.is_true())),
        (None, ValueKind::Seq) => {
            let items = value.try_iter()?.map(|item| part_of_key(state, &item, true));
            let items = items.collect::<Result<Vec<Value>, Error>>()?;
            if value.is_tuple() { minijinja::value::Tuple::from(items).into() } else { items.into() }
        }
        (None, _) => as_number(value),
    })
}

/// Items in the order of what stands before each. Equal ones stay in their order.
fn sorted(
    state: &State<'_, '_>,
    mut keyed: Vec<(Value, Value)>,
    is_reverse: bool,
) -> Result<Vec<(Value, Value)>, Error> {
    state.consume_fuel(keyed.len() as u64 * u64::from(1 + keyed.len().max(1).ilog2()))?;
    keyed.sort_by(|(one, _), (other, _)| if is_reverse { other.cmp(one) } else { one.cmp(other) });
    match keyed.windows(2).find_map(|pair| without_order(&pair[0].0, &pair[1].0)) {
        None => Ok(keyed),
        Some(kinds) => Err(no_order(kinds)),
    }
}

fn no_order((one, other): (ValueKind, ValueKind)) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("values of the types {one} and {other} have no order"))
}

/// The kinds that Python cannot compare in two values, if it cannot say which of the two is less.
fn without_order(one: &Value, other: &Value) -> Option<(ValueKind, ValueKind)> {
    match (kind(one), kind(other)) {
        (ValueKind::String, ValueKind::String) | (ValueKind::Number, ValueKind::Number) => None,
        (ValueKind::Seq, ValueKind::Seq) if one.is_tuple() == other.is_tuple() => {
            let items = |list: &Value| list.try_iter().into_iter().flatten();
            let (one, other) = items(one).zip(items(other)).find(|(one, other)| one.cmp(other) != Ordering::Equal)?;
            without_order(&one, &other)
        }
        kinds => Some(kinds),
    }
}
