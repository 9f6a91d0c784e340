//! `metatok view`: a prompt for inspection.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use crate::args::ViewArgs;
use crate::output::{self, Output};
use crate::outputs::Outputs;
use crate::say::{InFlags, escaped_line, say};
use crate::source::{Source, names, nothing_in};
use crate::{flags, setup};
use metatok::answers::ModelAnswers;
use metatok::build::answers_omitted;
use metatok::builder::PromptBuilder;
use metatok::conversation::Conversation;
use metatok::dataset::records::RecordReader;
use metatok::dataset::retriever::Examples;
use metatok::dataset::rows::PickedRow;
use metatok::dataset::{Row, RowPrompt};
use metatok::error::{At, Error, ErrorKind, Result};
use metatok::input::{Input, each_record};
use metatok::prepared::PreparedDataset;
use metatok::turns::TurnPrompt;
use metatok::view::{TerminalOptions, View, ViewTurn};

pub(crate) fn run(args: &ViewArgs) -> Result<ExitCode> {
    let source = Source::find(&args.input.inputs)?;
    let has_input = source.is_some();
    let dataset = setup::dataset_of(&args.input, &source)?;
    flags::check_view(args, dataset.as_ref())?;
    let outputs = Outputs::to("--html", args.html.as_deref().filter(|path| *path != Path::new("-")));
    outputs.check_inputs(&args.input, &source, dataset.as_ref())?;
    outputs.check("--answers", args.answers.answers.as_deref())?;
    outputs.check_model(&args.model, source.is_some())?;
    let (model, tokenizer) = setup::load(&args.model, source.is_some())?;
    let options = setup::options(&args.prompts, dataset.as_ref());
    flags::check_template(&args.prompts.template, options.mode)?;
    let builder = PromptBuilder::new(&model, tokenizer, &options)?;
    let (place, line) = nth(args, source, dataset.as_ref())?;
    let shown = match &dataset {
        None => RecordReader::new(args.input.input_format)
            .parse(&line)
            .and_then(|record| Ok((record.into_conversation(options.mode)?.0, None))),
        Some(dataset) if dataset.dataset().inferencer.kind.has_turns() => turn_of_row(dataset, &line, args, &builder),
        Some(dataset) => of_row(dataset, &line, args, &builder).map(|conversation| (conversation, None)),
    };
    let (conversation, turn) = shown.at(&place)?;
    let mut view = View::new(&builder, &model.name, &conversation).at(place)?;
    view.turn = turn;
    if has_input && let Some(note) = answers_omitted(view.answer_omitted.into()) {
        say!("note: {}", note.in_flags());
    }
    match &args.html {
        Some(path) if path != Path::new("-") => {
            let mut output = Output::open(Some(path))?;
            output.write(view.html().as_bytes()).map_err(|error| output.failed(error))?;
            output.finish()?;
            say!("{} shows {}", path.display(), output::count(view.tokens.len() as u64, "token"));
            Ok(ExitCode::SUCCESS)
        }
        Some(_) => output::to_stdout(view.html().into_bytes()),
        None if args.json => {
            let mut json = Vec::new();
            output::push_json(&view, &mut json);
            output::to_stdout(json)
        }
        None => {
            escape_names(&mut view);
            let options = TerminalOptions { width: output::width(), colour: output::has_colour(), ids: args.ids };
            output::to_stdout(view.terminal(options).into_bytes())
        }
    }
}

/// Names can contain anything, and a terminal would obey control characters in them. Content is already drawn in
/// visible signs.
fn escape_names(view: &mut View) {
    let View { model, tokenizer, rows, stop, special_tokens_added, special_tokens_omitted, .. } = view;
    let of_rows =
        rows.iter_mut().flat_map(|row| row.role.iter_mut().chain(row.media.iter_mut().map(|m| &mut m.source)));
    let special = special_tokens_added.iter_mut().chain(special_tokens_omitted).map(|named| &mut named.token);
    let stops = stop.iter_mut().map(|stop| &mut stop.named.token);
    for name in [model, tokenizer].into_iter().chain(of_rows).chain(special).chain(stops) {
        if let Cow::Owned(escaped) = escaped_line(name) {
            *name = escaped;
        }
    }
}

/// The selected line, and its place.
fn nth(args: &ViewArgs, source: Source, dataset: Option<&PreparedDataset>) -> Result<(String, String)> {
    let longest = args.input.read.max_line_bytes;
    let mut inputs = source.open_or_demo(args.input.columns.as_deref())?;
    let names = names(&inputs);
    if let Some(dataset) = dataset {
        inputs = dataset.through_arrow(inputs)?;
    }
    let (mut count, mut found, mut is_last) = (0, None, setup::limit(args.input.limit));
    each_record(inputs, setup::holds(dataset), longest, |place, record| {
        count += 1;
        if count <= args.prompt {
            return Ok(is_last());
        }
        found = Some((place.to_string(), record?.json()?.into_owned()));
        Ok(ControlFlow::Break(()))
    })?;
    found.ok_or_else(|| {
        let Some(last) = count.checked_sub(1) else { return nothing_in(&names, dataset.is_some()) };
        let message = format!("there is no prompt {}; prompts are counted from 0, and the last is {last}", args.prompt);
        Error::from(ErrorKind::Usage(message)).at(names)
    })
}

/// The examples of the selected row: some retrievers depend on the rows before it.
fn examples(dataset: &PreparedDataset, args: &ViewArgs) -> Result<Examples> {
    let mut retriever = dataset.retriever()?;
    let mut examples = Examples::default();
    for index in 0..=args.prompt {
        examples = retriever.retrieve(index)?;
    }
    Ok(examples)
}

/// The row, and what is to be said of it.
fn row<'r>(dataset: &PreparedDataset, line: &'r str, number: usize) -> Result<Cow<'r, Row>> {
    let pick = PickedRow { row: number, repeat: (dataset.dataset().repeats.times() > 1).then_some(0) };
    let Some(row) = dataset.row(line.into(), pick)? else {
        let what = "--judge has no answer to this row, or an error in its place; take another with --prompt";
        return Err(ErrorKind::Usage(what.into()).into());
    };
    if let Some(warning) = dataset.warning(&row) {
        say!("warning: {}", warning.in_flags());
    }
    Ok(row)
}

/// The prompt of the selected turn.
fn turn_of_row(
    dataset: &PreparedDataset,
    line: &str,
    args: &ViewArgs,
    builder: &PromptBuilder,
) -> Result<(Conversation, Option<ViewTurn>)> {
    let (answers, strip_thoughts) = (args.answers.answers.as_deref(), args.input.strip_thoughts);
    let run_id = args.input.run_id.run_id.as_deref();
    let read =
        |path| ModelAnswers::read(Input::open(path, None)?, run_id, strip_thoughts, args.input.read.max_line_bytes);
    let answers = answers.map(read).transpose()?;
    let row = row(dataset, line, args.prompt)?;
    let tokens = |prompt: &Conversation| Ok(builder.build(prompt)?.input_ids.len());
    let plan = dataset.plan(&row, examples(dataset, args)?, &mut dataset.prompter(), tokens)?;
    let key = dataset.kept_columns().key(&row, PickedRow { row: args.prompt, repeat: None })?;
    let needs_answers = plan.needs_answers();
    let mut turns = builder.turns(plan).strip_thoughts(strip_thoughts);
    let mut last = 0;
    while let Some(TurnPrompt { turn, conversation, prefix_tokens, prefix_break, .. }) = turns.next_prompt()? {
        if args.turn.is_none_or(|wanted| wanted == turn) {
            let prefix_break = prefix_break.map(|why| why.to_string());
            let turn = ViewTurn { turn, turns: turns.plan().turns(), prefix_tokens, prefix_break };
            return Ok((conversation, Some(turn)));
        }
        last = turn;
        match &answers {
            Some(answers) if answers.answer(&key, &mut turns)? => {}
            _ if needs_answers => {
                let what = format!(
                    "--turn: a later turn than {turn} needs the model's answer to that; supply it with --answers"
                );
                return Err(ErrorKind::Usage(what).into());
            }
            _ => turns.answer_text(""),
        }
    }
    Err(ErrorKind::Usage(format!("--turn: there is no such turn; the last is {last}")).into())
}

/// The prompt of a row, for the selected label.
fn of_row(dataset: &PreparedDataset, line: &str, args: &ViewArgs, builder: &PromptBuilder) -> Result<Conversation> {
    let row = row(dataset, line, args.prompt)?;
    let tokens = |prompt: &Conversation| Ok(builder.build(prompt)?.input_ids.len());
    let prompts = dataset.prompts(&row, examples(dataset, args)?, &mut dataset.prompter(), tokens)?;
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
        ErrorKind::Usage(format!("--label: there is no such label; {known}")).into()
    })
}
