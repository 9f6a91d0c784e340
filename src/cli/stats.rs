//! `metatok stats`: how long prompts are, by dataset.

use std::ops::ControlFlow;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::args::StatsArgs;
use crate::cli::figures::Table;
use crate::cli::input_names::{ALL, abbr};
use crate::cli::source::Source;
use crate::cli::{output, setup};
use crate::error::{At, ErrorKind, Result};
use crate::lengths::{LengthSummary, Lengths};
use crate::sink::PromptLength;

/// A dataset's line of JSON.
#[derive(Serialize)]
struct Entry<'a> {
    dataset: &'a str,
    prompts: u64,
    tokens: u64,
    min: u64,
    mean: f64,
    p50: u64,
    p95: u64,
    max: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    longer: Option<u64>,
}

pub(crate) fn run(args: &StatsArgs) -> Result<ExitCode> {
    let source = Source::find(&args.inputs)?;
    if !source.is_some() {
        let what = "there are no prompts: name a file that `metatok build` wrote, or pipe its output in";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let max_out_len = args.max_out_len.unwrap_or_default() as u64;
    let (mut datasets, mut all) = (Vec::new(), Lengths::default());
    for input in source.open(None)? {
        let name = input.name.clone();
        let mut lengths = Lengths::default();
        setup::each_line(vec![input], args.read.max_line_bytes, |place, line| {
            let length = line.and_then(PromptLength::read).at(place)?;
            lengths.add(length.tokens, length.max_out_len.unwrap_or(max_out_len));
            Ok(ControlFlow::Continue(()))
        })?;
        let summary = lengths.summary().ok_or_else(|| ErrorKind::Parse("there is no prompt in it".into())).at(&name)?;
        let longer = args.max_seq_len.map(|max_seq_len| lengths.longer_than(max_seq_len as u64));
        datasets.push((abbr(&name), summary, longer));
        all.append(&lengths);
    }
    if let (true, Some(summary)) = (datasets.len() > 1 && !args.json, all.summary()) {
        let longer = args.max_seq_len.map(|max_seq_len| all.longer_than(max_seq_len as u64));
        datasets.push((ALL.to_owned(), summary, longer));
    }
    let mut out = Vec::new();
    if args.json {
        datasets
            .iter()
            .for_each(|(name, summary, longer)| output::push_json_line(&entry(name, *summary, *longer), &mut out));
    } else {
        table(&datasets, args.max_seq_len).write(&mut out);
    }
    output::to_stdout(out)
}

fn entry(dataset: &str, summary: LengthSummary, longer: Option<u64>) -> Entry<'_> {
    let LengthSummary { prompts, total: tokens, min, p50, p95, max } = summary;
    Entry { dataset, prompts, tokens, min, mean: summary.mean(), p50, p95, max, longer }
}

fn table(datasets: &[(String, LengthSummary, Option<u64>)], max_seq_len: Option<usize>) -> Table {
    let mut heads: Vec<String> =
        ["dataset", "prompts", "tokens", "min", "mean", "p50", "p95", "max"].map(String::from).into();
    heads.extend(max_seq_len.map(|max_seq_len| format!("over {max_seq_len}")));
    let mut table = Table::new(heads);
    for (name, summary, longer) in datasets {
        let LengthSummary { prompts, total, min, p50, p95, max } = *summary;
        let numbers = [prompts, total, min].map(|number| number.to_string());
        let mut row = vec![name.clone()];
        row.extend(numbers);
        row.push(format!("{:.1}", summary.mean()));
        row.extend([p50, p95, max].iter().chain(longer).map(ToString::to_string));
        table.push(row);
    }
    table
}
