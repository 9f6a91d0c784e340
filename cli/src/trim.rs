//! `metatok trim`: what an engine gave in, cut to where it should have ended out.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::ExitCode;

use crate::args::TrimArgs;
use crate::exit::REJECTED;
use crate::output::{Output, count, push_json_line};
use crate::outputs::Outputs;
use crate::say::{InFlags, flag, say};
use crate::setup;
use crate::source::Source;
use metatok::builder::PromptBuilder;
use metatok::error::{ErrorKind, Result};
use metatok::input::each_line;
use metatok::trim::{AnswerTrimmer, TrimOptions};

pub(crate) fn run(args: &TrimArgs) -> Result<ExitCode> {
    let source = Source::find(&args.inputs)?;
    if !source.is_some() {
        let what = "there is nothing to trim: name a file of answers, or pipe one in";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let outputs = Outputs::to("--output", args.output.as_deref());
    outputs.check_source(&args.inputs, &source)?;
    outputs.check_model(&args.model, true)?;
    let (model, tokenizer) = setup::load(&args.model, true)?;
    let builder = PromptBuilder::new(&model, tokenizer, &setup::stop_options(&args.stop))?;
    let TrimArgs { include_stop, explain, validate, .. } = *args;
    let trimmer = AnswerTrimmer::new(&builder, TrimOptions { include_stop, explain, validate })?.setting_name(flag);
    let mut output = Output::open(args.output.as_deref())?;
    let (mut lines, mut stopped, mut problems) = (0_u64, 0_u64, BTreeMap::<&str, u64>::new());
    let mut failed = None;
    each_line(source.open(None)?, args.read.max_line_bytes, |place, line| {
        match line.and_then(|line| trimmer.trim(line)) {
            Ok(answer) => {
                lines += 1;
                stopped += u64::from(answer.stop.is_some());
                for problem in &answer.problems {
                    *problems.entry(problem.code).or_default() += 1;
                }
                let mut json = Vec::new();
                push_json_line(&answer, &mut json);
                output.stream(&json)
            }
            Err(error) => {
                failed = Some(place.of_error(error));
                Ok(ControlFlow::Break(()))
            }
        }
    })?;
    if let Some(error) = failed {
        say!("{}", error.in_flags());
        say!("stopped at the first bad line ({} written)", count(lines, "answer"));
        return Ok(ExitCode::from(REJECTED));
    }
    output.finish()?;
    if !args.quiet {
        let completions = count(lines, "completion");
        let found: Vec<String> = problems.iter().map(|(code, count)| format!("{code} {count}")).collect();
        let found = match (args.validate, found.is_empty()) {
            (false, _) => String::new(),
            (true, true) => ", no problems".into(),
            (true, false) => format!(", problems: {}", found.join(", ")),
        };
        say!("{completions}, {stopped} of them ended at a stop{found}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(REJECTED) })
}
