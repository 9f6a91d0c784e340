//! Files of prompts or answers, one per dataset, each named after its dataset.

use std::ops::ControlFlow;
use std::path::Path;

use crate::error::{At, ErrorKind, Place, Result};
use crate::input::{Input, each_object};

/// The extensions that a file's name may have after the dataset's, from the outside in: a run's journal is
/// `gsm8k.jsonl.partial`.
const EXTENSIONS: [&str; 6] = [".partial", ".gz", ".zst", ".zstd", ".jsonl", ".json"];

/// Visits the lines of each input, and returns what each came to, with the dataset's name: `gsm8k` for
/// `prompts/gsm8k.jsonl.gz`.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use metatok::input::{Input, by_dataset};
///
/// let input = |name: &str, lines: &'static str| Input::new(name, lines.as_bytes());
/// let inputs = vec![input("prompts/gsm8k.jsonl", "1\n2\n"), input("mmlu_v1.5.jsonl.gz", "3\n")];
/// let sums = by_dataset(inputs, 1 << 20, "number", |sum: &mut u64, line| {
///     *sum += line.parse::<u64>().expect("it is one");
///     Ok(ControlFlow::Continue(()))
/// })?;
/// assert_eq!(sums, [("gsm8k".to_owned(), 3), ("mmlu_v1.5".to_owned(), 3)]);
/// # Ok::<(), metatok::Error>(())
/// ```
///
/// # Errors
/// Errors of reading an input or of `visit`, with their place; [`ErrorKind::Parse`] for an input without lines, which
/// contains no `what`s.
pub fn by_dataset<T: Default>(
    inputs: Vec<Input>,
    max_line_bytes: usize,
    what: &str,
    mut visit: impl FnMut(&mut T, &str) -> Result<ControlFlow<()>>,
) -> Result<Vec<(String, T)>> {
    let mut datasets = Vec::new();
    for input in inputs {
        let (name, mut found, mut is_empty) = (input.name().to_owned(), T::default(), true);
        each_object(vec![input], max_line_bytes, |place, line| {
            is_empty = false;
            line.and_then(|line| visit(&mut found, line)).map_err(|error| place.of_error(error))
        })?;
        if is_empty {
            return Err(ErrorKind::Parse(format!("it contains no {what}s"))).at(Place::file(name));
        }
        datasets.push((dataset_name(&name), found));
    }
    Ok(datasets)
}

fn dataset_name(input: &str) -> String {
    let file = Path::new(input).file_name().map_or(input.into(), |file| file.to_string_lossy());
    let mut name = &*file;
    for extension in EXTENSIONS {
        name = name.strip_suffix(extension).filter(|rest| !rest.is_empty()).unwrap_or(name);
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_extensions() {
        let names = ["gsm8k", "gsm8k.jsonl", "runs/gsm8k.jsonl.gz", "gsm8k.json.zst", "gsm8k.jsonl.partial"];
        for name in names {
            assert_eq!(dataset_name(name), "gsm8k", "{name}");
        }
        assert_eq!([".jsonl", "mmlu_v1.5.jsonl"].map(dataset_name), [".jsonl", "mmlu_v1.5"]);
    }
}
