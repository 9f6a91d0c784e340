//! The files that a program writes, none of which may be one that it reads. Files are compared, not their names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use same_file::Handle;

use crate::error::{Error, ErrorKind, Result};
use crate::input::source::is_stdin;

/// The files that a program writes, none of which may be one that it reads, or be written twice.
///
/// ```
/// use metatok::input::OutputFiles;
///
/// let folder = std::env::temp_dir();
/// let (chats, prompts) = (folder.join("metatok-chats.jsonl"), folder.join("metatok-prompts.jsonl"));
/// std::fs::write(&chats, "{}")?;
/// let outputs = OutputFiles::file("the prompts", &prompts);
/// outputs.check("the input", &chats)?;
/// let error = outputs.and("the rejects", &chats)?.check("the input", &chats).expect_err("it would be lost");
/// assert!(error.to_string().ends_with("are the same file, which would be lost; write to another file"));
/// # std::fs::remove_file(&chats)?;
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct OutputFiles {
    files: Vec<OutputFile>,
}

/// A file that is written, or will be.
#[derive(Debug)]
struct OutputFile {
    name: String,
    /// With links followed; standard output has none.
    path: Option<PathBuf>,
    /// If it already exists.
    handle: Option<Handle>,
}

impl OutputFiles {
    /// Standard output, if it is a file: a terminal or a pipe may be both input and output.
    pub fn stdout() -> Self {
        let file = regular(Handle::stdout()).map(|handle| {
            let name = "standard output".to_owned();
            OutputFile { name, path: None, handle: Some(handle) }
        });
        Self { files: file.into_iter().collect() }
    }

    /// One file. `what` names it in messages, before its path.
    pub fn file(what: &str, path: &Path) -> Self {
        Self { files: vec![OutputFile::new(what, path)] }
    }

    /// Adds a file. `what` names it in messages, before its path.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it is already among them.
    pub fn and(mut self, what: &str, path: &Path) -> Result<Self> {
        let new = OutputFile::new(what, path);
        if let Some(same) = self.files.iter().find(|file| file.is(&new)) {
            return Err(same.clash(&new.name));
        }
        self.files.push(new);
        Ok(self)
    }

    /// Checks that a file that is read, or one in a folder, is not one of them; `-` is standard input. `what` names it in
    /// messages.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] with both.
    pub fn check(&self, what: &str, path: &Path) -> Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        if is_stdin(path) {
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
        match self.files.iter().find(|file| file.handle.as_ref() == Some(handle)) {
            Some(file) => Err(file.clash(name)),
            None => Ok(()),
        }
    }
}

impl OutputFile {
    fn new(what: &str, path: &Path) -> Self {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let of_directory = || Some(fs::canonicalize(directory).ok()?.join(path.file_name()?));
        let known = fs::canonicalize(path).ok().or_else(of_directory);
        // Devices and pipes accept everything, twice too.
        let known = known.filter(|path| fs::metadata(path).map_or(true, |metadata| metadata.is_file()));
        Self { name: format!("{what} {}", path.display()), path: known, handle: handle(path) }
    }

    fn is(&self, other: &Self) -> bool {
        (self.path.is_some() && self.path == other.path) || (self.handle.is_some() && self.handle == other.handle)
    }

    fn clash(&self, other: &str) -> Error {
        ErrorKind::Usage(format!("{} and {other} are the same file, which would be lost", self.name))
            .with_way_out("write to another file")
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
