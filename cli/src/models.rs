//! `metatok models`: the built-in models and templates.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use crate::args::ModelsArgs;
use crate::convert::to_toml;
use crate::output;
use metatok::dialect::{ConversationTemplate, Model, Verification};
use metatok::error::{ErrorKind, Place, Result};
use metatok::import::ContentKind;

/// A model in the list.
#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    #[serde(flatten)]
    model: &'a Model,
}

/// A conversation template in the list.
#[derive(Serialize)]
struct ConversationEntry<'a> {
    name: &'a str,
    conversation_template: &'a ConversationTemplate,
}

pub(crate) fn run(args: &ModelsArgs) -> Result<ExitCode> {
    let mut out = Vec::new();
    match &args.name {
        None if args.json => {
            let models: Vec<Model> = Model::builtin().collect();
            let models = models.iter().map(|model| serde_json::to_value(Entry { name: &model.name, model }));
            let templates = ConversationTemplate::builtin().map(|(name, conversation_template)| {
                serde_json::to_value(ConversationEntry { name, conversation_template })
            });
            let entries = models.chain(templates).collect::<std::result::Result<Vec<_>, _>>();
            output::push_json(&entries.expect("what is built in is JSON"), &mut out);
        }
        None => list(&mut out)?,
        Some(name) => write(name, args.json, &mut out)?,
    }
    output::to_stdout(out)
}

/// Writes a built-in model or conversation template, as a file to start from or as JSON.
fn write(name: &str, is_json: bool, out: &mut Vec<u8>) -> Result<()> {
    let builtin = Model::find_builtin(name);
    let refuse_path = || refuse_path(name, "`metatok models` lists the built-in ones");
    if builtin.is_err() && Path::new(name).is_file() {
        refuse_path()?;
    }
    match (builtin, ConversationTemplate::load(name)) {
        (Ok(model), _) => match Model::builtin_file(&model.name) {
            Some(file) if !is_json => out.extend_from_slice(file.as_bytes()),
            _ => output::push_json(&model, out),
        },
        (Err(_), Ok(template)) if is_json => output::push_json(&template, out),
        (Err(_), Ok(template)) => out.extend_from_slice(&to_toml(&template)?),
        (Err(error), Err(_)) => {
            refuse_path()?;
            return Err(error);
        }
    }
    Ok(())
}

/// Rejects the path of a file or folder: only what is built in is printed.
pub(crate) fn refuse_path(name: &str, way_out: &'static str) -> Result<()> {
    if !Path::new(name).exists() {
        return Ok(());
    }
    let error = ErrorKind::Usage("this is a path, but only what is built in is printed".into()).with_way_out(way_out);
    Err(error.at(Place::file(name)))
}

/// How much of a model was the same as the chat templates with which it was compared.
fn verified(claims: &[Verification]) -> &'static str {
    let is_all = |contents: &[String]| contents.len() == ContentKind::ALL.len();
    let is_exact = |claim: &Verification| claim.system.is_none() && is_all(&claim.generate) && is_all(&claim.score);
    match claims {
        [] => "",
        claims if claims.iter().all(is_exact) => "; verified",
        _ => "; verified in part",
    }
}

fn list(out: &mut Vec<u8>) -> Result<()> {
    let rows: Vec<[String; 3]> = Model::builtin()
        .map(|model| {
            let tokenizer = model.tokenizer.unwrap_or_else(|| "any".to_owned());
            let verified = verified(&model.verified);
            [model.name, tokenizer, model.about.unwrap_or_default() + verified]
        })
        .chain(ConversationTemplate::builtin().map(|(name, template)| {
            let about = template.about.as_deref().unwrap_or("A conversation template");
            [name.to_owned(), "any".to_owned(), about.to_owned()]
        }))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (names, tokenizers) = (width(0), width(1));
    for [name, tokenizer, about] in &rows {
        writeln!(out, "{name:names$}  {tokenizer:tokenizers$}  {about}")?;
    }
    Ok(())
}
