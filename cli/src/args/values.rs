//! Values that several options share.

use std::num::{IntErrorKind, NonZeroUsize, ParseIntError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use metatok::error::Error;
use metatok::truncate::Truncation;

pub(crate) fn truncation() -> impl TypedValueParser<Value = Truncation> {
    named([
        ("refuse", "Nothing: a prompt that is too long is an error"),
        ("left", "The first tokens"),
        ("right", "The last tokens"),
        ("middle", "The tokens in the middle"),
        ("last-examples", "In-context examples, starting with the last"),
        ("first-examples", "In-context examples, starting with the first"),
        ("oldest-turns", "Turns, the oldest first, but not the system message or the last question"),
    ])
}

/// A file to write. `-` would become a file with this name.
pub(crate) fn output_file() -> impl TypedValueParser<Value = PathBuf> {
    file_not_stdout("results go to standard output without this option; remove it")
}

/// A file to write beside the result, which goes to standard output.
pub(crate) fn details_file() -> impl TypedValueParser<Value = PathBuf> {
    file_not_stdout("standard output is for the accuracy, and these lines go to a file; name one")
}

fn file_not_stdout(why: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| match path.to_str() {
        Some("-") => Err(why),
        Some(_) if promises_compression(&path) => {
            Err("results are not compressed; choose another name, or pipe them into gzip or zstd")
        }
        _ => Ok(path),
    })
}

/// Whether a file of this name would be taken for a compressed one. What a pipe leads to is not known.
fn promises_compression(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    let is_compressed = ["gz", "zst", "bz2", "xz"].iter().any(|known| extension.eq_ignore_ascii_case(known));
    is_compressed && !path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

/// A number of threads.
pub(crate) fn threads() -> impl TypedValueParser<Value = NonZeroUsize> {
    clap::value_parser!(u16).range(1..=1024).try_map(|threads| NonZeroUsize::try_from(usize::from(threads)))
}

/// A number that must be at least one.
pub(crate) fn at_least_one() -> impl TypedValueParser<Value = usize> {
    |number: &str| positive(number).map(NonZeroUsize::get)
}

/// A count of at least one. The standard library would call it a "non-zero type".
pub(crate) fn positive(number: &str) -> Result<NonZeroUsize, &'static str> {
    number.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "the number is too large",
        _ => "expected a whole number of at least 1",
    })
}

/// A value with one of these names, parsed by the library.
pub(crate) fn named<T, const N: usize>(names: [(&'static str, &'static str); N]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = Error> + Clone + Send + Sync + 'static,
{
    let names = names.map(|(name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}
