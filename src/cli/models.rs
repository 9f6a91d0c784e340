//! `metatok models`: what is built in.

use std::io::Write;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::args::ModelsArgs;
use crate::cli::output;
use crate::dialect::Model;
use crate::error::Result;

/// A model in the list.
#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    #[serde(flatten)]
    model: &'a Model,
}

pub(crate) fn run(args: &ModelsArgs) -> Result<ExitCode> {
    let mut out = Vec::new();
    match &args.name {
        None if args.json => {
            let models: Vec<Model> = Model::builtin().collect();
            let entries: Vec<_> = models.iter().map(|model| Entry { name: &model.name, model }).collect();
            output::push_json(&entries, &mut out);
        }
        None => list(&mut out)?,
        Some(name) => {
            let model = Model::find_builtin(name)?;
            match Model::builtin_file(&model.name) {
                Some(file) if !args.json => out.extend_from_slice(file.as_bytes()),
                _ => output::push_json(&model, &mut out),
            }
        }
    }
    output::to_stdout(out)
}

fn list(out: &mut Vec<u8>) -> Result<()> {
    let rows: Vec<[String; 3]> = Model::builtin()
        .map(|model| {
            let tokenizer = model.tokenizer.unwrap_or_else(|| "any".to_owned());
            [model.name, tokenizer, model.about.unwrap_or_default()]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (names, tokenizers) = (width(0), width(1));
    for [name, tokenizer, about] in &rows {
        writeln!(out, "{name:names$}  {tokenizer:tokenizers$}  {about}")?;
    }
    Ok(())
}
