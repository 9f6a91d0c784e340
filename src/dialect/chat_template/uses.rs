//! What a template may do with contents: comparisons, filters and methods.

use minijinja::Value;
use minijinja::machinery::ast::{CallArg, CompareOpKind, Expr};

use crate::conversation::is_space;
use crate::dialect::chat_template::expressions::item_of;
use crate::dialect::chat_template::flow::{Analysis, Flow, Names};
use crate::dialect::chat_template::kinds::{Kind, ROLES};

type Arguments<'t> = &'t [CallArg<'t>];

impl<'t> Flow<'t> {
    /// A comparison, which has the same result for all plain chats in which nothing is found that is sought.
    pub(super) fn compare(
        &mut self,
        by: CompareOpKind,
        left: &'t Expr<'t>,
        right: &'t Expr<'t>,
        names: &mut Names<'t>,
    ) -> Analysis<Kind> {
        use CompareOpKind::{Eq, In, Ne, NotIn};
        let kinds = (self.kind(left, names)?, self.kind(right, names)?);
        let (known_left, known_right) = (left.as_const(), right.as_const());
        match (by, kinds) {
            (Eq | Ne, (Kind::Role, Kind::Fixed)) if known_right.as_ref().is_some_and(is_other_role) => {
                return Ok(Kind::Known(matches!(by, Ne)));
            }
            (In | NotIn, (Kind::Role, Kind::Fixed)) if known_right.as_ref().is_some_and(are_other_roles) => {
                return Ok(Kind::Known(matches!(by, NotIn)));
            }
            (In | NotIn, (Kind::Fixed, Kind::Message)) if is_other_key(known_left.as_ref()) => {
                return Ok(Kind::Known(matches!(by, NotIn)));
            }
            (_, (left, right)) if left.is_fixed() && right.is_fixed() => {}
            (_, (Kind::Length, _)) if is_zero(known_right.as_ref()) => {}
            (_, (_, Kind::Length)) if is_zero(known_left.as_ref()) => {}
            (Eq | Ne, (kind, _)) if known_right.is_some() => self.equals(kind, known_right)?,
            (Eq | Ne, (_, kind)) if known_left.is_some() => self.equals(kind, known_left)?,
            (In | NotIn, (kind, Kind::Content | Kind::Text | Kind::Texts)) if kind.is_fixed() => {
                self.seek(known_left)?
            }
            (In | NotIn, (kind, Kind::Message | Kind::Perhaps | Kind::Part)) if kind.is_fixed() => {}
            (In | NotIn, (Kind::Content | Kind::Text, _))
                if known_right.as_ref().is_some_and(|right| !is_string(right)) =>
            {
                self.seek(known_right)?;
            }
            _ => return Err("compares contents with what its code does not tell"),
        }
        Ok(Kind::Fixed)
    }

    /// Whether a text is this constant.
    fn equals(&mut self, kind: Kind, constant: Option<Value>) -> Analysis<()> {
        match (kind, constant) {
            (Kind::Content | Kind::Text | Kind::Joined, Some(constant)) if is_plain(&constant) => Ok(()),
            (Kind::Content | Kind::Text, constant) if constant.as_ref().is_some_and(is_string) => self.seek(constant),
            (Kind::Message | Kind::Perhaps | Kind::Parts, Some(constant)) if is_plain(&constant) => Ok(()),
            _ => Err("compares contents with what its code does not tell"),
        }
    }

    /// Looks for a text in contents, or for each text of a list.
    fn seek(&mut self, constant: Option<Value>) -> Analysis<()> {
        let not_told = "looks in contents for what its code does not tell";
        let constant = constant.ok_or(not_told)?;
        let texts: Vec<Value> =
            if is_string(&constant) { vec![constant] } else { constant.try_iter().map_err(|_| not_told)?.collect() };
        for text in texts {
            let text = text.as_str().filter(|text| !text.is_empty()).ok_or(not_told)?;
            self.sought.insert(text.to_owned());
        }
        Ok(())
    }

    /// What a filter makes of a value.
    pub(super) fn made_by(
        &mut self,
        kind: Kind,
        name: &str,
        of: Arguments<'t>,
        names: &mut Names<'t>,
    ) -> Analysis<Kind> {
        let arguments = self.arguments(of, names)?;
        let is_fixed = arguments.iter().all(|(_, kind)| kind.is_fixed());
        match (kind, name) {
            (Kind::Any, _) => Err("filters one of several values"),
            (Kind::Undefined, "default" | "d") if arguments.is_empty() => Ok(Kind::Fixed),
            (kind, "default" | "d") => Ok(arguments.iter().fold(kind, |kind, (_, argument)| kind.or(*argument))),
            _ if !is_fixed => Err("gives contents to a filter"),
            (kind, _) if kind.is_fixed() => Ok(Kind::Fixed),
            (Kind::Content | Kind::Text | Kind::Joined, "string" | "safe") => Ok(kind),
            (Kind::Content | Kind::Text | Kind::Joined, "trim") => self.stripped(kind, of),
            (Kind::Content | Kind::Text | Kind::Joined, "length" | "count") => Ok(Kind::Length),
            (Kind::Content | Kind::Text, "replace") => self.searched(kind, of),
            (Kind::Messages | Kind::Texts | Kind::Parts, "length" | "count") => Ok(Kind::Fixed),
            (Kind::Messages | Kind::Texts | Kind::Parts, "list" | "reverse") => Ok(kind),
            (Kind::Messages | Kind::Texts | Kind::Parts, "first" | "last") => item_of(kind),
            (Kind::Texts, "join") => Ok(Kind::Joined),
            (Kind::Messages, "selectattr" | "rejectattr") => match named(of).as_deref() {
                Some(name) if !name.starts_with("content") => Ok(Kind::Messages),
                _ => Err("selects messages by contents"),
            },
            (Kind::Messages, "map") => match named(of).as_deref() {
                Some("role") => Ok(Kind::Fixed),
                Some("content") if !self.has_parts => Ok(Kind::Texts),
                _ => Err("maps messages"),
            },
            (Kind::Parts, "selectattr" | "rejectattr") if named(of).as_deref() == Some("type") => Ok(kind),
            (Kind::Parts, "map") if named(of).as_deref() == Some("text") => Ok(Kind::Texts),
            _ => Err("filters contents"),
        }
    }

    /// What a method gives.
    pub(super) fn method(
        &mut self,
        kind: Kind,
        name: &str,
        of: Arguments<'t>,
        names: &mut Names<'t>,
    ) -> Analysis<Kind> {
        let arguments = self.arguments(of, names)?;
        let is_fixed = arguments.iter().all(|(_, kind)| kind.is_fixed());
        match (kind, name) {
            (kind, "join") if kind.is_fixed() && arguments.iter().all(|(_, kind)| *kind == Kind::Texts) => {
                Ok(Kind::Joined)
            }
            _ if !is_fixed => Err("gives contents to a method"),
            (Kind::MessageLoop | Kind::Loop, _) => Ok(Kind::Fixed),
            (kind, _) if kind.is_fixed() => Ok(Kind::Fixed),
            (Kind::Message | Kind::Perhaps | Kind::Part, "get") => match constant(of.first()) {
                Some(key) if is_string(&key) => {
                    let kind = self.attribute(kind, key.as_str().unwrap_or_default())?;
                    Ok(arguments.get(1).map_or(kind, |_| if kind == Kind::Undefined { Kind::Fixed } else { kind }))
                }
                _ => Err("takes something of a message by a key that its code does not tell"),
            },
            (Kind::Message | Kind::Perhaps | Kind::Part, "keys") => Ok(Kind::Fixed),
            (Kind::Content | Kind::Text | Kind::Joined, "strip" | "lstrip" | "rstrip") => self.stripped(kind, of),
            (
                Kind::Content | Kind::Text,
                "startswith" | "endswith" | "count" | "find" | "index" | "rfind" | "rindex",
            ) => self.searched(Kind::Fixed, of),
            (Kind::Content | Kind::Text, "split" | "rsplit" | "partition" | "rpartition") => {
                self.searched(Kind::Texts, of)
            }
            (Kind::Content | Kind::Text, "replace" | "removeprefix" | "removesuffix") => self.searched(kind, of),
            _ => Err("calls a method of contents"),
        }
    }

    /// A text without some characters at its ends. White space is told at the ends of contents; the others are sought.
    fn stripped(&mut self, kind: Kind, of: Arguments<'t>) -> Analysis<Kind> {
        let Some(first) = of.first() else { return Ok(kind) };
        let characters = constant(Some(first)).ok_or("strips what its code does not tell")?;
        if !characters.is_none() {
            let characters = characters.as_str().ok_or("strips what its code does not tell")?;
            self.sought.extend(characters.chars().filter(|c| !is_space(*c)).map(String::from));
        }
        Ok(kind)
    }

    /// What is given for a text in which the first argument is not found.
    fn searched(&mut self, given: Kind, of: Arguments<'t>) -> Analysis<Kind> {
        self.seek(constant(of.first()))?;
        Ok(given)
    }
}

/// An argument by its place, if it is constant.
fn constant(argument: Option<&CallArg<'_>>) -> Option<Value> {
    match argument {
        Some(CallArg::Pos(value)) => value.as_const(),
        _ => None,
    }
}

/// The name of an attribute, as the first argument or as `attribute`.
fn named(of: Arguments<'_>) -> Option<String> {
    let value = match of.first()? {
        CallArg::Pos(value) | CallArg::Kwarg("attribute", value) => value.as_const()?,
        _ => return None,
    };
    value.as_str().map(str::to_owned)
}

/// Whether no message has this role.
fn is_other_role(role: &Value) -> bool {
    role.as_str().is_some_and(|role| !ROLES.contains(&role))
}

/// Whether no message has a role of this list. A text instead of a list contains many texts.
fn are_other_roles(list: &Value) -> bool {
    !is_string(list) && list.try_iter().is_ok_and(|mut roles| roles.all(|role| is_other_role(&role)))
}

/// Whether no message has this key.
fn is_other_key(constant: Option<&Value>) -> bool {
    constant.and_then(Value::as_str).is_some_and(|key| !matches!(key, "role" | "content"))
}

fn is_string(value: &Value) -> bool {
    value.as_str().is_some()
}

/// Whether a text is this only if it is empty, or never.
fn is_plain(value: &Value) -> bool {
    value.as_str() == Some("") || value.is_none() || value.is_undefined() || value.is_number() || is_boolean(value)
}

fn is_boolean(value: &Value) -> bool {
    value.kind() == minijinja::value::ValueKind::Bool
}

fn is_zero(value: Option<&Value>) -> bool {
    value.and_then(Value::as_i64) == Some(0)
}
