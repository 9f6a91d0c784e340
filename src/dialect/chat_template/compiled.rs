//! A chat template that Jinja has read.

use std::collections::HashSet;

use jiff::ZonedDateTime;
use jiff::civil::DateTime;
use minijinja::{Environment, ErrorKind as Kind, Value};

use crate::dialect::chat_template::blocks::left_from_within;
use crate::dialect::chat_template::environment::{Raised, TELLS_TIME, environment};
use crate::dialect::chat_template::for_minijinja::prepared;
use crate::dialect::chat_template::limits::too_much;
use crate::dialect::chat_template::{ChatTemplate, contents};
use crate::error::{At, Error, ErrorKind, Fault, Place, Result};
use crate::panics::caught;

const DEFAULT: &str = "chat_template";
const TOOL_USE: &str = "tool_use";

/// A chat template that Jinja has read.
#[derive(Debug)]
pub(super) struct Compiled {
    environment: Environment<'static>,
    has_tool_use: bool,
    /// Why the template for tools cannot be used, which matters only to conversations with tools.
    bad_tool_use: Option<String>,
    /// The template's name in messages.
    file: String,
    /// What stands in quotes in it.
    pub(super) literals: HashSet<String>,
    /// The names in its code.
    names: HashSet<String>,
    /// The time that it tells, if not the time when a prompt is rendered.
    now: Option<DateTime>,
    tells_time: bool,
}

impl Compiled {
    /// # Errors
    /// [`ErrorKind::Template`] with the line of what Jinja cannot read.
    pub(super) fn new(template: &ChatTemplate) -> Result<Self> {
        let now = template.now.as_deref().map(|now| now.parse::<DateTime>());
        let now = now.transpose().map_err(|error| ErrorKind::Usage(format!("now: {error}")))?;
        let mut environment = environment();
        let (mut literals, mut names) = (HashSet::new(), HashSet::new());
        let mut bad_tool_use = None;
        for (name, text) in [(DEFAULT, Some(&template.source)), (TOOL_USE, template.tool_use.as_ref())] {
            let Some(text) = text else { continue };
            literals.extend(contents::literals(text));
            names.extend(contents::names(text).map(str::to_owned));
            let added = check(text).and_then(|()| {
                let read = caught(|| environment.add_template_owned(name, prepared(text)));
                read.map_err(ErrorKind::Template)?.map_err(|error| not_jinja(&error))
            });
            match added {
                Err(error) if name == TOOL_USE => bad_tool_use = Some(error.to_string()),
                added => added.at(Place::file(&template.name))?,
            }
        }
        let tells_time = template.mentions(TELLS_TIME);
        let has_tool_use = template.tool_use.is_some();
        let file = template.name.clone();
        Ok(Self { environment, has_tool_use, bad_tool_use, file, literals, names, now, tells_time })
    }

    /// Whether it reads a variable with this name, or a key of messages: its code has it, or a text in quotes is it.
    pub(super) fn reads(&self, name: &str) -> bool {
        self.names.contains(name) || self.literals.contains(name)
    }

    /// The time that a prompt tells, each time that it is rendered; none if the template tells none.
    pub(super) fn now(&self) -> Option<DateTime> {
        self.tells_time.then(|| self.now.unwrap_or_else(|| ZonedDateTime::now().datetime()))
    }

    /// The text that the template makes of its variables. `way_out` says what to do if it cannot.
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] with what the template refuses, or what it cannot do.
    pub(super) fn render(
        &self,
        context: Value,
        has_tools: bool,
        way_out: impl Fn() -> Option<String>,
    ) -> Result<String> {
        let name = if has_tools && self.has_tool_use { TOOL_USE } else { DEFAULT };
        if let Some(what) = self.bad_tool_use.as_ref().filter(|_| name == TOOL_USE) {
            return Err(ErrorKind::Template(what.clone())).at(TOOL_USE).at(Place::file(&self.file));
        }
        let template = self.environment.get_template(name).map_err(|error| not_jinja(&error))?;
        match caught(|| template.render(context)) {
            Ok(rendered) => rendered.map_err(|error| refused(&error, way_out)),
            Err(what) => Err(ErrorKind::Conversation(format!("the chat template failed: {what}")).into()),
        }
    }
}

/// Refuses what Jinja here would take for something else than Jinja2, or could not read to its end.
fn check(source: &str) -> Result<()> {
    if source.trim().is_empty() {
        return Err(ErrorKind::Template("the chat template is empty".into()).into());
    }
    if let Some(what) = too_much(source) {
        return Err(ErrorKind::Template(format!("the chat template has {what}")).into());
    }
    match left_from_within(source) {
        Some((statement, block)) => {
            let what =
                format!("the chat template has {{% {statement} %}} within {{% {block} %}}, which is not supported");
            Err(ErrorKind::Template(what)
                .with_way_out(format!("end {{% {block} %}} before it, or use an {{% if %}} instead")))
        }
        None => Ok(()),
    }
}

fn not_jinja(error: &minijinja::Error) -> Error {
    let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    let line = error.line().map_or_else(String::new, |line| format!(" (line {line})"));
    ErrorKind::Template(format!("the chat template is not Jinja that can be run: {what}{line}")).into()
}

fn refused(error: &minijinja::Error, way_out: impl Fn() -> Option<String>) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = cause {
        if let Some(Raised(what)) = one.downcast_ref() {
            return ErrorKind::Conversation(format!("the chat template refuses the conversation: {what}")).into();
        }
        cause = one.source();
    }
    let what = error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()));
    let line = error.line().map_or_else(String::new, |line| format!(" (line {line} of the template)"));
    let mut failed = Error::from(ErrorKind::Conversation(format!("the chat template failed: {what}{line}")));
    // No other conversation would help. A method may be unknown of this one's values only.
    if matches!(error.kind(), Kind::UnknownFilter | Kind::UnknownFunction | Kind::UnknownTest) {
        failed = failed.with_fault(Fault::Model);
    }
    match way_out() {
        Some(way_out) => failed.with_way_out(way_out),
        None => failed,
    }
}
