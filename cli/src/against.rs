//! `metatok check --against`: whether the prompts of a file are what would be built now.

use std::path::Path;
use std::process::ExitCode;

use crate::args::CheckArgs;
use crate::exit::FOUND;
use crate::say::say;
use crate::{earlier_answers, setup};
use metatok::build::RecordedFingerprint;
use metatok::error::{At, ErrorKind, Place, Result, counted};
use metatok::fingerprint::Fingerprint;

pub(crate) fn run(path: &Path, args: &CheckArgs) -> Result<ExitCode> {
    let dataset = setup::dataset(&args.input)?;
    let options = setup::options(&args.prompts, dataset.as_ref());
    let (model, tokenizer) = setup::load(&args.model, true)?;
    let answers = earlier_answers::read(&args.answers, &args.input, dataset.as_ref())?;
    let input = setup::input_options(&args.input, dataset.as_ref(), answers.as_ref(), args.truncate);
    let here = input.fingerprint(Fingerprint::new(&model, &tokenizer, &options))?;
    let recorded = RecordedFingerprint::read(path, args.input.read.max_line_bytes)?;
    if let Some(missing) = recorded.iter().find(|same| same.fingerprint.is_none()) {
        let what = "it has no fingerprint to compare; `build --fingerprint` writes one";
        return Err(ErrorKind::Usage(what.into())).at(Place::other(&missing.first));
    }
    let differ: u64 = recorded.iter().filter(|same| say_differences(same, &here)).map(|same| same.prompts).sum();
    let prompts = counted(recorded.iter().map(|same| same.prompts).sum::<u64>(), "prompt");
    if differ > 0 {
        say!("{differ} of {prompts} may be different if built now");
        return Ok(ExitCode::from(FOUND));
    }
    if model.chat_template.is_some_and(|template| template.tells_time()) {
        say!("note: the chat template can write the day of its use, which no fingerprint has");
    }
    say!("{prompts}, up to date by fingerprint; ids are not compared");
    Ok(ExitCode::SUCCESS)
}

/// Whether these prompts differ from what would be built now, which is then printed.
fn say_differences(same: &RecordedFingerprint, here: &Fingerprint) -> bool {
    let RecordedFingerprint { fingerprint, first, prompts, .. } = same;
    let differences = fingerprint.iter().flat_map(|there| there.differences(here));
    let differences: Vec<String> = differences.map(|difference| difference.to_string()).collect();
    if !differences.is_empty() {
        let others = if *prompts > 1 { format!(" and {} more", prompts - 1) } else { String::new() };
        say!("{first}{others}: {}", differences.join("; "));
    }
    !differences.is_empty()
}
