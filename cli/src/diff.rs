//! `metatok diff`: two models beside each other, or a model and its tokenizer's chat template.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};

use crate::args::{DiffArgs, Shape};
use crate::exit::FOUND;
use crate::output;
use crate::say::{escaped_line, flag};
use crate::source::{Source, names, note_empty, nothing_in};
use metatok::builder::{BuilderOptions, PromptBuilder};
use metatok::dialect::{ChatTemplate, Model, is_chat_template, load_tokenizer, tokenizer_name};
use metatok::diff::{Diff, PlacedDifference, PromptDifference};
use metatok::error::{ErrorKind, Result, counted};
use metatok::input::each_conversation;

const FAINT: Style = Style::new().dimmed();
const OURS: Style = AnsiColor::Red.on_default();
const THEIRS: Style = AnsiColor::Green.on_default();

pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode> {
    let model = Model::load(&args.model)?;
    let name = match &args.tokenizer {
        Some(tokenizer) => tokenizer_name(tokenizer)?,
        None => model.tokenizer_name()?,
    };
    let other = other(args, &model, &name)?;
    let tokenizer = Arc::new(load_tokenizer(&name)?);
    let options = BuilderOptions { mode: args.mode, content: args.content, ..BuilderOptions::default() };
    let builder = |model: &Model| PromptBuilder::new(model, Arc::clone(&tokenizer), &options);
    let mut diff = Diff::new(builder(&model)?, builder(&other)?).setting_name(flag);
    let what = see(args, &mut diff, [&model, &other])?;
    let out = if args.json { json(&diff) } else { text(&diff, what, [&args.model, &other.name]) };
    let printed = output::to_stdout(out)?;
    if diff.equal() + diff.different() == 0 {
        let what = format!("nothing is compared: both models refuse {}", counted(diff.refused(), what));
        return Err(ErrorKind::Usage(what).with_way_out("`metatok build` with one of the models says why"));
    }
    Ok(if diff.different() > 0 { ExitCode::from(FOUND) } else { printed })
}

/// What the model is compared with.
fn other(args: &DiffArgs, model: &Model, tokenizer: &str) -> Result<Model> {
    let of_template = |template: ChatTemplate| Model::from(model.template_as_verified(template));
    match &args.with {
        Some(file) if is_chat_template(Path::new(file)) => ChatTemplate::load(file, tokenizer).map(of_template),
        Some(model) => Model::load(model),
        None => ChatTemplate::of_tokenizer(tokenizer)?.map(of_template).ok_or_else(|| {
            ErrorKind::Usage(format!("{tokenizer} has no chat template to compare with"))
                .with_way_out("choose another model or a Jinja file with --with")
        }),
    }
}

/// Compares the input, or generated conversations if there is none, and returns which they are.
fn see(args: &DiffArgs, diff: &mut Diff, models: [&Model; 2]) -> Result<&'static str> {
    let source = Source::find(&args.inputs)?;
    if !source.has_input() {
        let templates = models.iter().filter_map(|model| model.chat_template.as_ref());
        diff.see_generated(usize::MAX, templates, || true);
        return Ok("generated conversation");
    }
    let inputs = source.open(Shape { format: args.input_format, ..Shape::default() })?;
    note_empty(&inputs);
    let reader = diff.record_reader(args.input_format);
    let names = names(&inputs);
    each_conversation(inputs, reader, args.read.max_line_bytes, |place, record| {
        let conversation = record.and_then(|record| record.into_conversation(args.mode));
        let (conversation, _) = conversation.map_err(|error| place.of_error(error))?;
        diff.see(&conversation, place);
        Ok(ControlFlow::Continue(()))
    })?;
    match diff.equal() + diff.different() + diff.refused() {
        0 => Err(nothing_in(&names, false)),
        _ => Ok("conversation"),
    }
}

fn json(diff: &Diff) -> Vec<u8> {
    let mut out = Vec::new();
    output::push_json(diff, &mut out);
    out
}

fn text(diff: &Diff, what: &str, [ours, theirs]: [&str; 2]) -> Vec<u8> {
    let mut text = String::new();
    for (cause, PlacedDifference { place, difference, .. }) in diff.first() {
        let count = diff.causes().get(cause).copied().unwrap_or_default();
        let _ = writeln!(text, "{cause}: {} ({})", counted(count, "conversation"), escaped_line(place));
        let PromptDifference { before, ours, theirs, .. } = difference;
        let [before, ours, theirs] = [before, ours, theirs].map(|tokens| tokens.join(" "));
        // Instead of tokens there may be an error, with what it quotes.
        let (ours, theirs) = (escaped_line(&ours), escaped_line(&theirs));
        let _ = writeln!(text, "  {OURS}-{OURS:#} {FAINT}{before}{FAINT:#} {OURS}{ours}{OURS:#}");
        let _ = writeln!(text, "  {THEIRS}+{THEIRS:#} {FAINT}{before}{FAINT:#} {THEIRS}{theirs}{THEIRS:#}");
    }
    let _ = writeln!(
        text,
        "- {}\n+ {}\nsame ids: {} of {}",
        escaped_line(ours),
        escaped_line(theirs),
        diff.equal(),
        counted(diff.equal() + diff.different(), what)
    );
    if diff.refused() > 0 {
        let _ = writeln!(text, "{} refused by both", counted(diff.refused(), what));
    }
    text.into_bytes()
}
