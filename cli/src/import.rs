//! `metatok import`: a model file made of a chat template.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use crate::args::ImportArgs;
use crate::output;
use crate::say::say;
use metatok::dialect::{ChatTemplate, is_chat_template, load_tokenizer};
use metatok::error::{ErrorKind, Place, Result};
use metatok::import::import;

pub(crate) fn run(args: &ImportArgs) -> Result<ExitCode> {
    let is_jinja = Path::new(&args.template).is_file() && args.tokenizer.is_some();
    if !is_jinja && let Some(tokenizer) = &args.tokenizer {
        let what = format!(
            "{} is not a Jinja file, and a chat template works only with the tokenizer it belongs to",
            args.template
        );
        return Err(ErrorKind::Usage(what).with_way_out(format!("leave out --tokenizer {tokenizer}, or name a file")));
    }
    let name = args.tokenizer.as_deref().unwrap_or(&args.template);
    let template = match is_jinja {
        true => ChatTemplate::load(&args.template, name)?,
        false if is_chat_template(Path::new(&args.template)) => {
            let what = "a Jinja file is a template without a tokenizer; choose one with --tokenizer, such as a folder";
            return Err(ErrorKind::Usage(what.into()).into());
        }
        false => ChatTemplate::of_tokenizer(name)?.ok_or_else(|| {
            ErrorKind::NotFound("there is no chat template".into())
                .with_way_out("name a Jinja file and its tokenizer, with --tokenizer")
        })?,
    };
    let tokenizer = Arc::new(load_tokenizer(name)?);
    let mut imported = import(&template, &tokenizer).map_err(|error| match error.file() {
        Some(_) => error,
        None => error.at(Place::file(&template.name)),
    })?;
    imported.model.tokenizer = Some(name.to_owned());
    let exact =
        if imported.verified.is_exact() { "the same ids in all of them" } else { "see the comment in the file" };
    say!("compared on {} prompts: {exact}", imported.verified.prompts());
    if imported.tells_time {
        say!("warning: the chat template can write the day of its use, but the model always writes that of today");
    }
    output::to_stdout(imported.to_toml()?.into_bytes())
}
