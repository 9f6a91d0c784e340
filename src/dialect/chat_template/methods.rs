//! Python's methods of strings, dicts and lists. Methods of strings see through marks, and their results are marked like the text
//! that they were made of.

use std::ops::Range;

use minijinja::value::{Kwargs, Rest, Value, ValueKind, from_args};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat;

use crate::conversation::is_space;
use crate::dialect::chat_template::format_width::check_format;
use crate::dialect::chat_template::marks::{Marked, has_marks, is_mark, without_marks};
use crate::dialect::chat_template::padding::{justified, zeros};
use crate::dialect::chat_template::python_repr;
use crate::dialect::chat_template::python_str::{between, lines, partition, split, split_white_space, strip};

/// Calls a method that templates expect of Python's values.
pub(super) fn call(state: &mut State<'_, '_>, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    match (value.as_str(), value.kind()) {
        (Some(_), _) if !matches!(method, "format" | "join") && args.iter().any(Value::is_undefined) => {
            Err(Error::new(ErrorKind::UndefinedError, format!("an argument of the method {method} is undefined")))
        }
        (Some(text), _) => match of_string(text, method, args)? {
            Some(result) => Ok(result),
            None => rest_of_string(state, value, text, method, args),
        },
        (None, ValueKind::Map) => of_dict(state, value, method, args),
        (None, ValueKind::Seq) => of_list(state, value, method, args),
        _ => pycompat::unknown_method_callback(state, value, method, args),
    }
}

/// Methods of a dict. Unlike attributes, they are found even if the dict has a key with that name.
pub(super) fn of_dict(state: &mut State<'_, '_>, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    match method {
        // Like a dict in Python, which is not changed by templates.
        "copy" => Ok(value.clone()),
        _ => pycompat::unknown_method_callback(state, value, method, args),
    }
}

fn of_list(state: &mut State<'_, '_>, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    match method {
        // Templates do not change lists either.
        "copy" => from_args::<()>(args).map(|()| value.clone()),
        "index" => {
            let (sought,): (Value,) = from_args(args)?;
            let place = value.try_iter()?.position(|item| item == sought);
            let what = || {
                Error::new(ErrorKind::InvalidOperation, format!("{} is not in the list", python_repr::repr(&sought)))
            };
            place.map(Value::from).ok_or_else(what)
        }
        _ => pycompat::unknown_method_callback(state, value, method, args),
    }
}

/// Methods that give parts of a string, or look for something in it; none for other methods.
fn of_string(text: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    let marked = Text::of(text);
    let plain = marked.plain();
    Ok(Some(match method {
        "strip" | "lstrip" | "rstrip" => {
            let (chars,): (Option<Value>,) = from_args(args)?;
            let is_stripped = stripped(chars.as_ref())?;
            marked.slice(strip(plain, &is_stripped, method != "rstrip", method != "lstrip"))
        }
        "removeprefix" | "removesuffix" => marked.slice(without_affix(plain, method, args)?),
        "split" | "rsplit" => pieces(plain, method, args)?.into_iter().map(|piece| marked.slice(piece)).collect(),
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            let parts = partition(plain, &without_marks(separator), method == "rpartition");
            Value::from(minijinja::value::Tuple::from(parts.map(|part| marked.slice(part))))
        }
        "splitlines" => {
            let (keeps, kwargs): (Option<bool>, Kwargs) = from_args(args)?;
            let keeps = if kwargs.has("keepends") { Some(kwargs.get("keepends")?) } else { keeps };
            kwargs.assert_all_used()?;
            lines(plain, keeps.unwrap_or(false)).into_iter().map(|line| marked.slice(line)).collect()
        }
        "replace" => {
            let (old, new, most): (&str, &str, Option<i64>) = from_args(args)?;
            marked.replace(&without_marks(old), new, most.and_then(|most| usize::try_from(most).ok()))
        }
        "title" => {
            let () = from_args(args)?;
            Value::from(title(text))
        }
        "center" | "ljust" | "rjust" => Value::from(justified(text, method, args)?),
        "zfill" => {
            let (zeros, sign) = (zeros(text, args)?, usize::from(plain.starts_with(['+', '-'])));
            Value::from(format!("{}{zeros}{}", marked.slice(0..sign), marked.slice(sign..plain.len())))
        }
        "count" | "find" | "index" | "rfind" | "rindex" => {
            let (sought, start, end): (&str, Option<i64>, Option<i64>) = from_args(args)?;
            looked_for(plain, &without_marks(sought), method, start, end)?
        }
        "startswith" | "endswith" => Value::from(has_affix(plain, method, args)?),
        "join" => {
            let (items,): (Value,) = from_args(args)?;
            Value::from(joined(text, &iterated(items)?)?)
        }
        _ => return Ok(None),
    }))
}

/// What `removeprefix` and `removesuffix` leave.
fn without_affix(text: &str, method: &str, args: &[Value]) -> Result<Range<usize>, Error> {
    let (affix,): (&str,) = from_args(args)?;
    let affix = without_marks(affix);
    let whole = 0..text.len();
    Ok(match method {
        "removeprefix" => text.strip_prefix(&*affix).map_or(whole, |rest| text.len() - rest.len()..text.len()),
        _ => text.strip_suffix(&*affix).map_or(whole, |rest| 0..rest.len()),
    })
}

/// The pieces of `split` and `rsplit`.
fn pieces(text: &str, method: &str, args: &[Value]) -> Result<Vec<Range<usize>>, Error> {
    let (separator, most) = split_args(args)?;
    let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let from_end = method == "rsplit";
    let Some(separator) = separator.filter(|separator| !separator.is_none()) else {
        return Ok(split_white_space(text, most, from_end));
    };
    let refused = |what: String| Error::new(ErrorKind::InvalidOperation, what);
    match separator.as_str().map(without_marks) {
        Some(separator) if !separator.is_empty() => Ok(split(text, &separator, most, from_end)),
        Some(_) => Err(refused("empty separator".to_owned())),
        None => Err(refused(format!("{method}: the separator must be a string"))),
    }
}

/// Whether a text has one of the affixes of `startswith` and `endswith` between two places.
fn has_affix(text: &str, method: &str, args: &[Value]) -> Result<bool, Error> {
    let (affixes, start, end): (Value, Option<i64>, Option<i64>) = from_args(args)?;
    let affixes = if affixes.is_tuple() { affixes.try_iter()?.collect() } else { vec![affixes] };
    let Some(part) = between(text, start, end).0 else { return Ok(false) };
    for affix in &affixes {
        let affix = affix.as_str().map(without_marks).ok_or_else(|| {
            let what = format!("{method} takes a string or a tuple of strings, not a value of type {}", affix.kind());
            Error::new(ErrorKind::InvalidOperation, what)
        })?;
        let has = if method == "startswith" { part.starts_with(&*affix) } else { part.ends_with(&*affix) };
        if has {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The method `join`, which unlike the filter takes nothing but strings.
fn joined(joiner: &str, items: &Value) -> Result<String, Error> {
    let mut joined = String::new();
    for (i, item) in items.try_iter()?.enumerate() {
        let text = item.as_str().ok_or_else(|| {
            let what = format!("join: item {i} is no string but a value of type {}", item.kind());
            Error::new(ErrorKind::InvalidOperation, what)
        })?;
        joined.push_str(if i > 0 { joiner } else { "" });
        joined.push_str(text);
    }
    Ok(joined)
}

/// What Python's methods say of where a text is in another one, between two places.
fn looked_for(text: &str, sought: &str, method: &str, start: Option<i64>, end: Option<i64>) -> Result<Value, Error> {
    let (part, first) = between(text, start, end);
    if method == "count" {
        return Ok(Value::from(part.map_or(0, |part| part.matches(sought).count())));
    }
    let found = part.and_then(|part| {
        let at = if method.starts_with('r') { part.rfind(sought) } else { part.find(sought) }?;
        Some(first + part[..at].chars().count())
    });
    match found {
        Some(at) => Ok(Value::from(at)),
        None if method.ends_with("find") => Ok(Value::from(-1)),
        None => Err(Error::new(ErrorKind::InvalidOperation, "substring not found")),
    }
}

/// `str.title`: a letter behind another one is a small one, marks aside.
fn title(text: &str) -> String {
    let mut titled = String::with_capacity(text.len());
    let mut is_behind_letter = false;
    for c in text.chars() {
        if is_mark(c) {
            titled.push(c);
            continue;
        }
        let mut capital = c.to_uppercase();
        match capital.next().filter(|_| !is_behind_letter) {
            // One that becomes several, as ß does, has one capital letter.
            Some(first) => titled.extend(std::iter::once(first).chain(capital.flat_map(char::to_lowercase))),
            None => titled.extend(c.to_lowercase()),
        }
        is_behind_letter = c.is_lowercase() || c.is_uppercase();
    }
    titled
}

/// A string whose lines begin with `width`: those that are blank too if so told, and the first one.
pub(super) fn indented(text: &str, width: &str, first: bool, blank: bool) -> Value {
    let text = Text::of(text);
    let mut indented = String::with_capacity(text.plain().len() * 2);
    // A line end behind the text is a line more.
    for (i, line) in lines(&format!("{}\n", text.plain()), false).into_iter().enumerate() {
        if i > 0 {
            indented.push('\n');
        }
        let is_indented = if i == 0 { first } else { blank || !line.is_empty() };
        indented.push_str(if is_indented { width } else { "" });
        indented.push_str(text.slice(line).as_str().unwrap_or_default());
    }
    Value::from(indented)
}

/// A string of at most `length` characters and `end` as the last of them, or up to `leeway` more characters without it. The
/// last word is dropped, unless words may be cut.
pub(super) fn truncated(text: &str, length: usize, cuts_words: bool, end: &str, leeway: usize) -> Result<Value, Error> {
    let text = Text::of(text);
    let (plain, end_length) = (text.plain(), without_marks(end).chars().count());
    let Some(kept) = length.checked_sub(end_length) else {
        let what = format!("truncate: the length {length} has no room for the end {end:?}");
        return Err(Error::new(ErrorKind::InvalidOperation, what));
    };
    if plain.chars().count() <= length.saturating_add(leeway) {
        return Ok(text.slice(0..plain.len()));
    }
    let cut = plain.char_indices().nth(kept).map_or(plain.len(), |(at, _)| at);
    let cut = plain[..cut].rfind(' ').filter(|_| !cuts_words).unwrap_or(cut);
    Ok(Value::from(format!("{}{end}", text.slice(0..cut))))
}

/// Methods that are the same for all strings, on the text without marks if they only look at it.
fn rest_of_string(
    state: &mut State<'_, '_>,
    value: &Value,
    text: &str,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    if method == "format" {
        check_format(text, args)?;
    }
    let makes_text = matches!(method, "upper" | "lower" | "capitalize" | "format");
    if makes_text || !(has_marks(text) || args.iter().any(is_marked)) {
        return pycompat::unknown_method_callback(state, value, method, args);
    }
    let plain = Value::from(without_marks(text).into_owned());
    let args: Vec<Value> = args.iter().map(unmarked).collect();
    pycompat::unknown_method_callback(state, &plain, method, &args)
}

fn is_marked(value: &Value) -> bool {
    value.as_str().is_some_and(has_marks)
}

/// A string without its marks; other values as they are.
pub(super) fn unmarked(value: &Value) -> Value {
    match value.as_str() {
        Some(text) if has_marks(text) => Value::from(without_marks(text).into_owned()),
        _ => value.clone(),
    }
}

/// What may be looped over, which None in Python is not. A string is its characters, each with the marks of the string. What
/// comes one by one is made a list, because a loop knows its last item and its length.
pub(super) fn iterated(value: Value) -> Result<Value, Error> {
    match value.as_str() {
        _ if value.is_none() => Err(Error::new(ErrorKind::InvalidOperation, "None is not iterable")),
        _ if python_repr::is_namespace(&value) => {
            Err(Error::new(ErrorKind::InvalidOperation, "a namespace is not iterable"))
        }
        Some(text) => Ok(characters(text)),
        None if value.kind() == ValueKind::Iterable => Ok(value.try_iter()?.collect()),
        None => Ok(value),
    }
}

/// The characters of a string.
fn characters(text: &str) -> Value {
    let text = Text::of(text);
    text.plain().char_indices().map(|(at, c)| text.slice(at..at + c.len_utf8())).collect()
}

fn split_args(args: &[Value]) -> Result<(Option<Value>, Option<i64>), Error> {
    let (rest, kwargs): (Rest<Value>, Kwargs) = from_args(args)?;
    let (mut separator, mut most) =
        (rest.first().cloned(), rest.get(1).map(|most| i64::try_from(most.clone())).transpose()?);
    if kwargs.has("sep") {
        separator = kwargs.get("sep")?;
    }
    if kwargs.has("maxsplit") {
        most = kwargs.get("maxsplit")?;
    }
    kwargs.assert_all_used()?;
    Ok((separator, most))
}

/// Which characters are stripped: some, or white space.
fn stripped(chars: Option<&Value>) -> Result<impl Fn(char) -> bool, Error> {
    let chars = match chars.filter(|chars| !chars.is_none()) {
        None => None,
        Some(chars) => {
            let chars = chars
                .as_str()
                .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "strip: the characters must be a string"))?;
            Some(without_marks(chars).into_owned())
        }
    };
    Ok(move |c| chars.as_ref().map_or_else(|| is_space(c), |chars| chars.contains(c)))
}

/// A string with or without marks.
enum Text<'a> {
    Plain(&'a str),
    Marked(Marked),
}

impl<'a> Text<'a> {
    fn of(text: &'a str) -> Self {
        if !has_marks(text) {
            return Self::Plain(text);
        }
        Marked::read(text).map_or(Self::Plain(text), Self::Marked)
    }

    fn plain(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Marked(marked) => &marked.text,
        }
    }

    fn slice(&self, bytes: Range<usize>) -> Value {
        match self {
            Self::Plain(text) => Value::from(&text[bytes]),
            Self::Marked(marked) => Value::from(marked.slice(bytes)),
        }
    }

    fn replace(&self, old: &str, new: &str, most: Option<usize>) -> Value {
        let marked = match self {
            Self::Plain(text) => {
                return Value::from(most.map_or_else(|| text.replace(old, new), |most| text.replacen(old, new, most)));
            }
            Self::Marked(marked) => marked,
        };
        let (mut replaced, mut start) = (String::new(), 0);
        for (at, _) in marked.text.match_indices(old).take(most.unwrap_or(usize::MAX)) {
            replaced.push_str(&marked.slice(start..at));
            replaced.push_str(new);
            start = at + old.len();
        }
        replaced.push_str(&marked.slice(start..marked.text.len()));
        Value::from(replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::chat_template::marks::{Owner, mark};

    /// Every method gives the same with marks and without, apart from the marks.
    #[test]
    fn marks_change_no_result() {
        let texts = [
            "",
            " ",
            "a",
            " a b ",
            "\n\n<think>\nx\n</think>\n\ny \r\n z\u{1c}",
            "aXbXXc",
            "XX",
            "-1",
            "a\u{a0}ß\u{2028}b",
        ];
        let calls: &[(&str, &[Value])] = &[
            ("strip", &[]),
            ("lstrip", &["\n".into()]),
            ("rstrip", &[]),
            ("strip", &["aX ".into()]),
            ("split", &[]),
            ("rsplit", &[]),
            ("split", &[().into(), 1.into()]),
            ("rsplit", &[().into(), 1.into()]),
            ("split", &["X".into()]),
            ("rsplit", &["X".into(), 1.into()]),
            ("split", &["</think>".into()]),
            ("partition", &["X".into()]),
            ("rpartition", &["X".into()]),
            ("splitlines", &[]),
            ("splitlines", &[true.into()]),
            ("replace", &["X".into(), "yy".into()]),
            ("replace", &["X".into(), "".into(), 1.into()]),
            ("removeprefix", &["a".into()]),
            ("removesuffix", &["c".into()]),
            ("title", &[]),
            ("center", &[8.into(), "*".into()]),
            ("ljust", &[5.into()]),
            ("rjust", &[6.into(), "é".into()]),
            ("zfill", &[7.into()]),
            ("count", &["X".into()]),
            ("find", &["X".into(), 2.into()]),
            ("rindex", &["".into(), 0.into()]),
            ("startswith", &["X".into(), 1.into()]),
        ];
        for text in texts {
            let marked = mark(text, Owner::new(4));
            for (method, args) in calls {
                let plain = of_string(text, method, args).expect("it works").expect("it is known");
                let seen = of_string(&marked, method, args).expect("it works").expect("it is known");
                let flat = |value: &Value| match value.as_str() {
                    Some(text) => vec![without_marks(text).into_owned()],
                    None if value.try_iter().is_err() => vec![value.to_string()],
                    None => value
                        .try_iter()
                        .expect("a list")
                        .map(|item| without_marks(item.as_str().expect("text")).into_owned())
                        .collect(),
                };
                assert_eq!(flat(&seen), flat(&plain), "{method} {args:?} of {text:?}");
            }
        }
    }
}
