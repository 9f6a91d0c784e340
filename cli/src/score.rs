//! `metatok score`: how many answers are right, by dataset.

use std::ops::ControlFlow;
use std::process::ExitCode;

use serde::Serialize;

use crate::args::{By, ScoreArgs, Shape, Take};
use crate::figures::{ALL, Table};
use crate::output::{self, Output};
use crate::outputs::Outputs;
use crate::say::{InFlags, say};
use crate::score_labels;
use crate::source::Source;
use metatok::error::{At, ErrorKind, Result};
use metatok::input::by_dataset;
use metatok::score::{AnswersSeen, Compare, Pattern, ScoredAnswer, Scorer, Tally, Votes, Which, scored_line};

/// A dataset's line of JSON.
#[derive(Serialize)]
struct Entry<'a> {
    dataset: &'a str,
    #[serde(flatten)]
    tally: Tally,
    accuracy: f64,
}

pub(crate) fn run(args: &ScoreArgs) -> Result<ExitCode> {
    let source = Source::find(&args.inputs)?;
    if !source.has_input() {
        let what = "there is nothing to score: choose a file of answers, or pipe one in";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    source.check_stdin(args.texts.as_deref().map(|path| ("--texts", path)))?;
    if args.texts.is_none() && args.run_id.run_id.is_some() {
        let what = "--run-id is a prefix of request ids, but only --texts finds rows by their ids; remove it";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let scorer = scorer(args)?;
    let mut details = match args.output.as_deref() {
        Some(path) => {
            let outputs = Outputs::to("--output", Some(path));
            outputs.check_source(&args.inputs, &source)?;
            outputs.check("--texts", args.texts.as_deref())?;
            Some(Output::open(Some(path))?)
        }
        None => None,
    };
    let datasets = match &args.texts {
        Some(texts) => score_labels::by_dataset(args, texts, source, &scorer, &mut details)?,
        None => score_answers(args, source, &scorer, &mut details)?,
    };
    if let Some(details) = details {
        details.finish()?;
    }
    let mut out = Vec::new();
    if args.json {
        for (dataset, tally) in &datasets {
            output::push_json_line(&Entry { dataset, tally: *tally, accuracy: tally.accuracy() }, &mut out);
        }
    } else {
        table(&datasets).write(&mut out);
    }
    output::to_stdout(out)
}

/// Scores answers one by one.
fn score_answers(
    args: &ScoreArgs,
    source: Source,
    scorer: &Scorer,
    details: &mut Option<Output>,
) -> Result<Vec<(String, Tally)>> {
    let datasets = by_dataset(
        source.open(Shape::default())?,
        args.read.max_line_bytes,
        "answer",
        |(tally, votes, seen): &mut (Tally, Votes, AnswersSeen), line| {
            let answer = ScoredAnswer::read(line)?;
            seen.add(&answer);
            let score = scorer.score_answer(&answer, &args.reference)?;
            if let Some(details) = details {
                // The result is of all answers, even if nobody reads all of these lines.
                let _ = details.stream_line(&scored_line(line, &answer, score.as_ref())?)?;
            }
            match args.vote {
                true => votes.add(&answer, score)?,
                false => tally.add(score.as_ref()),
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    for (name, (.., seen)) in &datasets {
        if let Some(warning) = seen.repeated() {
            say!("warning: {name}: {}", warning.in_flags());
        }
    }
    let tally = |tally, votes: &Votes| if args.vote { votes.tally() } else { tally };
    Ok(datasets.into_iter().map(|(name, (own, votes, _))| (name, tally(own, &votes))).collect())
}

fn scorer(args: &ScoreArgs) -> Result<Scorer> {
    let ScoreArgs { ignore_case, ignore_punctuation, .. } = *args;
    if args.by != By::Exact {
        for (option, is_given) in [("--ignore-case", ignore_case), ("--ignore-punctuation", ignore_punctuation)] {
            if is_given {
                let what = format!("{option} is only for comparing whole texts, with --by exact; remove it");
                return Err(ErrorKind::Usage(what).into());
            }
        }
    }
    if args.by != By::Choice && args.choices.is_some() {
        let what = "--choices is for finding the label of a choice; add --by choice";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let compare = match args.by {
        By::Exact => Compare::Exact { ignore_case, ignore_punctuation },
        By::Number => Compare::Number,
        By::Choice => {
            Compare::Choice(args.choices.clone().unwrap_or_else(|| ["A", "B", "C", "D"].map(str::to_owned).into()))
        }
    };
    let which = match args.take {
        Take::First => Which::First,
        Take::Last => Which::Last,
    };
    let pattern = |regex: &Option<String>, which| regex.as_deref().map(|regex| Pattern::new(regex, which)).transpose();
    Ok(Scorer {
        compare,
        pattern: pattern(&args.pattern, which).at("--pattern")?,
        reference_pattern: pattern(&args.reference_pattern, Which::First).at("--reference-pattern")?,
        strip_thoughts: args.strip_thoughts,
    })
}

fn table(datasets: &[(String, Tally)]) -> Table {
    let heads = ["dataset", "answers", "correct", "nothing found", "failed", "accuracy"];
    let mut table = Table::new(heads.map(String::from).into());
    let mut all = Tally::default();
    for (name, tally) in datasets {
        push(&mut table, name, tally);
        all.append(*tally);
    }
    if datasets.len() > 1 {
        push(&mut table, ALL, &all);
        let mean = Tally::mean_accuracy(datasets.iter().map(|(_, tally)| tally));
        let mut row = vec!["mean of datasets".to_owned()];
        row.resize(heads.len() - 1, String::new());
        row.push(format!("{mean:.2}"));
        table.push(row);
    }
    table
}

fn push(table: &mut Table, name: &str, tally: &Tally) {
    let mut row = vec![name.to_owned()];
    row.extend([tally.answers, tally.correct, tally.nothing_found, tally.failed].map(|number| number.to_string()));
    row.push(format!("{:.2}", tally.accuracy()));
    table.push(row);
}
