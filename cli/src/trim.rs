//! `metatok trim`: what an engine gave in, cut to where it should have ended out.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use indicatif::ProgressBar;

use crate::args::{Shape, TrimArgs};
use crate::exit::FOUND;
use crate::flags::check_rejects;
use crate::output::{Output, written};
use crate::outputs::Outputs;
use crate::rejects::{Rejects, rejects_path};
use crate::say::{flag, say};
use crate::setup;
use crate::source::Source;
use metatok::builder::PromptBuilder;
use metatok::error::{ErrorKind, Result, counted};
use metatok::input::Input;
use metatok::trim::{AnswerTrimmer, TrimOptions, TrimTotals};

pub(crate) fn run(args: &TrimArgs) -> Result<ExitCode> {
    let source = Source::find(&args.inputs)?;
    if !source.has_input() {
        let what = "there is nothing to trim: name a file of answers, or pipe one in";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    check_rejects(&args.errors)?;
    let rejects = rejects_path(&args.errors, args.output.as_deref());
    outputs(args, &source, rejects.as_deref())?;
    source.check_stdin(args.requests.as_deref().map(|path| ("--requests", path)))?;
    let trimmer = trimmer(args)?.stop_at_error(rejects.is_none());
    let mut output = Output::open(args.output.as_deref())?;
    let mut rejects = Rejects::open(rejects, "line", &output)?;
    let (mut totals, progress) = (TrimTotals::default(), ProgressBar::hidden());
    let inputs = source.open(Shape::default())?;
    let requests = args.requests.as_deref().map(Input::open).transpose()?;
    for batch in Arc::new(trimmer).batches(inputs, requests, args.read.max_line_bytes, args.threads)? {
        totals.add_all(&batch.totals);
        if output.stream(&batch.lines)?.is_break() {
            rejects.take_last(batch.rejected, &progress)?;
            break;
        }
        for line in batch.rejected {
            let before = || written(totals.answers, "answer", args.output.as_deref());
            if rejects.take(line, &progress, before)?.is_break() {
                return Ok(ExitCode::from(FOUND));
            }
        }
        if let Some(error) = batch.error {
            rejects.end_early(&output)?;
            return Err(error);
        }
    }
    let has_rejected = rejects.count() > 0;
    output.finish()?;
    if !args.quiet {
        say!("{}", summary(&totals, args.validate));
    }
    rejects.finish(args.quiet)?;
    Ok(if totals.is_good() && !has_rejected { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}

/// Checks that no output is also an input.
fn outputs(args: &TrimArgs, source: &Source, rejects: Option<&Path>) -> Result<()> {
    let mut outputs = Outputs::to("--output", args.output.as_deref());
    if let Some(rejects) = rejects {
        outputs = outputs.and("--rejects", rejects)?;
    }
    outputs.check_source(&args.inputs, source)?;
    outputs.check("--requests", args.requests.as_deref())?;
    outputs.check_model(&args.model, true)
}

fn trimmer(args: &TrimArgs) -> Result<AnswerTrimmer> {
    let (model, tokenizer) = setup::load_for_answers(&args.model)?;
    let builder = PromptBuilder::new(&model, tokenizer, &setup::stop_options(&args.stop))?;
    let TrimArgs { include_stop, keep_special_tokens, explain, validate, .. } = *args;
    let options = TrimOptions { include_stop, keep_special_tokens, explain, validate };
    Ok(AnswerTrimmer::new(&builder, options)?.setting_name(flag).run_id(args.run_id.run_id.clone()))
}

fn summary(totals: &TrimTotals, is_validated: bool) -> String {
    let mut summary = format!("{}, {} of them ended at a stop", counted(totals.answers, "completion"), totals.stopped);
    if totals.errors > 0 {
        summary += &format!(", {} with an error in place of an answer", totals.errors);
    }
    let found: Vec<String> = totals.problems.iter().map(|(code, count)| format!("{code} {count}")).collect();
    match (is_validated, found.is_empty()) {
        (false, _) => summary,
        (true, true) => summary + ", no problems",
        (true, false) => summary + ", problems: " + &found.join(", "),
    }
}
