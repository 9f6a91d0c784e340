//! How the value of an expression of a template depends on contents.

use minijinja::machinery::ast::{
    BinOp, BinOpKind, Call, CallArg, CallType, CompareOpKind, Expr, Map, Test, UnaryOpKind,
};

use crate::dialect::chat_template::flow::{Analysis, FUNCTIONS, Flow, Names};
use crate::dialect::chat_template::for_minijinja::ITERATED;
use crate::dialect::chat_template::kinds::Kind;
use crate::dialect::chat_template::parameters::{ARGUMENT, CALLER, GIVEN};

impl<'t> Flow<'t> {
    pub(super) fn kind(&mut self, expression: &'t Expr<'t>, names: &mut Names<'t>) -> Analysis<Kind> {
        match expression {
            Expr::Var(variable) => self.variable(variable.id, names),
            Expr::Const(constant) if constant.value.is_none() => Ok(Kind::Null),
            Expr::Const(_) => Ok(Kind::Fixed),
            Expr::Slice(slice) => {
                let bounds = [&slice.start, &slice.stop, &slice.step].into_iter().flatten();
                self.are_fixed(bounds, names)?;
                match self.kind(&slice.expr, names)? {
                    kind @ (Kind::Messages | Kind::Texts) => Ok(kind),
                    kind if kind.is_fixed() => Ok(Kind::Fixed),
                    _ => Err("takes some characters of a content"),
                }
            }
            Expr::UnaryOp(operation) if matches!(operation.op, UnaryOpKind::Not) => {
                Ok(self.truth(&operation.expr, names)?.map_or(Kind::Fixed, |is_true| Kind::Known(!is_true)))
            }
            Expr::UnaryOp(operation) => self.are_fixed([&operation.expr], names),
            Expr::BinOp(operation) => self.operation(operation, names),
            Expr::Compare(comparison) => {
                let (mut left, mut kind) = (&comparison.expr, Kind::Fixed);
                for operand in &comparison.ops {
                    kind = self.compare(operand.op, left, &operand.expr, names)?;
                    left = &operand.expr;
                }
                Ok(if comparison.ops.len() == 1 { kind } else { Kind::Fixed })
            }
            Expr::IfExpr(choice) => {
                let otherwise = choice.false_expr.as_ref();
                match self.truth(&choice.test_expr, names)? {
                    Some(true) => self.kind(&choice.true_expr, names),
                    Some(false) => otherwise.map_or(Ok(Kind::Fixed), |otherwise| self.kind(otherwise, names)),
                    None => {
                        let kind = self.kind(&choice.true_expr, names)?;
                        let otherwise = otherwise.map(|otherwise| self.kind(otherwise, names)).transpose()?;
                        Ok(otherwise.map_or(kind.or_undefined(), |otherwise| kind.or(otherwise)))
                    }
                }
            }
            Expr::Filter(filter) => {
                let Some(of) = &filter.expr else { return Err("has an unknown filter") };
                let kind = self.kind(of, names)?;
                self.filtered(kind, expression, names)
            }
            Expr::Test(test) => self.test(test, names),
            Expr::GetAttr(of) => {
                let kind = self.kind(&of.expr, names)?;
                self.attribute(kind, of.name)
            }
            Expr::GetItem(item) => {
                let kind = self.kind(&item.expr, names)?;
                let key = item.subscript_expr.as_const();
                if let Some(name) = key.as_ref().and_then(|key| key.as_str()) {
                    return self.attribute(kind, name);
                }
                self.are_fixed([&item.subscript_expr], names)?;
                let is_of_all = self.is_all_messages(&item.expr, names)
                    && key.is_some_and(|key| matches!(key.as_i64(), Some(0 | -1)));
                match kind {
                    Kind::Messages if is_of_all => Ok(Kind::Message),
                    kind => item_of(kind),
                }
            }
            Expr::Call(call) => self.call(call, None, names),
            Expr::List(list) => self.list(&list.items, names),
            Expr::Tuple(tuple) => self.list(&tuple.items, names),
            Expr::Map(map) => self.map(map, names),
        }
    }

    /// Whether an expression is true, where that is the same for all plain chats.
    pub(super) fn truth(&mut self, expression: &'t Expr<'t>, names: &mut Names<'t>) -> Analysis<Option<bool>> {
        match expression {
            Expr::UnaryOp(operation) if matches!(operation.op, UnaryOpKind::Not) => {
                Ok(self.truth(&operation.expr, names)?.map(|is_true| !is_true))
            }
            Expr::BinOp(operation) if matches!(operation.op, BinOpKind::ScAnd | BinOpKind::ScOr) => {
                let deciding = matches!(operation.op, BinOpKind::ScOr);
                let left = self.truth(&operation.left, names)?;
                if left == Some(deciding) {
                    return Ok(left);
                }
                let right = self.truth(&operation.right, names)?;
                Ok(right.filter(|right| left.is_some() || *right == deciding))
            }
            _ => match self.kind(expression, names)? {
                Kind::Any => Err("tests one of several values"),
                kind => Ok(kind.truth()),
            },
        }
    }

    /// Nothing of contents.
    fn are_fixed(&mut self, all: impl IntoIterator<Item = &'t Expr<'t>>, names: &mut Names<'t>) -> Analysis<Kind> {
        for expression in all {
            if !self.kind(expression, names)?.is_fixed() {
                return Err("works something out of contents");
            }
        }
        Ok(Kind::Fixed)
    }

    fn operation(&mut self, operation: &'t BinOp<'t>, names: &mut Names<'t>) -> Analysis<Kind> {
        let (left, right) = (&operation.left, &operation.right);
        let compared = match operation.op {
            BinOpKind::ScAnd | BinOpKind::ScOr => {
                let deciding = matches!(operation.op, BinOpKind::ScOr);
                let kind = self.kind(left, names)?;
                return match kind.truth() {
                    _ if kind == Kind::Any => Err("tests one of several values"),
                    Some(is_true) if is_true == deciding => Ok(kind),
                    Some(_) => self.kind(right, names),
                    // An empty list has no other messages.
                    None if kind == Kind::Messages && matches!(right, Expr::List(list) if list.items.is_empty()) => {
                        Ok(kind)
                    }
                    None => Ok(kind.or(self.kind(right, names)?)),
                };
            }
            BinOpKind::Add | BinOpKind::Concat => {
                let (left, right) = (self.kind(left, names)?, self.kind(right, names)?);
                return match (left, right) {
                    (left, right) if left.is_text() && right.is_text() => Ok(left.with(right)),
                    (Kind::Messages | Kind::Texts, _) if left == right => Ok(left),
                    _ => Err("joins what is no text"),
                };
            }
            BinOpKind::Sub
            | BinOpKind::Rem
            | BinOpKind::Mul
            | BinOpKind::Div
            | BinOpKind::FloorDiv
            | BinOpKind::Pow => return self.are_fixed([left, right], names),
            BinOpKind::Eq => CompareOpKind::Eq,
            BinOpKind::Ne => CompareOpKind::Ne,
            BinOpKind::Lt => CompareOpKind::Lt,
            BinOpKind::Lte => CompareOpKind::Lte,
            BinOpKind::Gt => CompareOpKind::Gt,
            BinOpKind::Gte => CompareOpKind::Gte,
            BinOpKind::In => CompareOpKind::In,
        };
        self.compare(compared, left, right, names)
    }

    fn list(&mut self, items: &'t [Expr<'t>], names: &mut Names<'t>) -> Analysis<Kind> {
        let kinds = items.iter().map(|item| self.kind(item, names)).collect::<Analysis<Vec<_>>>()?;
        let all = |is: fn(Kind) -> bool| kinds.iter().all(|kind| is(*kind));
        match () {
            () if all(Kind::is_fixed) => Ok(Kind::Fixed),
            () if all(|kind| kind == Kind::Message) => Ok(Kind::Messages),
            () if all(|kind| kind.is_text() && kind != Kind::Joined) => Ok(Kind::Texts),
            () => Err("makes a list of contents"),
        }
    }

    /// A message, or nothing of contents.
    fn map(&mut self, map: &'t Map<'t>, names: &mut Names<'t>) -> Analysis<Kind> {
        let mut is_fixed = true;
        for (key, value) in map.keys.iter().zip(&map.values) {
            let value = self.kind(value, names)?;
            let is_content = key.as_const().is_some_and(|key| key.as_str() == Some("content"));
            if !self.kind(key, names)?.is_fixed()
                || !(value.is_fixed() || is_content && value.or(Kind::Fixed) == Kind::Text && !self.has_parts)
            {
                return Err("makes a dictionary of contents");
            }
            is_fixed &= value.is_fixed();
        }
        Ok(if is_fixed { Kind::Fixed } else { Kind::Perhaps })
    }

    /// What is under a name.
    pub(super) fn attribute(&self, kind: Kind, name: &str) -> Analysis<Kind> {
        let content = if self.has_parts { Kind::Parts } else { Kind::Content };
        match (kind, name) {
            (kind, _) if kind.is_fixed() => Ok(if kind == Kind::Undefined { kind } else { Kind::Fixed }),
            (Kind::Namespace, _) => Ok(self.attribute_of_namespace(name)),
            (Kind::Message, "content") => Ok(content),
            (Kind::Perhaps, "content") => Ok(content.or_undefined()),
            (Kind::Part, "text") => Ok(Kind::Content),
            (Kind::Message, "role") => Ok(Kind::Role),
            (Kind::Message, _) => Ok(Kind::Undefined),
            (Kind::Perhaps | Kind::Part, _) => Ok(Kind::Fixed),
            (Kind::MessageLoop, "previtem" | "nextitem") => Ok(Kind::Perhaps),
            (Kind::Loop, "previtem" | "nextitem") => Err("takes what is beside a content"),
            (Kind::MessageLoop | Kind::Loop, _) => Ok(Kind::Fixed),
            _ => Err("takes something of a content"),
        }
    }

    fn test(&mut self, test: &'t Test<'t>, names: &mut Names<'t>) -> Analysis<Kind> {
        const TYPES: [&str; 14] = [
            "boolean",
            "callable",
            "defined",
            "false",
            "float",
            "integer",
            "iterable",
            "mapping",
            "none",
            "number",
            "sequence",
            "string",
            "true",
            "undefined",
        ];
        let kind = self.kind(&test.expr, names)?;
        let is_known = TYPES.contains(&test.name);
        match kind {
            Kind::Undefined | Kind::Null if matches!(test.name, "mapping" | "string") => Ok(Kind::Known(false)),
            Kind::Undefined if matches!(test.name, "defined" | "none" | "undefined") => {
                Ok(Kind::Known(test.name == "undefined"))
            }
            Kind::Null if matches!(test.name, "defined" | "none" | "undefined") => {
                Ok(Kind::Known(test.name != "undefined"))
            }
            kind if kind.is_fixed() => {
                let kinds = self.arguments(&test.args, names)?;
                if kinds.iter().all(|(_, kind)| kind.is_fixed()) { Ok(Kind::Fixed) } else { Err("tests by contents") }
            }
            Kind::Any => Err("tests one of several values"),
            Kind::Content if is_known => {
                Ok(Kind::Known(matches!(test.name, "defined" | "iterable" | "sequence" | "string")))
            }
            Kind::Parts if is_known => Ok(Kind::Known(matches!(test.name, "defined" | "iterable" | "sequence"))),
            _ if is_known => Ok(Kind::Fixed),
            _ => Err("tests a content"),
        }
    }

    /// The kinds of arguments, with their names if they have one.
    pub(super) fn arguments(
        &mut self,
        arguments: &'t [CallArg<'t>],
        names: &mut Names<'t>,
    ) -> Analysis<Vec<(Option<&'t str>, Kind)>> {
        let kind = |argument: &'t CallArg<'t>| match argument {
            CallArg::Pos(value) => Ok((None, self.kind(value, names)?)),
            CallArg::Kwarg(name, value) => Ok((Some(*name), self.kind(value, names)?)),
            CallArg::PosSplat(values) | CallArg::KwargSplat(values) => {
                self.are_fixed([values], names).map(|kind| (Some("*"), kind))
            }
        };
        arguments.iter().map(kind).collect()
    }

    /// A call; `given` is what its block gives, if it has one.
    pub(super) fn call(&mut self, call: &'t Call<'t>, given: Option<Kind>, names: &mut Names<'t>) -> Analysis<Kind> {
        let name = match call.identify_call() {
            CallType::Function(name) => name,
            CallType::Method(of, name) if given.is_none() => {
                let kind = self.kind(of, names)?;
                return self.method(kind, name, &call.args, names);
            }
            _ => return Err("calls what has no name"),
        };
        if name == CALLER && call.args.is_empty() {
            return Self::given_by_caller(names).ok_or("has no caller");
        }
        // What it says is in no prompt.
        if name == "raise_exception" {
            return Ok(Kind::Fixed);
        }
        let arguments = self.arguments(&call.args, names)?;
        if let Some(called) = self.macros.get(name).copied() {
            let placed: Vec<Kind> =
                arguments.iter().filter(|(name, _)| name.is_none()).map(|(_, kind)| *kind).collect();
            let named: Vec<_> = arguments.iter().filter_map(|(name, kind)| Some(((*name)?, *kind))).collect();
            if named.iter().any(|(name, _)| *name == "*") {
                return Err("calls a macro with a list of arguments");
            }
            return self.call_macro(called, &placed, &named, given);
        }
        if name == "namespace" {
            for (name, kind) in &arguments {
                match name {
                    Some(name) if *name != "*" => self.set_attribute(name, *kind),
                    _ => return Err("makes a namespace of a dictionary"),
                }
            }
            return Ok(Kind::Namespace);
        }
        let is_fixed = arguments.iter().all(|(_, kind)| kind.is_fixed()) && given.is_none();
        if is_fixed && FUNCTIONS.contains(&name) { Ok(Kind::Fixed) } else { Err("calls an unknown function") }
    }

    /// What a filter makes of a value.
    pub(super) fn filtered(&mut self, kind: Kind, filter: &'t Expr<'t>, names: &mut Names<'t>) -> Analysis<Kind> {
        let Expr::Filter(filter) = filter else { return Err("has an unknown filter") };
        match filter.name {
            // Those with which minijinja does what Jinja2 does.
            name if name == ITERATED.trim_end() || [ARGUMENT, GIVEN].contains(&name) => Ok(kind),
            name => self.made_by(kind, name, &filter.args, names),
        }
    }
}

/// What is at a place of a list.
pub(super) fn item_of(kind: Kind) -> Analysis<Kind> {
    match kind {
        kind if kind.is_fixed() => Ok(Kind::Fixed),
        Kind::Messages => Ok(Kind::Perhaps),
        Kind::Texts => Ok(Kind::Text),
        Kind::Parts => Ok(Kind::Part),
        _ => Err("takes a character of a content"),
    }
}
