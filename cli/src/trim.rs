//! `metatok trim`: what an engine gave in, cut to where it should have ended out.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;

use crate::args::{Shape, TrimArgs};
use crate::exit::REJECTED;
use crate::output::{Output, count, written};
use crate::outputs::Outputs;
use crate::say::{InFlags, flag, say};
use crate::setup;
use crate::source::{Source, names};
use metatok::builder::PromptBuilder;
use metatok::error::{ErrorKind, Place, Result};
use metatok::trim::{AnswerTrimmer, TrimOptions, TrimTotals};

pub(crate) fn run(args: &TrimArgs) -> Result<ExitCode> {
    let source = Source::find(&args.inputs)?;
    if !source.is_some() {
        let what = "there is nothing to trim: name a file of answers, or pipe one in";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let outputs = Outputs::to("--output", args.output.as_deref());
    outputs.check_source(&args.inputs, &source)?;
    outputs.check_model(&args.model, true)?;
    let (model, tokenizer) = setup::load_for_answers(&args.model)?;
    let builder = PromptBuilder::new(&model, tokenizer, &setup::stop_options(&args.stop))?;
    let TrimArgs { include_stop, keep_special_tokens, explain, validate, .. } = *args;
    let options = TrimOptions { include_stop, keep_special_tokens, explain, validate };
    let trimmer = AnswerTrimmer::new(&builder, options)?.setting_name(flag);
    let trimmer = trimmer.run_id(args.run_id.run_id.clone());
    let mut output = Output::open(args.output.as_deref())?;
    let mut totals = TrimTotals::default();
    let threads = args.threads.and_then(|threads| NonZeroUsize::new(threads.into()));
    let inputs = source.open(Shape::default())?;
    let names = names(&inputs);
    for batch in Arc::new(trimmer).batches(inputs, args.read.max_line_bytes, threads)? {
        totals.add_all(&batch.totals);
        if output.stream(&batch.lines)?.is_break() {
            break;
        }
        if let Some(error) = batch.wrong {
            say!("{}", error.in_flags());
            say!("stopped at the first bad line ({})", written(totals.answers, "answer", args.output.as_deref()));
            return Ok(ExitCode::from(REJECTED));
        }
        if let Some(error) = batch.error {
            return Err(error);
        }
    }
    if totals.answers == 0 {
        return Err(metatok::Error::from(ErrorKind::Invalid("there are no answers".into())).at(Place::file(names)));
    }
    output.finish()?;
    if !args.quiet {
        say!("{}", summary(&totals, args.validate));
    }
    Ok(if totals.is_good() { ExitCode::SUCCESS } else { ExitCode::from(REJECTED) })
}

fn summary(totals: &TrimTotals, is_validated: bool) -> String {
    let mut summary = format!("{}, {} of them ended at a stop", count(totals.answers, "completion"), totals.stopped);
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
