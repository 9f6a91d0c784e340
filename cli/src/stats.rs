//! `metatok stats`: how long prompts are, by dataset.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use crate::args::{Shape, StatsArgs};
use crate::figures::{ALL, Table};
use crate::output;
use crate::source::Source;
use metatok::error::{At, ErrorKind, Place, Result};
use metatok::input::by_dataset;
use metatok::lengths::{LengthSummary, Lengths};
use metatok::sink::PromptLength;

/// The extensions of arrays, and of tables that are not read.
const UNREAD: [&str; 4] = ["npz", "npy", "safetensors", "arrow"];

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
    if !source.has_input() {
        let what = "there are no prompts: choose a file that `metatok build` wrote, or pipe its output in";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    args.inputs.iter().try_for_each(|path| check_form(path))?;
    let max_out_len = args.max_out_len.unwrap_or_default() as u64;
    let (inputs, longest) = (source.open(Shape::default())?, args.read.max_line_bytes);
    let mut datasets = by_dataset(inputs, longest, "prompt", |lengths: &mut Lengths, line| {
        let length = PromptLength::read(line)?;
        lengths.add(length.tokens, length.max_out_len.unwrap_or(max_out_len));
        Ok(ControlFlow::Continue(()))
    })?;
    if datasets.len() > 1 && !args.json {
        let mut all = Lengths::default();
        datasets.iter().for_each(|(_, lengths)| all.append(lengths));
        datasets.push((ALL.to_owned(), all));
    }
    let max_seq_len = args.max_seq_len.map(|max_seq_len| max_seq_len as u64);
    let figures: Vec<Figures> = datasets
        .iter()
        .filter_map(|(name, lengths)| {
            let longer = max_seq_len.map(|max_seq_len| lengths.longer_than(max_seq_len));
            Some((name.as_str(), lengths.summary()?, longer))
        })
        .collect();
    let mut out = Vec::new();
    if args.json {
        figures.iter().for_each(|figures| output::push_json_line(&entry(*figures), &mut out));
    } else {
        table(&figures, max_seq_len).write(&mut out);
    }
    output::to_stdout(out)
}

/// Rejects a file that `metatok build` wrote, but in a form whose prompts are not read here.
fn check_form(path: &Path) -> Result<()> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if !UNREAD.contains(&&*extension) || !path.is_file() {
        return Ok(());
    }
    let what = format!("`stats` cannot read {extension}");
    let way_out = "build with --format ids or parquet";
    Err(ErrorKind::Usage(what).with_way_out(way_out)).at(Place::file(path.display()))
}

/// A dataset's name, its lengths, and how many prompts do not fit.
type Figures<'a> = (&'a str, LengthSummary, Option<u64>);

fn entry((dataset, summary, longer): Figures<'_>) -> Entry<'_> {
    let LengthSummary { prompts, total: tokens, min, p50, p95, max } = summary;
    Entry { dataset, prompts, tokens, min, mean: summary.mean(), p50, p95, max, longer }
}

fn table(datasets: &[Figures<'_>], max_seq_len: Option<u64>) -> Table {
    let mut heads: Vec<String> =
        ["dataset", "prompts", "tokens", "min", "mean", "p50", "p95", "max"].map(String::from).into();
    heads.extend(max_seq_len.map(|max_seq_len| format!("over {max_seq_len}")));
    let mut table = Table::new(heads);
    for (name, summary, longer) in datasets {
        let LengthSummary { prompts, total, min, p50, p95, max } = *summary;
        let numbers = [prompts, total, min].map(|number| number.to_string());
        let mut row = vec![(*name).to_owned()];
        row.extend(numbers);
        row.push(format!("{:.1}", summary.mean()));
        row.extend([p50, p95, max].iter().chain(longer).map(ToString::to_string));
        table.push(row);
    }
    table
}
