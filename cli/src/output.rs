//! Where results go: standard output, or a file that appears only when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::partial::Partial;
use metatok::error::{At, ErrorKind, Result, counted};
use serde::Serialize;

/// An open output. Dropped before [`Output::finish`], a file is removed and its predecessor untouched.
pub(crate) enum Output {
    Stdout(io::Stdout),
    /// A device or pipe, which is written to directly.
    Direct(File, PathBuf),
    File(Partial, PathBuf),
}

impl Output {
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::Stdout(io::stdout())) };
        Self::open_file(path).at(path.display())
    }

    fn open_file(path: &Path) -> Result<Self> {
        let path = &followed(path);
        if is_open_already(path) {
            return Ok(Self::Direct(opened(path)?, path.clone()));
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::Error::from(io::ErrorKind::IsADirectory).into()),
            Ok(metadata) if !metadata.is_file() => {
                return Ok(Self::Direct(OpenOptions::new().write(true).open(path)?, path.clone()));
            }
            _ => {}
        }
        Ok(Self::File(Partial::beside(path)?, path.clone()))
    }

    fn name(&self) -> String {
        match self {
            Self::Stdout(_) => "standard output".into(),
            Self::Direct(_, path) | Self::File(_, path) => path.display().to_string(),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.write_all(bytes),
            Self::Direct(file, _) => file.write_all(bytes),
            Self::File(file, _) => file.write_all(bytes),
        }
    }

    /// Writes a part of the output; breaks off if the reader has closed the pipe.
    pub(crate) fn stream(&mut self, bytes: &[u8]) -> Result<ControlFlow<()>> {
        match self.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
            written => written.map(ControlFlow::Continue).map_err(|error| self.failed(error)),
        }
    }

    /// Writes a line at once, which is given without its end.
    pub(crate) fn stream_line(&mut self, line: &str) -> Result<ControlFlow<()>> {
        self.stream(format!("{line}\n").as_bytes())
    }

    /// How to create a file for what is not yet written: beside the output, where there is room for it.
    pub(crate) fn scratch(&self) -> impl Fn() -> io::Result<File> + Send + Sync + 'static {
        let folder = match self {
            Self::File(_, path) => path.parent().map(Path::to_owned),
            Self::Stdout(_) | Self::Direct(..) => None,
        };
        move || match &folder {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        }
    }

    /// Writes all of the output as a file. A pipe gets a copy of it.
    pub(crate) fn write_file(&mut self, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        let written = match self {
            Self::File(file, _) => write(file.file()),
            Self::Stdout(stdout) => copied(write, stdout),
            Self::Direct(file, _) => copied(write, file),
        };
        written.map_err(|error| if matches!(error.kind(), ErrorKind::Io(_)) { error.at(self.name()) } else { error })
    }

    /// Whether what was written stays, even if nothing more comes.
    pub(crate) fn keeps_its_beginning(&self) -> bool {
        matches!(self, Self::Stdout(_) | Self::Direct(..))
    }

    /// A file then keeps what was written if the program is interrupted.
    pub(crate) fn keep_if_interrupted(&self) {
        if let Self::File(file, path) = self {
            file.keep_if_interrupted(path);
        }
    }

    /// Makes what was written final.
    pub(crate) fn finish(self) -> Result<()> {
        let name = self.name();
        match self {
            Self::Stdout(mut stdout) => unless_closed(stdout.flush()).at(name),
            Self::Direct(mut file, _) => unless_closed(file.flush()).at(name),
            Self::File(file, path) => file.persist(&path).at(name),
        }
    }

    /// The error of a write, with the place.
    pub(crate) fn failed(&self, error: io::Error) -> metatok::Error {
        metatok::Error::from(error).at(self.name())
    }
}

/// What a link leads to, whether it is there or not: it is written through, not replaced.
fn followed(path: &Path) -> PathBuf {
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        // What these lead to has perhaps no name any more.
        if is_open_already(&path) {
            break;
        }
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Whether a path names what a process has open, such as `/dev/stdout`, which may be a file.
fn is_open_already(path: &Path) -> bool {
    let is_standard = ["/dev/stdin", "/dev/stdout", "/dev/stderr"].iter().any(|standard| path == Path::new(standard));
    let is_in_a_list = path.starts_with("/dev/fd") || path.starts_with("/proc");
    is_standard || is_in_a_list && path.parent().is_some_and(|folder| folder.ends_with("fd"))
}

/// What is open already, to write behind what was written to it. Opened once more, a file would be written from another
/// place in it than standard output or standard error is.
fn opened(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;

        let is = |standard: &str, number: &str| {
            let of_this_process = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"];
            path == Path::new(standard) || of_this_process.iter().any(|folder| path == Path::new(folder).join(number))
        };
        if is("/dev/stdout", "1") {
            return io::stdout().as_fd().try_clone_to_owned().map(File::from);
        }
        if is("/dev/stderr", "2") {
            return io::stderr().as_fd().try_clone_to_owned().map(File::from);
        }
    }
    OpenOptions::new().append(true).open(path)
}

/// Copies a file, which is written first.
fn copied(write: impl FnOnce(&mut File) -> Result<()>, out: &mut impl Write) -> Result<()> {
    let mut file = tempfile::tempfile().map_err(|error| {
        let folder = std::env::temp_dir();
        io::Error::new(error.kind(), format!("no temporary file can be made in {}: {error}", folder.display()))
    })?;
    write(&mut file)?;
    file.rewind()?;
    Ok(unless_closed(io::copy(&mut file, out).map(drop))?)
}

/// What writing to a pipe gave. It is no error that the reader has closed the pipe.
fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Whether output to this path is a file, and neither a device nor a pipe that is there.
pub(crate) fn becomes_a_file(path: &Path) -> bool {
    !is_open_already(&followed(path)) && path.metadata().map_or(true, |metadata| metadata.is_file())
}

/// What is written when a run stops: `2 prompts written`. A file appears only when it is complete.
pub(crate) fn written(number: u64, what: &str, output: Option<&Path>) -> String {
    match output.filter(|output| becomes_a_file(output)) {
        Some(_) => "nothing is written".to_owned(),
        None => format!("{} written", counted(number, what)),
    }
}

/// Appends a command's listing, as JSON that people can read too.
pub(crate) fn push_json(value: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer_pretty(&mut *out, value).expect("listed types are JSON, and memory takes every byte");
    out.push(b'\n');
}

/// Adds a line of JSON, for programs.
pub(crate) fn push_json_line(value: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(&mut *out, value).expect("what is written is JSON, and memory takes every byte");
    out.push(b'\n');
}

/// Prints a command's result, in colour only if that is supported.
pub(crate) fn to_stdout(out: Vec<u8>) -> Result<ExitCode> {
    let mut stdout = anstream::stdout();
    let written = stdout.write_all(&out).and_then(|()| stdout.flush());
    unless_closed(written).map(|()| ExitCode::SUCCESS).at("standard output")
}

/// Whether standard output is shown in colour.
pub(crate) fn has_colour() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// The columns of the terminal, or 100 if there is none.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}
