//! `metatok check --against`: whether the prompts of a file are what would be built now.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::args::CheckArgs;
use crate::exit::REJECTED;
use crate::say::say;
use crate::{output, setup};
use metatok::error::{At, ErrorKind, Result};
use metatok::fingerprint::Fingerprint;
use metatok::input::{Input, each_line, from_json};
use metatok::sink::metadata;

/// The parts of a line that are compared.
#[derive(Deserialize)]
struct Line {
    fingerprint: Option<Fingerprint>,
    /// For a file of arrays, its rows.
    prompts: Option<Vec<IgnoredAny>>,
    /// For a table, the number of its rows.
    rows: Option<u64>,
}

/// Lines with the same fingerprint.
struct Same {
    fingerprint: Fingerprint,
    first: String,
    lines: u64,
}

pub(crate) fn run(path: &Path, args: &CheckArgs) -> Result<ExitCode> {
    let longest = args.input.read.max_line_bytes;
    let dataset = setup::dataset(&args.input)?;
    let options = setup::options(&args.prompts, dataset.as_ref());
    let (model, tokenizer) = setup::load(&args.model, true)?;
    let here = setup::fingerprint(&args.input, dataset.as_ref(), args.truncate, &model, &tokenizer, &options)?;
    let mut found: Vec<Same> = Vec::new();
    let inputs = inputs(path)?;
    each_line(inputs, longest, |place, line| {
        let line: Line = from_json(line?).map_err(|error| place.of_error(error))?;
        let prompts = line.prompts.map(|prompts| prompts.len() as u64).or(line.rows).unwrap_or(1);
        let missing = || ErrorKind::Usage("it has no fingerprint to compare; `build --fingerprint` writes one".into());
        let fingerprint = line.fingerprint.ok_or_else(missing).map_err(|error| place.of_error(error))?;
        match found.iter_mut().find(|same| same.fingerprint == fingerprint) {
            Some(same) => same.lines += prompts,
            None => found.push(Same { fingerprint, first: place.to_string(), lines: prompts }),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let (mut lines, mut differ) = (0, 0);
    for same in &found {
        lines += same.lines;
        let differences: Vec<String> = same.fingerprint.differences(&here).iter().map(ToString::to_string).collect();
        if !differences.is_empty() {
            differ += same.lines;
            let others = if same.lines > 1 { format!(" and {} more", same.lines - 1) } else { String::new() };
            say!("{}{others}: {}", same.first, differences.join("; "));
        }
    }
    if lines == 0 {
        return Err(ErrorKind::Usage("it contains no prompts".into())).at(path.display());
    }
    let prompts = output::count(lines, "prompt");
    if differ > 0 {
        say!("{differ} of {prompts} would be different if built now");
        return Ok(ExitCode::from(REJECTED));
    }
    say!("{prompts}, up to date by fingerprint; ids are not compared");
    Ok(ExitCode::SUCCESS)
}

/// The lines of a file. A file of arrays or a table has one line, with its metadata.
fn inputs(path: &Path) -> Result<Vec<Input>> {
    let name = path.display().to_string();
    Ok(vec![match metadata(path).at(&name)? {
        Some(metadata) => Input::record(name, "prompt", metadata),
        None => Input::open(path, None)?,
    }])
}
