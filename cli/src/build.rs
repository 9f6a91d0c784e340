//! `metatok build`: conversations in, token ids out; with several datasets one load of the model, and a file for each.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::args::{BuildArgs, OnError};
use crate::build_one;
use crate::exit::FAILED;
use crate::flags;
use crate::loaded::Loaded;
use crate::say::{InFlags, say};
use crate::summary::summary;
use metatok::dataset::{Dataset, DatasetSource};
use metatok::error::{At, ErrorKind, Result, counted};
use metatok::prepared::{DatasetOptions, NamedDataset};

/// Builds conversations, one dataset or several.
pub(crate) fn run(args: &BuildArgs) -> Result<ExitCode> {
    flags::check_build(args)?;
    match args.input.dataset.as_deref().map(Dataset::sources).transpose()?.flatten() {
        Some(sources) => all(args, &sources),
        None => Ok(ExitCode::from(build_one::run(args, &Loaded::default(), None)?.code)),
    }
}

/// Builds all. An error in one is printed, and the others are built.
fn all(args: &BuildArgs, sources: &[DatasetSource]) -> Result<ExitCode> {
    let started = Instant::now();
    let output = check(args)?;
    let (mut code, mut failed, mut read) = (0, Vec::new(), Vec::new());
    for source in sources {
        match NamedDataset::read(source) {
            Ok(one) => read.push(one),
            Err(error) => {
                say!("{}", error.in_flags());
                code = FAILED;
                failed.push(source.path().display().to_string());
            }
        }
    }
    NamedDataset::check_names(&read)?;
    fs::create_dir_all(output).at(output.display())?;
    let (loaded, mut prompts, mut tokens) = (Loaded::default(), 0, None);
    for one in &read {
        match args_of(one, args, output).and_then(|args| build_one::run(&args, &loaded, Some(one.name()))) {
            // Its file is not written.
            Ok(done) if done.code != 0 && args.errors.on_error == OnError::Stop => {
                code = code.max(done.code);
                failed.push(one.name().to_owned());
            }
            Ok(done) => {
                prompts += done.prompts;
                tokens = done.tokens.map(|more| more + tokens.unwrap_or_default()).or(tokens);
                code = code.max(done.code);
            }
            Err(error) => {
                say!("{}: {}", one.name(), error.in_flags());
                code = FAILED;
                failed.push(one.name().to_owned());
            }
        }
    }
    if !args.quiet {
        let datasets = counted(sources.len() - failed.len(), "dataset");
        say!("{datasets}: {}", summary(prompts, tokens, started.elapsed().as_secs_f64()));
    }
    if !failed.is_empty() {
        say!("{} failed: {}", counted(failed.len(), "dataset"), failed.join(", "));
    }
    Ok(ExitCode::from(code))
}

/// Rejects options for a single dataset; returns the output folder.
fn check(args: &BuildArgs) -> Result<&Path> {
    let usage = |what: &str| Err(ErrorKind::Usage(what.into()).into());
    let named = "but --dataset names several";
    match (&args.output, &args.input.inputs[..]) {
        (_, [rows]) if !rows.is_dir() => usage(&format!(
            "the rows of several datasets must be files of one folder, such as ABBR.jsonl; {} is not a folder",
            rows.display()
        )),
        (Some(output), [_]) if output.is_file() => usage(&format!(
            "--output must be a folder with a file for each dataset, but {} is a file",
            output.display()
        )),
        _ if args.errors.rejects.is_some() => {
            usage(&format!("--rejects is one file, {named}; remove it, and each has its own file next to its output"))
        }
        _ if args.answers.answers.is_some() => {
            usage(&format!("--answers is for the dialogues of one dataset, {named}; build it alone"))
        }
        (Some(output), [_]) => Ok(output),
        (None, _) => usage("--dataset names several, so --output is needed: a folder for a file of each"),
        (Some(_), _) => usage(
            "--dataset names several, so the input must be one folder with a file of rows for each, such as ABBR.jsonl",
        ),
    }
}

/// The arguments for one of them alone.
fn args_of(one: &NamedDataset, all: &BuildArgs, output: &Path) -> Result<BuildArgs> {
    let mut args = all.clone();
    args.input.source = Some(one.source().clone());
    args.input.inputs = vec![one.file_in(&all.input.inputs[0])?];
    let DatasetOptions { judge, train, neighbours, .. } = one.options(&all.input.dataset_options())?;
    (args.input.judge, args.input.train, args.input.neighbours) = (judge, train, neighbours);
    args.output = Some(output.join(format!("{}.{}", one.name(), all.format.extension)));
    Ok(args)
}
