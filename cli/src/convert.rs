//! `metatok convert`: a conversation template in another form.

use std::process::ExitCode;

use crate::args::{ConvertArgs, ConvertTo};
use crate::output;
use metatok::dialect::ConversationTemplate;
use metatok::error::{ErrorKind, Result};

pub(crate) fn run(args: &ConvertArgs) -> Result<ExitCode> {
    let template = ConversationTemplate::load(&args.template)?;
    let out = match args.to {
        ConvertTo::Meta => {
            // An error names the template as the arguments do, which is perhaps not its own name.
            let as_named =
                || ConversationTemplate { name: args.template.clone(), ..template.clone() }.to_meta_template();
            to_toml(&template.to_meta_template().or_else(|_| as_named())?)?
        }
        ConvertTo::Conversation => to_toml(&template)?,
    };
    output::to_stdout(out)
}

/// A file to start from.
pub(crate) fn to_toml(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    let text = toml::to_string_pretty(value).map_err(|error| ErrorKind::Parse(error.to_string()))?;
    Ok(text.into_bytes())
}
