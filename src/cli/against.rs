//! `metatok check --against`: whether the prompts of a file are what would be built now.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use serde::Deserialize;

use crate::cli::args::CheckArgs;
use crate::cli::rows::Rows;
use crate::cli::{REJECTED, setup};
use crate::error::{At, ErrorKind, Result};
use crate::fingerprint::Fingerprint;

/// Of a line, what is compared.
#[derive(Deserialize)]
struct Line {
    fingerprint: Option<Fingerprint>,
}

/// Lines with the same fingerprint.
struct Same {
    fingerprint: Fingerprint,
    first: String,
    lines: u64,
}

pub(crate) fn run(path: &Path, args: &CheckArgs) -> Result<ExitCode> {
    let longest = args.model.max_line_bytes;
    let mut options = setup::options(&args.model);
    if let Some(rows) = Rows::open(&args.input, longest)? {
        rows.set(&mut options, &args.model);
    }
    let (model, tokenizer) = setup::load(&args.model)?;
    let here = setup::fingerprint(&args.input, &model, &tokenizer, &options)?;
    let mut found: Vec<Same> = Vec::new();
    setup::each_line(setup::inputs(&[path.to_owned()])?, longest, |place, line| {
        let line: Line = serde_json::from_str(line?).map_err(|error| ErrorKind::Parse(error.to_string())).at(place)?;
        let missing = || ErrorKind::Usage("it has no fingerprint to compare; `build --fingerprint` writes one".into());
        let fingerprint = line.fingerprint.ok_or_else(missing).at(place)?;
        match found.iter_mut().find(|same| same.fingerprint == fingerprint) {
            Some(same) => same.lines += 1,
            None => found.push(Same { fingerprint, first: place.to_owned(), lines: 1 }),
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
            eprintln!("metatok: {}{others}: built with {}", same.first, differences.join(", "));
        }
    }
    if lines == 0 {
        return Err(ErrorKind::Usage("there is no prompt in it".into())).at(path.display());
    }
    let prompts = if lines == 1 { "prompt" } else { "prompts" };
    if differ > 0 {
        eprintln!("metatok: {differ} of {lines} {prompts} would not be built so now");
        return Ok(ExitCode::from(REJECTED));
    }
    eprintln!("metatok: {lines} {prompts}, built with the same");
    Ok(ExitCode::SUCCESS)
}
