//! Files that are being written: hidden, next to the final ones, and removed if the program is interrupted, unless what
//! they have so far is to be kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tempfile::{NamedTempFile, TempPath};

#[cfg(windows)]
use crate::interrupt::windows::{SIGINT, at_ctrl_c};

/// The most characters of a name that the hidden one has. One takes four bytes at most, and a name 255.
const MOST_OF_NAME: usize = 50;

/// The files that exist now.
static FILES: Mutex<Vec<Listed>> = Mutex::new(Vec::new());

/// A file that exists now.
struct Listed {
    path: PathBuf,
    /// Where it is moved if the program is interrupted; otherwise it is removed.
    kept_as: Option<PathBuf>,
}

/// A file that is being written. Dropped before [`Partial::persist`], it is removed.
pub(crate) struct Partial {
    file: fs::File,
    path: Option<TempPath>,
}

impl Partial {
    /// Creates one next to `path`.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        ended_at_signals();
        // The last component is that of the directory, so only the rename would fail, after everything was written.
        if path.to_string_lossy().ends_with(std::path::is_separator) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory; add the name of a file"));
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !directory.is_dir() {
            let what = format!("there is no folder {}; create it first", directory.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, what));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // No longer than the name itself may be, with what is put around it.
        let name: String = name.chars().take(MOST_OF_NAME).collect();
        let mut builder = tempfile::Builder::new();
        // After umask, these are the permissions of an ordinary file. A file that is replaced keeps its own.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let replaced = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        // The folder alone decides whether a file may be replaced, but whoever protected it wants to keep it.
        if replaced.is_some() {
            fs::OpenOptions::new().write(true).open(path)?;
        }
        // The list stays locked, so that no signal comes between a file and its entry.
        let mut files = files();
        let file = builder.prefix(&format!(".{name}.")).suffix(".partial").tempfile_in(directory);
        // The hidden file's own name says nothing to whoever named the final one.
        let file = file.map_err(|error| {
            let kind = error.kind().to_string();
            // Some, such as too many open files, are of no kind.
            let cause = if kind == "uncategorized error" { error.to_string() } else { kind };
            let what = format!("no file can be created in {}: {cause}", directory.display());
            io::Error::new(error.kind(), what)
        })?;
        files.push(Listed { path: file.path().to_owned(), kept_as: None });
        if let Some(replaced) = replaced {
            file.as_file().set_permissions(replaced.permissions())?;
        }
        let (file, path) = NamedTempFile::into_parts(file);
        Ok(Self { file, path: Some(path) })
    }

    /// The file itself.
    pub(crate) fn file(&mut self) -> &mut fs::File {
        &mut self.file
    }

    /// Lets an interrupted program move it to its final path, if anything is in it.
    pub(crate) fn keep_if_interrupted(&self, path: &Path) {
        let Some(partial) = &self.path else { return };
        let mut files = files();
        files.iter_mut().filter(|file| file.path == **partial).for_each(|file| file.kept_as = Some(path.to_owned()));
    }

    /// Moves it to its final path.
    pub(crate) fn persist(mut self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        let Some(partial) = self.path.take() else { return Ok(()) };
        let before = partial.to_path_buf();
        // A file that is mounted, or that is another user's in a shared folder, may be written but not replaced.
        let persisted = partial.persist(path).or_else(|error| copy(&error.path, path).map_err(|_| error.error));
        forget(&before);
        persisted
    }
}

/// Writes a file's contents to another one that is there.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut to = fs::OpenOptions::new().write(true).truncate(true).open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut to)?;
    to.sync_all()
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let before = path.to_path_buf();
            drop(path);
            forget(&before);
        }
    }
}

impl io::Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn files() -> MutexGuard<'static, Vec<Listed>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget(path: &Path) {
    files().retain(|file| file.path != path);
}

impl Listed {
    /// Keeps the file if that is wanted and something is in it, and removes it otherwise.
    #[cfg(any(unix, windows))]
    fn end(&self) {
        let has_something = fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() > 0);
        let kept = self.kept_as.as_ref().filter(|_| has_something);
        let is_moved = kept.is_some_and(|kept| fs::rename(&self.path, kept).is_ok());
        if let Some(kept) = kept.filter(|_| !is_moved) {
            let _ = copy(&self.path, kept);
        }
        if !is_moved {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Lets Ctrl-C, TERM and HUP remove or keep incomplete files and end the program, with the exit code that shells expect. A
/// second signal ends it at once. If this is not possible, signals end the program as usual, and the hidden files stay.
fn ended_at_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(unix)]
        let _ = unix::watch();
        #[cfg(windows)]
        at_ctrl_c(|| {
            // From now on no file is created.
            let files = files();
            files.iter().for_each(Listed::end);
            std::process::exit(128 + i32::from(SIGINT));
        });
    });
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::Arc;
    use std::thread;

    use signal_hook::consts::SIGXFSZ;
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    use crate::interrupt::unix::{end_by, second_ends, signals};

    pub(super) fn watch() -> io::Result<()> {
        // A file that is too large for its limit is an error of writing, as a full disk is.
        flag::register(SIGXFSZ, Arc::default())?;
        let mut watched = Signals::new(signals())?;
        thread::Builder::new().name("signals".into()).spawn(move || {
            if let Some(signal) = watched.forever().next() {
                // From now on no file is created.
                let files = super::files();
                files.iter().for_each(super::Listed::end);
                end_by(signal);
                std::process::exit(128 + signal);
            }
        })?;
        signals().into_iter().try_for_each(second_ends)
    }
}
