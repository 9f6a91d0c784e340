//! `metatok view`: a prompt for inspection.

use std::ops::ControlFlow;
use std::process::ExitCode;

use crate::args::ViewArgs;
use crate::output::{self, Output};
use crate::outputs::Outputs;
use crate::say::{self, InFlags, say};
use crate::source::{Source, is_dash, names, nothing_in};
use crate::{earlier_answers, flags, setup};
use metatok::Dataset;
use metatok::build::answers_omitted;
use metatok::builder::PromptBuilder;
use metatok::error::{At, Error, ErrorKind, Result, counted};
use metatok::input::{Holds, each_record};
use metatok::prepared::{ChosenPrompt, PreparedDataset, PromptChoice};
use metatok::view::{TerminalOptions, View};

pub(crate) fn run(args: &ViewArgs) -> Result<ExitCode> {
    let source = Source::find(&args.input.inputs)?;
    source.check_stdin(args.input.other_files().chain(args.answers.file()))?;
    let has_input = source.has_input();
    let dataset = setup::dataset_of(&args.input, &source)?;
    flags::check_view(args, dataset.as_ref())?;
    let outputs = Outputs::to("--html", args.html.as_deref().filter(|path| !is_dash(path)));
    outputs.check_inputs(&args.input, &source, dataset.as_ref())?;
    outputs.check("--answers", args.answers.answers.as_deref())?;
    outputs.check_model(&args.model, source.has_input())?;
    let (model, tokenizer) = setup::load(&args.model, source.has_input())?;
    let options = setup::options(&args.prompts, dataset.as_ref());
    flags::check_template(&args.prompts.template, options.mode)?;
    let builder = PromptBuilder::new(&model, tokenizer, &options)?;
    let Selected { place, json: line, number, of } = selected(args, source, dataset.as_ref())?;
    let shown = match &dataset {
        None => builder
            .record_reader(args.input.input_format)
            .parse(&line)
            .and_then(|record| Ok((record.into_conversation(options.mode)?.0, None))),
        Some(dataset) => {
            let chosen = of_row(dataset, &line, (number, of), args, &builder);
            chosen.map(|ChosenPrompt { conversation, turn, .. }| (conversation, turn))
        }
    };
    let (conversation, turn) = shown.at(&place)?;
    let builder = if turn.is_some() { builder.before_turn() } else { builder };
    let mut view = View::new(&builder, &model.name, &conversation).at(place)?;
    view.turn = turn;
    if has_input {
        say::notes(answers_omitted(view.answer_omitted.into()));
    }
    match &args.html {
        Some(path) if !is_dash(path) => {
            let mut output = Output::open(Some(path))?;
            output.write(view.html().as_bytes()).map_err(|error| output.failed(error))?;
            output.finish()?;
            say!("{} shows {}", path.display(), counted(view.tokens.len(), "token"));
            Ok(ExitCode::SUCCESS)
        }
        Some(_) => output::to_stdout(view.html().into_bytes()),
        None if args.json => {
            let mut json = Vec::new();
            output::push_json(&view, &mut json);
            output::to_stdout(json)
        }
        None => {
            let options = TerminalOptions { width: output::width(), colour: output::has_colour(), ids: args.ids };
            output::to_stdout(view.terminal(options).into_bytes())
        }
    }
}

/// The selected record.
struct Selected {
    place: String,
    json: String,
    /// Its number among all records, from 0, and how many were read.
    number: usize,
    of: usize,
}

/// Reads up to the selected record: by default the first, or the first row that the dataset picks among all.
fn selected(args: &ViewArgs, source: Source, dataset: Option<&PreparedDataset>) -> Result<Selected> {
    let longest = args.input.read.max_line_bytes;
    let mut inputs = source.open_or_demo(args.input.shape())?;
    let names = names(&inputs);
    if let Some(dataset) = dataset {
        inputs = dataset.through_arrow(inputs)?;
    }
    // Which rows are asked is only known when all are read.
    let picking = dataset.map(PreparedDataset::dataset).filter(|dataset| dataset.test_range.is_some());
    let last_kept = picking.map_or(Some(0), Dataset::first_row_at_most).unwrap_or(usize::MAX);
    let (mut of, mut found, mut is_last) = (0, Vec::new(), setup::limit(args.input.limit));
    let holds = if dataset.is_some() { Holds::Rows } else { Holds::Conversations };
    each_record(inputs, holds, longest, |place, record| {
        of += 1;
        let is_wanted = args.prompt.map_or(of - 1 <= last_kept, |wanted| wanted == of - 1);
        if is_wanted {
            let json = record.and_then(|record| Ok(record.json()?.into_owned()));
            found.push((of - 1, place.to_string(), json.map_err(|error| place.of_error(error))));
        }
        Ok(match picking {
            Some(_) => ControlFlow::Continue(()),
            None if is_wanted => ControlFlow::Break(()),
            None => is_last(),
        })
    })?;
    let wanted = picking.map_or(Ok(args.prompt.unwrap_or(0)), |dataset| picked(args, dataset, of))?;
    match found.into_iter().find(|(number, ..)| *number == wanted) {
        Some((number, place, json)) => Ok(Selected { place, json: json?, number, of }),
        None => {
            let Some(last) = of.checked_sub(1) else { return Err(nothing_in(&names, dataset.is_some())) };
            let message = format!("there is no prompt {wanted}; prompts are counted from 0, and the last is {last}");
            Err(Error::from(ErrorKind::Usage(message))).at(names)
        }
    }
}

/// The number of the row that is shown, of a dataset that picks among this many rows: by default the first that is picked.
fn picked(args: &ViewArgs, dataset: &Dataset, rows: usize) -> Result<usize> {
    let wanted = match args.prompt {
        Some(number) => number,
        None => dataset.picked_rows(rows)?.next().map_or(0, |pick| pick.row),
    };
    match args.input.limit {
        Some(limit) if !dataset.picked_rows(rows)?.take(limit).any(|pick| pick.row == wanted) => {
            let message = format!("prompt {wanted} is not one of the first {limit} that are asked");
            Err(Error::from(ErrorKind::Usage(message)).at("--limit"))
        }
        _ => Ok(wanted),
    }
}

/// The prompt of the selected row, by its number and that of all rows.
fn of_row(
    dataset: &PreparedDataset,
    line: &str,
    (row, rows): (usize, usize),
    args: &ViewArgs,
    builder: &PromptBuilder,
) -> Result<ChosenPrompt> {
    let answers = earlier_answers::read(&args.answers, &args.input, Some(dataset))?;
    let (rows, label) = (Some(rows), args.label.as_deref());
    let choice = PromptChoice { row, rows, label, turn: args.turn, answers: answers.as_ref() };
    let chosen = dataset.choose_prompt(builder, line.into(), &choice)?;
    for warning in &chosen.warnings {
        say!("warning: {}", warning.in_flags());
    }
    Ok(chosen)
}
