//! `metatok view`: a prompt, to look at.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use anstream::ColorChoice;

use crate::builder::PromptBuilder;
use crate::cli::args::ViewArgs;
use crate::cli::output::{self, Output};
use crate::cli::rows::Rows;
use crate::cli::setup;
use crate::conversation::Conversation;
use crate::dataset::{Examples, Record, Row, RowPrompt};
use crate::error::{At, Error, ErrorKind, Result};
use crate::view::{TerminalOptions, View};

pub(crate) fn run(args: &ViewArgs) -> Result<ExitCode> {
    let (model, tokenizer) = setup::load(&args.model)?;
    let rows = Rows::open(&args.input, args.model.max_line_bytes)?;
    let mut options = setup::options(&args.model);
    if let Some(rows) = &rows {
        rows.set(&mut options, &args.model);
    }
    let builder = PromptBuilder::new(&model, tokenizer, &options)?;
    let (place, line) = nth(args)?;
    let conversation = match &rows {
        None => Record::parse(&line).map(|record| record.conversation),
        Some(rows) => of_row(rows, &line, args, &builder),
    };
    let conversation = conversation.at(&place)?;
    let view = View::new(&builder, &model.name, &conversation).at(place)?;
    match &args.html {
        Some(path) if path != Path::new("-") => {
            let mut output = Output::open(Some(path))?;
            output.write(view.html().as_bytes()).map_err(|error| output.failed(error))?;
            output.finish()?;
            eprintln!("metatok: {} shows {} tokens", path.display(), view.tokens.len());
            Ok(ExitCode::SUCCESS)
        }
        Some(_) => output::to_stdout(view.html().into_bytes()),
        None if args.json => {
            let mut json = Vec::new();
            output::push_json(&view, &mut json);
            output::to_stdout(json)
        }
        None => {
            let colour = anstream::AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
            let options = TerminalOptions { width: output::width(), colour, ids: args.ids };
            output::to_stdout(view.terminal(options).into_bytes())
        }
    }
}

/// The line that is asked for, and where it stands.
fn nth(args: &ViewArgs) -> Result<(String, String)> {
    let inputs = setup::inputs(&args.input.inputs)?;
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let (mut count, mut found) = (0, None);
    setup::each_line(inputs, args.model.max_line_bytes, |place, line| {
        count += 1;
        if count <= args.prompt {
            return Ok(ControlFlow::Continue(()));
        }
        found = Some((place.to_owned(), line?.to_owned()));
        Ok(ControlFlow::Break(()))
    })?;
    found.ok_or_else(|| {
        let names = names.join(", ");
        match count {
            0 if args.input.dataset.is_some() => Error::from(ErrorKind::NoRows).at(names),
            0 => Error::from(ErrorKind::EmptyInput).at(names),
            _ => {
                let last = count - 1;
                let message =
                    format!("there is no prompt {}; they are counted from 0, and the last is {last}", args.prompt);
                Error::from(ErrorKind::Usage(message)).at(names)
            }
        }
    })
}

/// The prompt of a row, of the label that is asked for.
fn of_row(rows: &Rows, line: &str, args: &ViewArgs, builder: &PromptBuilder) -> Result<Conversation> {
    let mut retriever = rows.retriever()?;
    let mut examples = Examples::default();
    for index in 0..=args.prompt {
        examples = retriever.retrieve(index)?;
    }
    let row = Row::from_json(line)?;
    let tokens = |prompt: &Conversation| Ok(builder.build(prompt)?.input_ids.len());
    let prompts = rows.prompts(&row, examples.of(&row), &mut rows.inference(), tokens)?;
    let labels: Vec<String> = prompts.iter().filter_map(|prompt| Some(prompt.label.as_ref()?.repr())).collect();
    let is_wanted = |prompt: &RowPrompt| match (&args.label, &prompt.label) {
        (None, _) => true,
        (Some(wanted), Some(label)) => label.text() == *wanted,
        (Some(_), None) => false,
    };
    prompts.into_iter().find(is_wanted).map(|prompt| prompt.conversation).ok_or_else(|| {
        let known = if labels.is_empty() {
            "the dataset has none".to_owned()
        } else {
            format!("there are {}", labels.join(", "))
        };
        ErrorKind::Usage(format!("--label: no such label; {known}")).into()
    })
}
