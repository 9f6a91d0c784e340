//! `metatok compare`: where the answers of two engines begin to differ.

use std::io::{self, IsTerminal as _};
use std::ops::ControlFlow;
use std::process::ExitCode;

use crate::args::{CompareArgs, CompareFormat};
use crate::exit::FOUND;
use crate::output::{Output, has_colour, push_json_line};
use crate::outputs::Outputs;
use crate::say::say;
use crate::setup;
use crate::source::Source;
use metatok::builder::PromptBuilder;
use metatok::compare::{AnswerComparer, CompareTotals};
use metatok::error::{At, ErrorKind, Result, counted};
use metatok::input::Input;

pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode> {
    if args.run_id.len() > 2 {
        let what = format!("there are {} of these prefixes, but only two files of answers", args.run_id.len());
        return Err(ErrorKind::Usage(what).with_way_out("give one, or one for each file")).at("--run-id");
    }
    let paths = [args.a.clone(), args.b.clone()];
    let outputs = Outputs::to("--output", args.output.as_deref());
    outputs.check_source(&paths, &Source::find(&paths)?)?;
    outputs.check_model(&args.model, true)?;
    let [a, b] = [Input::open(&args.a)?, Input::open(&args.b)?];
    let names = [a.name().to_owned(), b.name().to_owned()];
    let (model, tokenizer) = setup::load_for_answers(&args.model)?;
    let builder = PromptBuilder::new(&model, tokenizer, &setup::stop_options(&args.stop))?;
    let comparer = AnswerComparer::new(&builder)?.context(args.context).run_ids(args.run_id.clone());
    let a = comparer.read(a, args.read.max_line_bytes)?;
    let mut output = Output::open(args.output.as_deref())?;
    let is_shown = args.output.is_none() && io::stdout().is_terminal();
    let format = args.format.unwrap_or(if is_shown { CompareFormat::Text } else { CompareFormat::Jsonl });
    let colour = args.output.is_none() && has_colour();
    let totals = comparer.compare(a, b, args.read.max_line_bytes, |comparison| {
        if comparison.equal && !args.all {
            return Ok(ControlFlow::Continue(()));
        }
        // The result is of all answers, even if nobody reads all of the comparisons.
        let _ = match format {
            CompareFormat::Jsonl => {
                let mut json = Vec::new();
                push_json_line(comparison, &mut json);
                output.stream(&json)?
            }
            CompareFormat::Text => {
                let [a, b] = &names;
                output.stream(comparison.terminal([a, b], colour).as_bytes())?
            }
        };
        Ok(ControlFlow::Continue(()))
    })?;
    let CompareTotals { equal, differ, only_in_a, only_in_b, .. } = totals;
    if equal + differ + only_in_a + only_in_b == 0 {
        let what = format!("{} and {} have no answers", names[0], names[1]);
        return Err(ErrorKind::Usage(what).with_way_out("a line looks like {\"id\": 0, \"text\": \"…\"}"));
    }
    output.finish()?;
    if !args.quiet {
        say!("{}", summary(&totals, &names));
    }
    Ok(if totals.is_equal() { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}

fn summary(totals: &CompareTotals, [a, b]: &[String; 2]) -> String {
    let CompareTotals { equal, differ, errors, only_in_a, only_in_b, .. } = totals;
    let mut summary = format!("{} compared: {equal} equal, {differ} differ", counted(equal + differ, "answer"));
    let mut notes: Vec<String> = [first_difference("token", &totals.tokens), first_difference("byte", &totals.bytes)]
        .into_iter()
        .flatten()
        .collect();
    if *errors > 0 {
        notes.push(format!("{errors} with an error in place of an answer"));
    }
    if !notes.is_empty() {
        summary += &format!(" ({})", notes.join("; "));
    }
    summary + &format!(", {only_in_a} only in {a}, {only_in_b} only in {b}")
}

/// Where answers begin to differ, from these positions in ascending order.
fn first_difference(unit: &str, positions: &[usize]) -> Option<String> {
    let (earliest, median) = (positions.first()?, positions[(positions.len() - 1) / 2]);
    Some(format!("first difference at {unit} {earliest} at the earliest, median {median}"))
}
