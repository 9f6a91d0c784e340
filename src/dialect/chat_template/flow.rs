//! How contents flow through a template: whether what it writes around them depends on them in no other way than on what
//! they are searched for.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::machinery::ast::{Expr, ForLoop, IfCond, Macro, SetBlock, Stmt};
use minijinja::machinery::parse;

use crate::dialect::chat_template::environment::{TELLS_TIME, syntax};
use crate::dialect::chat_template::for_minijinja::prepared;
use crate::dialect::chat_template::kinds::{Kind, Written, written_after, written_by_either, written_often};
use crate::dialect::chat_template::parameters::CALLER;

/// A result of this analysis, or why it cannot follow the template.
pub(super) type Analysis<T> = Result<T, &'static str>;

/// The texts that a template looks for in contents or compares them with. What it writes around contents that have none of
/// them, and are not blank, depends on the roles alone. `has_parts` says in which form contents are given.
///
/// Only what is known to keep to that is allowed.
///
/// # Errors
/// What is not known to do so.
pub(super) fn sought_in_contents(source: &str, has_parts: bool) -> Analysis<BTreeSet<String>> {
    let source = prepared(source);
    let Ok(Stmt::Template(template)) = parse(&source, "", syntax()) else { return Err("is not Jinja") };
    let mut flow = Flow { has_parts, ..Flow::default() };
    flow.find_macros(&template.children)?;
    // What is assigned further down is known in the next round.
    while !flow.is_settled {
        flow.is_settled = true;
        flow.called.clear();
        flow.block(&template.children, &mut Names::default())?;
    }
    Ok(flow.sought)
}

/// What is known of a template so far.
#[derive(Default)]
pub(super) struct Flow<'t> {
    pub(super) has_parts: bool,
    pub(super) sought: BTreeSet<String>,
    pub(super) macros: BTreeMap<&'t str, &'t Macro<'t>>,
    /// What any namespace has under a name.
    attributes: BTreeMap<&'t str, Kind>,
    /// What any variable of a name has been.
    variables: BTreeMap<&'t str, Kind>,
    /// What calls of macros give.
    given: BTreeMap<MacroCall<'t>, Kind>,
    /// Those that were followed in this round.
    called: BTreeSet<MacroCall<'t>>,
    is_settled: bool,
}

/// The name of a macro, and the variables that it is called with.
type MacroCall<'t> = (&'t str, BTreeMap<&'t str, Kind>);

/// The variables that are set at a place.
#[derive(Default, Clone, PartialEq)]
pub(super) struct Names<'t> {
    kinds: BTreeMap<&'t str, Kind>,
    is_in_macro: bool,
}

/// The variable with the messages.
pub(super) const MESSAGES: &str = "messages";
/// What templates call beside their own macros.
pub(super) const FUNCTIONS: [&str; 6] = [CALLER, "dict", "namespace", "raise_exception", "range", TELLS_TIME];

/// How many calls of macros are followed, at most.
const MOST_CALLS: usize = 24;

impl<'t> Flow<'t> {
    fn find_macros(&mut self, block: &'t [Stmt<'t>]) -> Analysis<()> {
        for statement in block {
            if let Stmt::Macro(declared) = statement
                && (FUNCTIONS.contains(&declared.name) || self.macros.insert(declared.name, declared).is_some())
            {
                return Err("has two macros of one name");
            }
            blocks_in(statement).into_iter().try_for_each(|block| self.find_macros(block))?;
        }
        Ok(())
    }

    /// The kind of a variable.
    pub(super) fn variable(&self, name: &str, names: &Names<'t>) -> Analysis<Kind> {
        if self.macros.contains_key(name) || matches!(name, CALLER | "varargs" | "kwargs" | "self") {
            return Err("takes a macro for a value");
        }
        Ok(names.kinds.get(name).copied().unwrap_or_else(|| self.outer(name, names)))
    }

    /// The kind of a variable that is not set in its scope.
    fn outer(&self, name: &str, names: &Names<'t>) -> Kind {
        let before = given(name);
        match self.variables.get(name).filter(|_| names.is_in_macro) {
            // A macro can be called anywhere.
            Some(kind) => kind.or_undefined().or(before),
            None => before,
        }
    }

    /// Whether this is the list of all messages, which has at least one.
    pub(super) fn is_all_messages(&self, expression: &Expr<'t>, names: &Names<'t>) -> bool {
        let is_set = names.kinds.contains_key(MESSAGES) || names.is_in_macro && self.variables.contains_key(MESSAGES);
        matches!(expression, Expr::Var(variable) if variable.id == MESSAGES) && !is_set
    }

    /// What a namespace has under a name.
    pub(super) fn attribute_of_namespace(&self, name: &str) -> Kind {
        self.attributes.get(name).map_or(Kind::Fixed, |kind| kind.or_undefined())
    }

    pub(super) fn set_attribute(&mut self, name: &'t str, kind: Kind) {
        self.is_settled &= !note(&mut self.attributes, name, kind);
    }

    fn set(&mut self, name: &'t str, kind: Kind, names: &mut Names<'t>) {
        names.kinds.insert(name, kind);
        self.is_settled &= !note(&mut self.variables, name, kind);
    }

    /// The variables after one of two blocks.
    fn either(one: &Names<'t>, other: &Names<'t>) -> Names<'t> {
        let mut either = one.clone();
        for name in one.kinds.keys().chain(other.kinds.keys()) {
            let [one, other] = [one, other].map(|names| names.kinds.get(name).copied());
            either.kinds.insert(name, one.unwrap_or_else(|| given(name)).or(other.unwrap_or_else(|| given(name))));
        }
        either
    }

    fn block(&mut self, block: &'t [Stmt<'t>], names: &mut Names<'t>) -> Analysis<Written> {
        block.iter().try_fold(None, |written, statement| Ok(written_after(written, self.statement(statement, names)?)))
    }

    /// A block that may have a scope of its own: what it sets may be set after it.
    fn inner_block(&mut self, block: &'t [Stmt<'t>], names: &mut Names<'t>) -> Analysis<Written> {
        let mut inner = names.clone();
        let written = self.block(block, &mut inner)?;
        *names = Self::either(names, &inner);
        Ok(written)
    }

    fn statement(&mut self, statement: &'t Stmt<'t>, names: &mut Names<'t>) -> Analysis<Written> {
        match statement {
            Stmt::EmitRaw(text) => Ok((!text.raw.is_empty()).then_some(Kind::Fixed)),
            Stmt::EmitExpr(written) => match self.kind(&written.expr, names)? {
                kind if kind.is_fixed() => Ok(Some(Kind::Fixed)),
                kind if kind.is_text() => Ok(Some(kind)),
                _ => Err("writes what is no text"),
            },
            Stmt::IfCond(condition) => self.condition(condition, names),
            Stmt::ForLoop(over) => self.for_loop(over, names),
            Stmt::Set(set) => {
                let kind = self.kind(&set.expr, names)?;
                self.assign(&set.target, kind, names).map(|()| None)
            }
            Stmt::SetBlock(set) => self.set_block(set, names).map(|()| None),
            Stmt::WithBlock(with) => {
                let mut inner = names.clone();
                for (target, value) in &with.assignments {
                    let kind = self.kind(value, &mut inner)?;
                    self.assign(target, kind, &mut inner)?;
                }
                self.block(&with.body, &mut inner)
            }
            Stmt::FilterBlock(block) => {
                let kind = self.inner_block(&block.body, names)?.unwrap_or(Kind::Fixed);
                self.filtered(kind, &block.filter, names).map(Some)
            }
            Stmt::CallBlock(block) if block.macro_decl.args.is_empty() => {
                let given = self.block(&block.macro_decl.body, &mut names.clone())?.unwrap_or(Kind::Fixed);
                self.call(&block.call, Some(given), names).map(Some)
            }
            Stmt::Do(run) => self.call(&run.call, None, names).map(|_| None),
            Stmt::Macro(_) | Stmt::Continue(_) | Stmt::Break(_) => Ok(None),
            Stmt::Template(_) | Stmt::CallBlock(_) | Stmt::AutoEscape(_) => Err("has an unknown statement"),
        }
    }

    fn condition(&mut self, condition: &'t IfCond<'t>, names: &mut Names<'t>) -> Analysis<Written> {
        match self.truth(&condition.expr, names)? {
            Some(true) => self.block(&condition.true_body, names),
            Some(false) => self.block(&condition.false_body, names),
            None => {
                let mut other = names.clone();
                let written = self.block(&condition.true_body, names)?;
                let written = written_by_either(written, self.block(&condition.false_body, &mut other)?);
                *names = Self::either(names, &other);
                Ok(written)
            }
        }
    }

    fn for_loop(&mut self, over: &'t ForLoop<'t>, names: &mut Names<'t>) -> Analysis<Written> {
        let (item, of_loop) = match self.kind(&over.iter, names)? {
            kind if kind.is_fixed() => (Kind::Fixed, Kind::Fixed),
            Kind::Messages => (Kind::Message, Kind::MessageLoop),
            Kind::Texts => (Kind::Text, Kind::Loop),
            Kind::Parts => (Kind::Part, Kind::Loop),
            _ => return Err("loops over what a content is made of"),
        };
        if over.recursive {
            return Err("has a recursive loop");
        }
        let mut before = names.clone();
        loop {
            let mut inner = before.clone();
            self.assign(&over.target, item, &mut inner)?;
            self.set("loop", of_loop, &mut inner);
            if let Some(condition) = &over.filter_expr {
                self.truth(condition, &mut inner)?;
            }
            let written = written_often(self.block(&over.body, &mut inner)?);
            let after = Self::either(&before, &inner);
            if after == before {
                let otherwise = self.inner_block(&over.else_body, names)?;
                return Ok(written_by_either(written, otherwise));
            }
            before = after;
        }
    }

    fn set_block(&mut self, set: &'t SetBlock<'t>, names: &mut Names<'t>) -> Analysis<()> {
        let mut kind = self.inner_block(&set.body, names)?.unwrap_or(Kind::Fixed);
        if let Some(filter) = &set.filter {
            kind = self.filtered(kind, filter, names)?;
        }
        self.assign(&set.target, kind, names)
    }

    fn assign(&mut self, target: &'t Expr<'t>, kind: Kind, names: &mut Names<'t>) -> Analysis<()> {
        match target {
            Expr::Var(variable) => {
                self.set(variable.id, kind, names);
                Ok(())
            }
            Expr::GetAttr(attribute) if self.kind(&attribute.expr, names)? == Kind::Namespace => {
                self.set_attribute(attribute.name, kind);
                Ok(())
            }
            Expr::Tuple(targets) if kind.is_fixed() => {
                targets.items.iter().try_for_each(|target| self.assign(target, Kind::Fixed, names))
            }
            Expr::List(targets) if kind.is_fixed() => {
                targets.items.iter().try_for_each(|target| self.assign(target, Kind::Fixed, names))
            }
            _ => Err("takes a content apart into variables"),
        }
    }

    /// What a macro gives for these arguments, by place and by name.
    pub(super) fn call_macro(
        &mut self,
        called: &'t Macro<'t>,
        placed: &[Kind],
        named: &[(&'t str, Kind)],
        given_by_caller: Option<Kind>,
    ) -> Analysis<Kind> {
        if placed.len() > called.args.len() || self.variables.contains_key(called.name) {
            return Err("calls a macro in another way than it is declared");
        }
        let mut names = Names { is_in_macro: true, ..Names::default() };
        let first_default = called.args.len() - called.defaults.len();
        for (at, argument) in called.args.iter().enumerate() {
            let Expr::Var(argument) = argument else { return Err("has an unknown macro") };
            let named = named.iter().find(|(name, _)| *name == argument.id).map(|(_, kind)| *kind);
            let default = at.checked_sub(first_default).map(|at| &called.defaults[at]);
            let kind = match (placed.get(at).copied().or(named), default) {
                (Some(kind), _) => kind,
                (None, Some(default)) => self.kind(default, &mut names)?,
                (None, None) => Kind::Fixed,
            };
            // Calls with other values of the same kind go the same ways.
            self.set(argument.id, if kind.is_fixed() { Kind::Fixed } else { kind }, &mut names);
        }
        if let Some(kind) = given_by_caller {
            self.set(CALLER, kind, &mut names);
        }
        let call = (called.name, names.kinds.clone());
        // What a call within itself gives is known in the next round.
        if !self.called.insert(call.clone()) {
            return Ok(self.given.get(&call).copied().unwrap_or(Kind::Fixed));
        }
        if self.called.len() > MOST_CALLS {
            return Err("calls macros in many ways");
        }
        let given = self.block(&called.body, &mut names)?.unwrap_or(Kind::Fixed);
        self.is_settled &= !note(&mut self.given, call, given);
        Ok(given)
    }

    /// What the call block gives that called the macro here.
    pub(super) fn given_by_caller(names: &Names<'t>) -> Option<Kind> {
        names.kinds.get(CALLER).copied()
    }
}

/// The kind of a variable that the template does not set.
fn given(name: &str) -> Kind {
    match name {
        MESSAGES => Kind::Messages,
        "tools" | "documents" => Kind::Null,
        _ => Kind::Fixed,
    }
}

/// Adds to what is known under a name. Returns whether that is something new.
fn note<N: Ord>(known: &mut BTreeMap<N, Kind>, name: N, kind: Kind) -> bool {
    let before = known.get(&name).copied();
    let after = before.map_or(kind, |before| before.or(kind));
    known.insert(name, after);
    before != Some(after)
}

/// The blocks that a statement has.
fn blocks_in<'t>(statement: &'t Stmt<'t>) -> Vec<&'t [Stmt<'t>]> {
    match statement {
        Stmt::IfCond(of) => vec![&of.true_body, &of.false_body],
        Stmt::ForLoop(of) => vec![&of.body, &of.else_body],
        Stmt::WithBlock(of) => vec![&of.body],
        Stmt::SetBlock(of) => vec![&of.body],
        Stmt::FilterBlock(of) => vec![&of.body],
        Stmt::CallBlock(of) => vec![&of.macro_decl.body],
        Stmt::Macro(of) => vec![&of.body],
        // Others have none, or are not told.
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sought in contents as texts, as one text with spaces between, or why that is not known.
    fn sought(source: &str) -> Analysis<String> {
        sought_in_contents(source, false).map(|sought| sought.into_iter().collect::<Vec<_>>().join(" "))
    }

    /// A template that does this with each message.
    fn for_each(body: &str) -> String {
        format!("{{% for m in messages %}}<|{{{{ m.role }}}}|>{body}{{% endfor %}}")
    }

    /// A template that writes something if this holds.
    fn condition(condition: &str) -> String {
        for_each(&format!("{{% if {condition} %}}!{{% endif %}}{{{{ m.content }}}}"))
    }

    #[test]
    fn what_real_templates_do_with_contents_is_told() {
        for (body, expected) in [
            ("{{ m['role'] ~ m['content']|trim ~ m.content.strip() ~ (m.content or '') }}", ""),
            ("{{ m.content if m.content is string else m.content[0].text }}", ""),
            (
                "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}",
                "",
            ),
            (
                "{% if m.content == '' or m.content|length > 0 or not m.content|trim or m.content is none %}!{% endif %}",
                "",
            ),
            (
                "{% set c = m.content %}{% if '</think>' in c %}{% set c = c.split('</think>')[-1].lstrip('\\n') %}{% endif %}{{ c }}",
                "</think>",
            ),
            (
                "{{ m.content.replace('\\r\\n', '\\n') ~ m.content|replace('a', '') ~ m.content.strip(' \\n\"') }}",
                "\r\n \" a",
            ),
            (
                "{% if m.content in ['ping', 'pong'] or 'pi' ~ 'ng' == m.content or m.content.startswith(('a', 'b')) %}!{% endif %}",
                "a b ping pong",
            ),
            ("{% if m.content.split('##')|length == 2 or m.content.count('STEP') > 1 %}!{% endif %}", "## STEP"),
            (
                "{% if m.role == 'tool' %}{{ m.content|tojson }}{% elif m.tool_calls %}{{ m.content[1:] }}{% endif %}",
                "",
            ),
            (
                "{% if 'tool_calls' in m or m.name is defined or m.role in ['tool', 'ipython'] %}{{ m|tojson }}{% endif %}",
                "",
            ),
            (
                "{% if tools is not none and m == messages[-1] %}!{% endif %}{{ loop.previtem.content ~ loop.index0 % 2 }}",
                "",
            ),
            ("{% set ns = namespace(system='') %}{% set ns.system = ns.system ~ m.content %}{{ ns.system|trim }}", ""),
            ("{% set messages = messages or [] %}{{ messages[0].content }}", ""),
            ("{% set ns = namespace() %}{% set ns.last = m.content %}{% if 'x' in ns.last %}!{% endif %}", "x"),
            (
                "{% set b %}{{ m.content }}{% endset %}{% filter trim %}{{ b }}{% endfilter %}{% if 'x' in b %}!{% endif %}",
                "x",
            ),
            (
                "{% for t in messages[1:]|selectattr('role', 'eq', 'user')|map(attribute='content') %}{{ t }}{% endfor %}",
                "",
            ),
            ("{{ raise_exception('No ' ~ m.content[0]) }}{{ m.get('content', '') ~ m.get('name', 'x') }}", ""),
        ] {
            assert_eq!(sought(&for_each(body)).as_deref(), Ok(expected), "{body}");
        }
        for source in [
            "{% if messages[0].role == 'system' %}{% set s = messages[0].content %}{% set messages = messages[1:] %}{% endif %}{{ s }}",
            "{% macro f(c, x=1) %}{%- if c is string -%}{{ c }}{%- else -%}{{ c[1:] }}{%- endif -%}{% endmacro %}\
             {% for m in messages %}{% set c = f(m.content)|trim %}{% if c.startswith('<x>') %}{{ c }}{% endif %}{% endfor %}",
            "{% macro f(t) %}{% for x in t %}{{ f(x.items) }}{% endfor %}{% endmacro %}{{ f(tools) }}",
            "{% macro f() %}<{{ caller() }}>{% endmacro %}{% call f() %}{{ messages[0].content }}{% endcall %}",
            "{% macro f(c) %}{{ c ~ f(c) }}{% endmacro %}{{ f(messages[0].content) }}",
            "{% if messages|length * 2 > range(9)|length // 2 %}!{% endif %}{{ messages[0].content }}",
            // What is set in these blocks is not set after them.
            "{% set x %}{% set y = messages[-1].content %}{% endset %}{% if y.split()[1] == 'off' %}!{% endif %}",
            "{% filter trim %}{% set y = messages[-1].content %}{% endfilter %}{% if y.split()[1] == 'off' %}!{% endif %}",
            "{% for x in [] %}{% else %}{% set y = messages[-1].content %}{% endfor %}{% if y.split()[1] == 'off' %}!{% endif %}",
        ] {
            assert!(sought(source).is_ok(), "{source}: {:?}", sought(source));
        }
        let parts = "{% for m in messages %}{% for p in m.content|selectattr('type', 'eq', 'text') %}{{ p.text|trim }}{% endfor %}{{ m.content[0]['text'] }}{% endfor %}";
        assert_eq!(sought_in_contents(parts, true), Ok(BTreeSet::new()));
    }

    #[test]
    fn what_else_may_be_done_with_contents_is_not_told() {
        let not_told = "compares contents with what its code does not tell";
        for (of, expected) in [
            ("m.content == m.role", not_told),
            ("m.content == m.role|capitalize", not_told),
            ("m.role in m.content", "looks in contents for what its code does not tell"),
            ("m.content in m.role", not_told),
            ("m.content in 'a ping'", not_told),
            ("'' in m.content", "looks in contents for what its code does not tell"),
            ("m.content in messages[0].content", not_told),
            ("m.content == bos_token", not_told),
            ("m.content > 'zz'", not_told),
            ("m == messages[0]", not_told),
            ("'x' ~ m.content == 'xy'", not_told),
            ("'xy' in ('x' ~ m.content)", not_told),
            ("m.content|length == 33", not_told),
            ("m.content|length == messages|length", not_told),
            ("m.content|length % 2 == 0", "works something out of contents"),
            ("m.content.split()[1] == 'off'", "looks in contents for what its code does not tell"),
            ("m.content.split(m.role)", "looks in contents for what its code does not tell"),
            ("m.content.startswith(m.role)", "looks in contents for what its code does not tell"),
            ("m.role.startswith(m.content)", "gives contents to a method"),
            ("m.content.isupper()", "calls a method of contents"),
            ("m.content.lower() == 'x'", "calls a method of contents"),
            ("m.content.splitlines()[1]", "calls a method of contents"),
            ("m.content.strip(m.role)", "strips what its code does not tell"),
            ("m.content[2:6] == 'ping'", "takes some characters of a content"),
            ("m.content[::-1] == 'gnip'", "takes some characters of a content"),
            ("m.content[0] == 'q'", "takes a character of a content"),
            ("m.content.text", "takes something of a content"),
            ("m[m.content]", "works something out of contents"),
            ("{'ping': 'x'}[m.content]", "works something out of contents"),
            ("m.get(m.content)", "gives contents to a method"),
            ("{'ping': 'x'}.get(m.content)", "gives contents to a method"),
            ("m.content|tojson == '\"ping\"'", "filters contents"),
            ("m.content|format(1)", "filters contents"),
            ("m.content|int > 4", "filters contents"),
            ("m.content|truncate(9) == 'x'", "filters contents"),
            ("m.content|center == 'x'", "filters contents"),
            ("m.content.zfill(3) == '000'", "calls a method of contents"),
            ("messages|map('default', default_value=m.content)", "gives contents to a filter"),
            ("m.content|upper", "filters contents"),
            ("m.content|list", "filters contents"),
            ("(m.content|default)[0] == 'q'", "takes a character of a content"),
            ("(m.name|default) is defined and m.content[0] == 'q'", "takes a character of a content"),
            ("(m.name|d(boolean=true, default_value=m.content))[0] == 'q'", "takes a character of a content"),
            ("'%s'|format(m.content)", "gives contents to a filter"),
            ("'%s' % m.content", "works something out of contents"),
            ("m.content is eq 'ping'", "tests a content"),
            ("'ping' is in m.content", "tests by contents"),
            ("messages|map(attribute='content')|join == 'ping'", not_told),
            ("messages|selectattr('content', 'eq', 'ping')|list", "selects messages by contents"),
            ("messages|groupby('content')", "filters contents"),
            ("loop.changed(m.content)", "gives contents to a method"),
            ("range(m.content|length)", "calls an unknown function"),
            ("f(m.role)", "calls an unknown function"),
            ("dict(a=m.content)", "calls an unknown function"),
            ("{'a': m.content}", "makes a dictionary of contents"),
        ] {
            assert_eq!(sought(&condition(of)), Err(expected), "{of}");
        }
        for (of, expected) in [
            ("{% set k %}ping{% endset %}{% if m.content == k %}!{% endif %}", not_told),
            (
                "{% set h = m.role ~ ': ' %}{% if m.content[:6] != h %}!{% endif %}",
                "takes some characters of a content",
            ),
            ("{% set k = kk or 'ping' %}{% if m.content.split('a')[1] == k %}!{% endif %}", not_told),
            ("{% for c in m.content %}{{ c }}{% endfor %}", "loops over what a content is made of"),
            ("{% set a, b = m.content %}", "takes a content apart into variables"),
            ("{% set l = [] %}{% do l.append(m.content) %}", "gives contents to a method"),
            (
                "{% set ns = namespace(n='') %}{% if m.content == ns.n %}!{% endif %}{% set ns.n = m.content %}",
                not_told,
            ),
            ("{% macro f(c) %}{% if c == k %}!{% endif %}{% endmacro %}{{ f(m.content) }}", not_told),
            ("{% macro f(c) %}{{ g(c) }}{% endmacro %}{{ f(m.content) }}", "calls an unknown function"),
            ("{% macro range() %}!{% endmacro %}{{ range() }}", "has two macros of one name"),
            (
                "{% macro f() %}{{ messages[0].content }}{% endmacro %}{% set g = f %}{{ g() }}",
                "takes a macro for a value",
            ),
            (
                "{% macro f(x) %}{{ caller() if x == k else x }}{% endmacro %}{% call f(m.content) %}!{% endcall %}",
                not_told,
            ),
            ("{% filter upper %}{{ m.content }}{% endfilter %}", "filters contents"),
            ("{{ m }}", "writes what is no text"),
            ("{{ m.content|length }}", "writes what is no text"),
            ("{{ m.items() }}", "calls a method of contents"),
        ] {
            assert_eq!(sought(&for_each(of)), Err(expected), "{of}");
        }
    }

    /// Wherever a macro stands, and whichever call comes first.
    #[test]
    fn all_that_macros_may_do_is_followed() {
        for source in [
            "{% macro f(x) %}{% if x %}LOOK{% endif %}{% endmacro %}{{ f(tools) ~ f(true) }}",
            "{% macro f(x) %}{% if x %}LOOK{% endif %}{% endmacro %}{{ f() ~ f(messages[0].role) }}",
            "{% macro f(x) %}{% if x is string and x %}{{ f(1) }}{% else %}LOOK{% endif %}{% endmacro %}{{ f(messages[0].content) }}",
            "{% macro o() %}{% macro f() %}LOOK{% endmacro %}{{ f() }}{% endmacro %}{{ o() }}",
            "{% macro o() %}{% macro f() %}LOOK{% endmacro %}{% set g = f %}{{ g() }}{% endmacro %}{{ o() }}",
            "{% set x %}{% macro f() %}LOOK{% endmacro %}{{ f() }}{% endset %}{{ x }}",
            "{% filter trim %}{% macro f() %}LOOK{% endmacro %}{{ f() }}{% endfilter %}",
            "{% for x in [] %}{% else %}{% macro f() %}LOOK{% endmacro %}{{ f() }}{% endfor %}",
            "{% macro o() %}{{ caller() }}{% endmacro %}{% call o() %}{% macro f() %}LOOK{% endmacro %}{{ f() }}{% endcall %}",
            "{% macro o(a) %}{% if a %}{{ caller() }}{% endif %}{% endmacro %}{% call o(none) %}x{% endcall %}{% call o(1) %}LOOK{% endcall %}",
            "{% macro raise_exception() %}LOOK{% endmacro %}{{ raise_exception() }}",
            "{% set x %}{% set y = 1 %}LOOK{% endset %}{{ x }}",
            "{% filter trim %}{% set y = 1 %}LOOK{% endfilter %}",
            "{% for x in [] %}{% else %}{% set y = 1 %}LOOK{% endfor %}",
            "{% set ns = namespace() %}{% set x %}{% set ns.y = messages[-1].content %}{% endset %}{% if ns.y.split()[1] == 'off' %}!{% endif %}",
            "{% for m in messages %}{% macro f() %}{% if loop.previtem.content.split()[1] == 'off' %}!{% endif %}{% endmacro %}{{ f() }}{% endfor %}",
        ] {
            let source = source.replace("LOOK", "{% if messages[-1].content.split()[1] == 'off' %}!{% endif %}");
            assert!(sought(&source).is_err(), "{source}");
        }
        let calls: String = (0..30).map(|i| format!("{{% macro f{i}() %}}!{{% endmacro %}}{{{{ f{i}() }}}}")).collect();
        assert_eq!(sought(&calls), Err("calls macros in many ways"));
    }
}
