//! A chat template that Jinja has read.

use std::collections::HashSet;

use minijinja::{Environment, Value};

use crate::dialect::chat_template::environment::{Raised, environment};
use crate::dialect::chat_template::{ChatTemplate, source};
use crate::error::{At, Error, ErrorKind, Place, Result};

const DEFAULT: &str = "chat_template";
const TOOL_USE: &str = "tool_use";

/// A chat template that Jinja has read.
#[derive(Debug)]
pub(super) struct Compiled {
    environment: Environment<'static>,
    has_tool_use: bool,
    /// What stands in quotes in it.
    pub(super) literals: HashSet<String>,
}

impl Compiled {
    /// # Errors
    /// [`ErrorKind::Template`] with the line of what Jinja cannot read.
    pub(super) fn new(template: &ChatTemplate) -> Result<Self> {
        let now = template.now.as_deref().map(|now| now.parse::<jiff::civil::DateTime>());
        let now = now.transpose().map_err(|error| ErrorKind::Usage(format!("now: {error}")))?;
        let mut environment = environment(now);
        let mut literals = HashSet::new();
        for (name, text) in [(DEFAULT, Some(&template.source)), (TOOL_USE, template.tool_use.as_ref())] {
            let Some(text) = text else { continue };
            literals.extend(source::literals(text));
            environment
                .add_template_owned(name, source::prepared(text))
                .map_err(|error| not_jinja(&error))
                .at(Place::file(&template.name))?;
        }
        Ok(Self { environment, has_tool_use: template.tool_use.is_some(), literals })
    }

    /// The text that the template makes of its variables.
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] with what the template refuses, or what it cannot do.
    pub(super) fn render(&self, context: Value, has_tools: bool) -> Result<String> {
        let name = if has_tools && self.has_tool_use { TOOL_USE } else { DEFAULT };
        let template = self.environment.get_template(name).map_err(|error| not_jinja(&error))?;
        template.render(context).map_err(|error| refused(&error))
    }
}

fn not_jinja(error: &minijinja::Error) -> Error {
    let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    let line = error.line().map_or_else(String::new, |line| format!(" (line {line})"));
    ErrorKind::Template(format!("the chat template is not Jinja that can be run: {what}{line}")).into()
}

fn refused(error: &minijinja::Error) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = cause {
        if let Some(Raised(what)) = one.downcast_ref() {
            return ErrorKind::Conversation(format!("the chat template refuses the conversation: {what}")).into();
        }
        cause = one.source();
    }
    let what = error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()));
    let line = error.line().map_or_else(String::new, |line| format!(" (line {line} of the template)"));
    ErrorKind::Conversation(format!("the chat template failed: {what}{line}")).into()
}
