//! Inputs that are read again later: whether that is possible, and whether they are still the same.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::error::{At, ErrorKind, Result, Setting};
use crate::input::source::{is_stdin, local};

/// A hash of a file's bytes: 16 hexadecimal digits.
///
/// # Errors
/// [`ErrorKind::Io`] with the file's name, if it cannot be read.
pub fn digest_of_file(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut hash));
    copied.at(path.display())?;
    Ok(hex(hash))
}

/// The name of an input that is read, and a hash of its bytes; of a pipe, a device or `-`, standard input, which can be read
/// only once, the word `stream` in its place.
///
/// # Errors
/// [`ErrorKind::Io`] with the input's name, if it cannot be read; for a file of the Hub also the Hub's errors, such as
/// [`ErrorKind::HubMissing`].
pub fn digest_of_input(path: &Path) -> Result<String> {
    if is_stdin(path) {
        return Ok("- stream".into());
    }
    let (name, local) = (path.display(), local(path).at(path.display())?);
    let digest = if local.metadata().at(path.display())?.is_file() { digest_of_file(&local)? } else { "stream".into() };
    Ok(format!("{name} {digest}"))
}

/// Checks that inputs can be read again, as a resumed run does; `-` is standard input.
///
/// # Errors
/// [`ErrorKind::Usage`] names one that can be read only once.
pub fn check_readable_again(paths: &[PathBuf]) -> Result<()> {
    let is_stream = |path: &Path| path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    let Some(path) = paths.iter().find(|path| is_stdin(path) || is_stream(path)) else { return Ok(()) };
    let name = if is_stdin(path) { "standard input".into() } else { path.display().to_string() };
    let what = format!("the input is read again, but {name} can be read only once");
    Err(ErrorKind::Usage(what).with_way_out("use a file")).at(Setting::RESUME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_is_a_stream() {
        assert_eq!(digest_of_input(Path::new("-")).expect("it is not looked for"), "- stream");
    }

    #[test]
    fn a_missing_input_is_an_error() {
        let error = digest_of_input(Path::new("no/such.jsonl")).expect_err("it is missing");
        assert!(
            matches!(error.kind(), ErrorKind::Io(_)) && error.to_string().starts_with("no/such.jsonl: "),
            "{error}"
        );
    }
}
