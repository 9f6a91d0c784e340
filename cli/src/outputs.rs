//! Checks that a command does not write to anything that it reads, which would be lost. Files are compared, not their names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use same_file::Handle;

use crate::args::{InputArgs, ModelArgs};
use crate::setup;
use crate::source::Source;
use metatok::error::{ErrorKind, Result};
use metatok::prepared::PreparedDataset;

/// The outputs of a command.
pub(crate) struct Outputs(Vec<To>);

/// A file that is written, or will be.
struct To {
    name: String,
    /// With links followed; standard output has none.
    path: Option<PathBuf>,
    /// If it already exists.
    handle: Option<Handle>,
}

impl Outputs {
    /// Writes to the file of an option, or to standard output.
    pub(crate) fn to(option: &str, path: Option<&Path>) -> Self {
        Self(match path {
            Some(path) => vec![To::file(option, path)],
            None => To::stdout().into_iter().collect(),
        })
    }

    /// Writes to this file too.
    pub(crate) fn and(mut self, option: &str, path: &Path) -> Result<Self> {
        let other = To::file(option, path);
        if let Some(to) = self.0.iter().find(|to| to.is(&other)) {
            return Err(to.clash(&other.name));
        }
        self.0.push(other);
        Ok(self)
    }

    /// Checks that no source of prompts is one of them.
    pub(crate) fn check_inputs(
        &self,
        args: &InputArgs,
        source: &Source,
        dataset: Option<&PreparedDataset>,
    ) -> Result<()> {
        self.check_source(&args.inputs, source)?;
        args.judge.iter().try_for_each(|path| self.check("--judge", Some(path)))?;
        let neighbours = dataset.and_then(|dataset| dataset.dataset().task.retriever.neighbours());
        for (what, path) in
            [("--dataset", args.dataset.as_deref()), ("--train", args.train.as_deref()), ("the neighbours", neighbours)]
        {
            self.check(what, path)?;
        }
        Ok(())
    }

    /// Checks that no input is one of them.
    pub(crate) fn check_source(&self, inputs: &[PathBuf], source: &Source) -> Result<()> {
        inputs.iter().try_for_each(|path| self.check("the input", Some(path)))?;
        if source.has_stdin() { self.check("standard input", Some(Path::new("-"))) } else { Ok(()) }
    }

    /// Checks that no file of the model or its tokenizer is one of them.
    pub(crate) fn check_model(&self, args: &ModelArgs, has_input: bool) -> Result<()> {
        self.check("the model", args.model.as_deref().map(Path::new))?;
        self.check("the conversation template", args.conversation.as_deref().map(Path::new))?;
        // If none is found, the code that needs one reports it.
        let tokenizer = setup::weights_name(args, has_input).ok();
        self.check("the tokenizer", tokenizer.as_deref().map(Path::new))
    }

    /// Checks that a file, or one in a folder, is not one of them.
    pub(crate) fn check(&self, what: &str, path: Option<&Path>) -> Result<()> {
        let Some(path) = path.filter(|_| !self.0.is_empty()) else { return Ok(()) };
        if path == Path::new("-") {
            return self.compare("standard input", regular(Handle::stdin()).as_ref());
        }
        let files = match fs::read_dir(path) {
            Ok(files) => files.flatten().map(|file| file.path()).collect(),
            Err(_) => vec![path.to_owned()],
        };
        files.iter().try_for_each(|file| self.compare(&format!("{what} {}", file.display()), handle(file).as_ref()))
    }

    fn compare(&self, name: &str, handle: Option<&Handle>) -> Result<()> {
        let Some(handle) = handle else { return Ok(()) };
        match self.0.iter().find(|to| to.handle.as_ref() == Some(handle)) {
            Some(to) => Err(to.clash(name)),
            None => Ok(()),
        }
    }
}

impl To {
    fn file(option: &str, path: &Path) -> Self {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let of_directory = || Some(fs::canonicalize(directory).ok()?.join(path.file_name()?));
        let known = fs::canonicalize(path).ok().or_else(of_directory);
        // Devices and pipes accept everything, twice too.
        let known = known.filter(|path| fs::metadata(path).map_or(true, |metadata| metadata.is_file()));
        Self { name: format!("{option} {}", path.display()), path: known, handle: handle(path) }
    }

    /// If it is a file: a terminal or a pipe may be both input and output.
    fn stdout() -> Option<Self> {
        let handle = regular(Handle::stdout())?;
        Some(Self { name: "standard output".into(), path: None, handle: Some(handle) })
    }

    fn is(&self, other: &Self) -> bool {
        (self.path.is_some() && self.path == other.path) || (self.handle.is_some() && self.handle == other.handle)
    }

    fn clash(&self, other: &str) -> metatok::Error {
        let what = format!("{} and {other} are the same file, which would be lost; write to another file", self.name);
        ErrorKind::Usage(what).into()
    }
}

/// Only files are opened, because opening a pipe waits for its other end.
fn handle(path: &Path) -> Option<Handle> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Handle::from_path(path).ok()
}

fn regular(handle: io::Result<Handle>) -> Option<Handle> {
    handle.ok().filter(|handle| handle.as_file().metadata().is_ok_and(|metadata| metadata.is_file()))
}
