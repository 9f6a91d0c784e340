//! `metatok build`: conversations in, token ids out; with several datasets one load of the model, and a file for each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::args::{BuildArgs, OnError};
use crate::build;
use crate::exit::FAILED;
use crate::flags;
use crate::loaded::Loaded;
use crate::output::count;
use crate::say::{InFlags, say};
use crate::summary::summary;
use metatok::dataset::retriever::RetrieverKind;
use metatok::dataset::{Dataset, DatasetSource};
use metatok::error::{At, Error, ErrorKind, Result};

/// The possible extensions of files of rows.
const ENDINGS: [&str; 5] = ["jsonl", "json", "csv", "tsv", "parquet"];

/// A dataset and its short name, which names its files.
struct One<'s> {
    source: &'s DatasetSource,
    abbr: String,
    needs_train: bool,
    /// Whether it has examples if --num-fewshot asks for some.
    takes_examples: bool,
    reads_neighbours: bool,
}

/// Builds conversations, one dataset or several.
pub(crate) fn run(args: &BuildArgs) -> Result<ExitCode> {
    flags::check_build(args)?;
    match args.input.dataset.as_deref().map(Dataset::sources).transpose()?.flatten() {
        Some(sources) => all(args, &sources),
        None => Ok(ExitCode::from(build::one(args, &Loaded::default(), None)?.code)),
    }
}

/// Builds all. An error in one is printed, and the others are built.
fn all(args: &BuildArgs, sources: &[DatasetSource]) -> Result<ExitCode> {
    let started = Instant::now();
    let output = check(args)?;
    let (mut code, mut failed, mut read) = (0, Vec::new(), Vec::new());
    for source in sources {
        match One::read(source) {
            Ok(one) => read.push(one),
            Err(error) => {
                say!("{}", error.in_flags());
                code = FAILED;
                failed.push(source.path().display().to_string());
            }
        }
    }
    check_abbrs(&read)?;
    fs::create_dir_all(output).at(output.display())?;
    let (loaded, mut prompts, mut tokens) = (Loaded::default(), 0, None);
    for one in &read {
        match one.args(args, output).and_then(|args| build::one(&args, &loaded, Some(&one.abbr))) {
            // Its file is not written.
            Ok(done) if done.code != 0 && args.on_error == OnError::Stop => {
                code = code.max(done.code);
                failed.push(one.abbr.clone());
            }
            Ok(done) => {
                prompts += done.prompts;
                tokens = done.tokens.map(|more| more + tokens.unwrap_or_default()).or(tokens);
                code = code.max(done.code);
            }
            Err(error) => {
                say!("{}: {}", one.abbr, error.in_flags());
                code = FAILED;
                failed.push(one.abbr.clone());
            }
        }
    }
    if !args.quiet {
        let datasets = count((sources.len() - failed.len()) as u64, "dataset");
        say!("{datasets}: {}", summary(prompts, tokens, started.elapsed().as_secs_f64()));
    }
    if !failed.is_empty() {
        say!("{} failed: {}", count(failed.len() as u64, "dataset"), failed.join(", "));
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
        _ if args.rejects.is_some() => {
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

/// Rejects two datasets that would write to one file.
fn check_abbrs(all: &[One<'_>]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for One { source, abbr, .. } in all {
        if let Some(before) = seen.insert(abbr, source) {
            let what = format!(
                "{} and {} have the same abbr {abbr:?}, which names their rows and outputs; change one",
                before.path().display(),
                source.path().display()
            );
            return Err(ErrorKind::Dataset(what).into());
        }
    }
    Ok(())
}

impl<'s> One<'s> {
    fn read(source: &'s DatasetSource) -> Result<Self> {
        let dataset = source.read()?;
        let abbr = file_name(&dataset).at(source.path().display())?;
        let retriever = &dataset.task.retriever;
        let reads_neighbours = matches!(retriever.kind, RetrieverKind::TopK { .. });
        let takes_examples = !matches!(retriever.kind, RetrieverKind::Zero);
        Ok(Self { source, abbr, needs_train: retriever.count() > 0, takes_examples, reads_neighbours })
    }

    /// The arguments for this dataset alone.
    fn args(&self, all: &BuildArgs, output: &Path) -> Result<BuildArgs> {
        let mut args = all.clone();
        args.input.source = Some(self.source.clone());
        args.input.inputs = vec![self.beside(&all.input.inputs[0])?];
        let judge = all.input.judge.iter().map(|path| self.beside(path));
        args.input.judge = judge.collect::<Result<_>>()?;
        let needs_train = all.input.num_fewshot.map_or(self.needs_train, |count| count > 0 && self.takes_examples)
            && all.input.judge.is_empty();
        args.input.train =
            all.input.train.as_deref().filter(|_| needs_train).map(|path| self.beside(path)).transpose()?;
        let neighbours = all.input.neighbours.as_deref().filter(|_| self.reads_neighbours && needs_train);
        args.input.neighbours = neighbours.map(|path| self.beside(path)).transpose()?;
        args.output = Some(output.join(format!("{}.{}", self.abbr, all.format.ending)));
        Ok(args)
    }

    /// A folder's file with this name, or the file that all share.
    fn beside(&self, path: &Path) -> Result<PathBuf> {
        if !path.is_dir() {
            return Ok(path.to_owned());
        }
        let mut files = ENDINGS.iter().map(|ending| path.join(format!("{}.{ending}", self.abbr)));
        files.find(|file| file.is_file()).ok_or_else(|| {
            let file = format!("{}.{}", self.abbr, ENDINGS[0]);
            let what = format!(
                "it contains no {file}, nor the same name with one of the extensions {}",
                ENDINGS[1..].join(", ")
            );
            Error::from(ErrorKind::NotFound(what)).at(path.display())
        })
    }
}

/// The short name as a file name, converted like in OpenCompass.
fn file_name(dataset: &Dataset) -> Result<String> {
    let name = dataset.abbr().replace('/', "_");
    if name.is_empty() || name.starts_with('.') || name.contains(|c: char| c == '\\' || c == ':' || c.is_control()) {
        let what = format!(
            "the abbr {:?} names the files of the rows and the output, but is not a valid file name",
            dataset.abbr()
        );
        return Err(ErrorKind::Dataset(what).into());
    }
    Ok(name)
}
