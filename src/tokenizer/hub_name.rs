//! Names of the hub's repositories and their files, checked so that no name leads out of a repository, in its address
//! or in the cache.

#[cfg(feature = "hub")]
use crate::error::{ErrorKind, Result};

/// `org/name` or `org/name@revision`. A path that does not exist may look the same; then the hub reports it.
pub(crate) fn looks_like_a_repository(name: &str) -> bool {
    let repository = name.split('@').next().unwrap_or_default();
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    repository.split_once('/').is_some_and(|(org, name)| part(org) && part(name))
        && !name.ends_with(".json")
        && !name.ends_with(".toml")
}

/// Splits `org/name` or `org/name@revision`.
#[cfg(feature = "hub")]
pub(crate) fn split_revision(name: &str) -> Result<(&str, &str)> {
    let Some((id, revision)) = name.split_once('@') else { return Ok((name, "main")) };
    if stays_below(revision) {
        return Ok((id, revision));
    }
    let way_out = "write a branch, a tag or a commit after the @, or remove it";
    Err(ErrorKind::Usage(format!("{revision:?} is not a revision")).with_way_out(way_out))
}

/// Splits `hf://datasets/org/name/path/to/file` into the repository with its revision, and the file.
#[cfg(feature = "hub")]
pub(crate) fn split_dataset_file(url: &str) -> Result<(&str, &str)> {
    let parts = url.strip_prefix("hf://datasets/").and_then(|rest| {
        let (org, more) = rest.split_once('/')?;
        // The names of pull requests and of converted Parquet have slashes: `refs/pr/1`, `refs/convert/parquet`.
        let is_ref = more.split_once("@refs/").is_some_and(|(name, name_of_ref)| {
            !name.contains('/') && ["pr/", "convert/"].iter().any(|kind| name_of_ref.starts_with(kind))
        });
        let (end, _) = more.match_indices('/').nth(if is_ref { 2 } else { 0 })?;
        let slash = org.len() + 1 + end;
        Some((&rest[..slash], &rest[slash + 1..])).filter(|(name, _)| looks_like_a_repository(name))
    });
    match parts {
        Some((name, file)) if stays_below(file) => Ok((name, file)),
        Some((name, file)) if !file.is_empty() => {
            let way_out = "use its path on the hub, such as data/test.csv";
            Err(ErrorKind::Usage(format!("{file:?} is not a file of {name}")).with_way_out(way_out))
        }
        _ => {
            Err(ErrorKind::Usage("a file of the hub must be written as hf://datasets/ORG/NAME/path/to/file".into())
                .into())
        }
    }
}

/// Whether a path stays below its start, for file systems and servers alike.
#[cfg(feature = "hub")]
fn stays_below(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && !path.contains(|c: char| c.is_control() || matches!(c, '\\' | ':' | '%' | '?' | '#'))
}

#[cfg(all(test, feature = "hub"))]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out() {
        for name in ["a/b", "a/b@main", "a/b@refs/pr/1", "a/b@v1.0..2", "a/b@0123456789abcdef"] {
            assert!(looks_like_a_repository(name) && split_revision(name).is_ok(), "{name}");
        }
        for revision in ["", "..", "../..", "/abs", "a//b", "a/..", ".", "a\\..\\b", "%2e%2e", "a?b", "a#b", "c:", "\n"]
        {
            assert!(split_revision(&format!("a/b@{revision}")).is_err(), "{revision}");
        }
        for (file, is_one) in [
            ("test.csv", true),
            ("data/a b/naïve.parquet", true),
            ("..csv", true),
            ("/abs", false),
            ("../../x", false),
            ("data/../../x", false),
            ("data//x", false),
            ("data/", false),
            (".", false),
            ("..\\x", false),
            ("%2e%2e/x", false),
            ("x\0", false),
        ] {
            assert_eq!(split_dataset_file(&format!("hf://datasets/a/b/{file}")).is_ok(), is_one, "{file}");
        }
        for (url, expected) in [
            ("a/b/x/y", ("a/b", "x/y")),
            ("a/b@v1/x/y", ("a/b@v1", "x/y")),
            ("a/b@refs/pr/1/x", ("a/b@refs/pr/1", "x")),
            ("a/b@refs/convert/parquet/c/train/0.parquet", ("a/b@refs/convert/parquet", "c/train/0.parquet")),
            ("a/b@refs/x", ("a/b@refs", "x")),
            ("a/b/x@refs/pr/1", ("a/b", "x@refs/pr/1")),
        ] {
            let url = format!("hf://datasets/{url}");
            assert_eq!(split_dataset_file(&url).expect("it is a file"), expected, "{url}");
        }
        for name in ["../b", "a/..", ".a/b", "a/b c", "a", "", "a/b/"] {
            assert!(split_dataset_file(&format!("hf://datasets/{name}/x")).is_err() || name == "a/b/", "{name}");
        }
    }
}
