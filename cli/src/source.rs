//! Where a command's input comes from: given files, a pipe, or nowhere.

use std::io::{self, BufRead, BufReader, IsTerminal, Stdin};
use std::path::{Path, PathBuf};

use crate::args::{InputArgs, ModelArgs, Shape};
use crate::say::say;
use metatok::error::{At, Error, ErrorKind, Place, Result};
use metatok::input::{CsvOptions, Input, check_readable_again, digest_of_input};

/// Large enough to read a whole pipe at once.
const BUFFER: usize = 1 << 18;

/// The origin of the input.
pub(crate) enum Source {
    /// These files, of which `-` is standard input.
    Files(Vec<PathBuf>),
    /// Standard input, because no file is given and something is piped into the program.
    Piped(BufReader<Stdin>),
    /// Nowhere.
    Nothing,
}

impl Source {
    /// Finds it. An empty pipe counts as no input, because programs are often started with one.
    ///
    /// # Errors
    /// If standard input is named twice; errors of reading it.
    pub(crate) fn find(paths: &[PathBuf]) -> Result<Self> {
        Self::find_with(paths, false)
    }

    /// Like [`Source::find`], but if other inputs are given, an empty pipe is empty input: the program before it has
    /// failed, and the demo's result must not replace its output.
    ///
    /// # Errors
    /// As for [`Self::find`].
    pub(crate) fn find_for(input: &InputArgs, model: &ModelArgs) -> Result<Self> {
        Self::find_with(&input.inputs, model.is_given() || input.dataset.is_some())
    }

    fn find_with(paths: &[PathBuf], is_named: bool) -> Result<Self> {
        if paths.iter().filter(|path| is_dash(path)).count() > 1 {
            let what = "standard input is named twice, but can be read only once; name a file instead";
            return Err(ErrorKind::Usage(what.into()).into());
        }
        if !paths.is_empty() {
            return Ok(Self::Files(paths.to_vec()));
        }
        if !is_piped() {
            return Ok(Self::Nothing);
        }
        let mut stdin = BufReader::with_capacity(BUFFER, io::stdin());
        let is_empty = stdin.fill_buf().at("stdin")?.is_empty();
        Ok(if is_empty && !is_named { Self::Nothing } else { Self::Piped(stdin) })
    }

    /// Whether the demo's conversations are read for another model than the demo.
    pub(crate) fn is_demo_for(&self, model: &ModelArgs) -> bool {
        !self.has_input() && !model.is_demo()
    }

    /// Refuses to write the demo for another model to a file: an empty shell variable may have dropped the input names.
    pub(crate) fn check_demo(&self, model: &ModelArgs, output: Option<&Path>) -> Result<()> {
        if output.is_some() && self.is_demo_for(model) {
            return Err(ErrorKind::Usage("there is no input; name files, or - for standard input".into()).into());
        }
        Ok(())
    }

    /// Whether there is input.
    pub(crate) fn has_input(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Whether standard input is read, which cannot be read twice.
    pub(crate) fn has_stdin(&self) -> bool {
        match self {
            Self::Files(paths) => paths.iter().any(|path| is_dash(path)),
            Self::Piped(_) => true,
            Self::Nothing => false,
        }
    }

    /// Rejects further files that are standard input too: whatever reads it later would find nothing.
    pub(crate) fn check_stdin<'p>(&self, others: impl IntoIterator<Item = (&'static str, &'p Path)>) -> Result<()> {
        let others = others.into_iter().filter(|(_, path)| is_dash(path)).map(|(option, _)| option);
        let mut readers = self.has_stdin().then_some("the input").into_iter().chain(others);
        let (Some(first), Some(second)) = (readers.next(), readers.next()) else { return Ok(()) };
        let what = format!(
            "{first} and {second} are both standard input, which can be read only once; name a file for one of them"
        );
        Err(ErrorKind::Usage(what).into())
    }

    /// Checks that it can be read again, as a resumed run does.
    pub(crate) fn check_readable_again(&self) -> Result<()> {
        match self {
            Self::Files(paths) => check_readable_again(paths),
            Self::Piped(_) => check_readable_again(&["-".into()]),
            Self::Nothing => Ok(()),
        }
    }

    /// The inputs by name and content, and which part of them is read.
    pub(crate) fn digests(&self, field: Option<&str>) -> Result<Vec<String>> {
        let mut digests = match self {
            Self::Files(paths) => paths.iter().map(|path| digest_of_input(path)).collect::<Result<_>>()?,
            Self::Piped(_) => vec!["stream".into()],
            Self::Nothing => vec!["demo".into()],
        };
        digests.extend(field.map(|field| format!("field {field}")));
        Ok(digests)
    }

    /// Opens every input before anything is read; none if there is no input.
    pub(crate) fn open(self, shape: Shape<'_>) -> Result<Vec<Input>> {
        if shape.csv != CsvOptions::default() && self.has_stdin() {
            let what = "--columns and --quotes are for CSV and TSV files, but standard input is JSON lines";
            return Err(ErrorKind::Usage(what.into()).into());
        }
        let inputs = match self {
            Self::Files(paths) => paths.iter().map(|path| Input::open_with(path, &shape.csv)).collect::<Result<_>>()?,
            Self::Piped(stdin) => vec![Input::new("stdin", stdin)],
            Self::Nothing => Vec::new(),
        };
        let inputs = inputs.into_iter().map(|input| input.in_format(shape.format));
        match shape.field {
            Some(field) => inputs.map(|input| input.in_field(field)).collect(),
            None => Ok(inputs.collect()),
        }
    }

    /// Opens every input; if there is none, the demo's conversations.
    pub(crate) fn open_or_demo(self, shape: Shape<'_>) -> Result<Vec<Input>> {
        Ok(if self.has_input() { self.open(shape)? } else { vec![Input::demo()] })
    }
}

/// Whether a path stands for standard input, or for standard output where something is written.
pub(crate) fn is_dash(path: &Path) -> bool {
    path == Path::new("-")
}

/// Notes which of several files are empty: an export that failed may be among them.
pub(crate) fn note_empty(inputs: &[Input]) {
    let is_empty = |input: &&Input| inputs.len() > 1 && input.bytes() == Some(0);
    inputs.iter().filter(is_empty).for_each(|input| say!("note: {}: the file is empty", input.name()));
}

/// The names of inputs, for messages.
pub(crate) fn names(inputs: &[Input]) -> String {
    inputs.iter().map(Input::name).collect::<Vec<_>>().join(", ")
}

/// The error for inputs with these names that have no rows of a dataset, or no conversations.
pub(crate) fn nothing_in(names: &str, has_dataset: bool) -> Error {
    let kind = if has_dataset { ErrorKind::NoRows } else { ErrorKind::EmptyInput };
    Error::from(kind).at(Place::file(names))
}

/// Whether standard input is a pipe or a file. Terminals and devices are not waited for.
fn is_piped() -> bool {
    if io::stdin().is_terminal() {
        return false;
    }
    #[cfg(unix)]
    {
        use std::fs::File;
        use std::os::fd::AsFd;
        use std::os::unix::fs::FileTypeExt;

        let metadata = io::stdin().as_fd().try_clone_to_owned().and_then(|stdin| File::from(stdin).metadata());
        metadata.is_ok_and(|metadata| {
            let kind = metadata.file_type();
            kind.is_file() || kind.is_fifo() || kind.is_socket()
        })
    }
    #[cfg(windows)]
    {
        use winapi_util::{HandleRef, file};

        file::typ(HandleRef::stdin()).is_ok_and(|kind| kind.is_disk() || kind.is_pipe())
    }
    #[cfg(not(any(unix, windows)))]
    true
}
