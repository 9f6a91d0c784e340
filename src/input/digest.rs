//! What is in a file, in few bytes.

use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{At, Result};
use crate::fingerprint::hex;
use crate::input::source::local;

/// A hash of a file's bytes: 16 hexadecimal digits.
///
/// # Errors
/// What reading it says, with its name.
pub fn digest_of_file(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut hash));
    copied.at(path.display())?;
    Ok(hex(hash))
}

/// The name of an input that is read, and a hash of its bytes; of a pipe or a device, which can be read only once, the word
/// `stream` in its place.
///
/// # Errors
/// What reading it says, with its name.
pub fn digest_of_input(path: &Path) -> Result<String> {
    let (name, local) = (path.display(), local(path).at(path.display())?);
    let digest = if local.is_file() { digest_of_file(&local)? } else { "stream".into() };
    Ok(format!("{name} {digest}"))
}
