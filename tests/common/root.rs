//! Where the repository is.

use std::path::Path;

/// The folder that holds the tests, whichever package of the repository is tested.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("tests/cases").is_dir()).expect("the cases are in the repository")
}
