//! `metatok diff`: two models beside each other, or a model and its tokenizer's chat template.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};

use crate::args::DiffArgs;
use crate::exit::REJECTED;
use crate::output;
use crate::source::Source;
use metatok::builder::{BuilderOptions, PromptBuilder};
use metatok::dataset::records::InputFormat;
use metatok::dialect::{ChatTemplate, Model, load_tokenizer, tokenizer_name};
use metatok::diff::{Cause, Diff, PromptDifference};
use metatok::error::{ErrorKind, Result};
use metatok::import::{ContentKind, generated};
use metatok::input::each_conversation;

const MAX_LINE_BYTES: usize = 1 << 26;
const FAINT: Style = Style::new().dimmed();
const OURS: Style = AnsiColor::Red.on_default();
const THEIRS: Style = AnsiColor::Green.on_default();

/// The first difference of each cause, with the conversation's place.
type First = BTreeMap<Cause, (String, PromptDifference)>;

pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode> {
    let model = Model::load(&args.model)?;
    let name = match &args.tokenizer {
        Some(tokenizer) => tokenizer_name(tokenizer)?,
        None => model.tokenizer_name()?,
    };
    let other = other(args, &name)?;
    let tokenizer = Arc::new(load_tokenizer(&name)?);
    let options = BuilderOptions { mode: args.mode, content: args.content, ..BuilderOptions::default() };
    let builder = |model: &Model| PromptBuilder::new(model, Arc::clone(&tokenizer), &options);
    let mut diff = Diff::new(builder(&model)?, builder(&other)?);
    let first = see(args, &mut diff)?;
    let out = if args.json { json(&diff, &first) } else { text(&diff, &first, [&args.model, &other.name]) };
    let printed = output::to_stdout(out)?;
    Ok(if diff.different() > 0 { ExitCode::from(REJECTED) } else { printed })
}

/// What the model is compared with.
fn other(args: &DiffArgs, tokenizer: &str) -> Result<Model> {
    match &args.with {
        Some(file) if Path::new(file).extension().is_some_and(|end| end == "jinja") => {
            ChatTemplate::load(file, tokenizer).map(Model::from)
        }
        Some(model) => Model::load(model),
        None => ChatTemplate::of_tokenizer(tokenizer)?.map(Model::from).ok_or_else(|| {
            ErrorKind::Usage(format!("{tokenizer} has no chat template to compare with"))
                .with_way_out("choose another model or a file of Jinja with --with")
        }),
    }
}

fn see(args: &DiffArgs, diff: &mut Diff) -> Result<First> {
    let mut first = First::new();
    let mut note = |place: String, difference: Option<PromptDifference>| {
        if let Some(difference) = difference {
            first.entry(difference.cause).or_insert((place, difference));
        }
    };
    if args.inputs.is_empty() {
        for kind in ContentKind::ALL {
            for (i, conversation) in generated(kind, &[]).iter().enumerate() {
                note(format!("generated, {}, {i}", kind.name()), diff.see(conversation));
            }
        }
        return Ok(first);
    }
    let inputs = Source::find(&args.inputs)?.open(None)?;
    let reader = diff.record_reader(InputFormat::Auto);
    each_conversation(inputs, reader, MAX_LINE_BYTES, args.mode, |place, conversation| {
        note(place.to_string(), diff.see(&conversation?));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(first)
}

fn json(diff: &Diff, first: &First) -> Vec<u8> {
    let firsts: Vec<_> = first
        .values()
        .map(|(place, difference)| serde_json::json!({ "place": place, "difference": difference }))
        .collect();
    let causes: BTreeMap<String, u64> =
        diff.causes().iter().map(|(cause, count)| (cause.to_string(), *count)).collect();
    let all = serde_json::json!({
        "equal": diff.equal(), "refused_by_both": diff.refused(), "different": diff.different(), "causes": causes, "first": firsts,
    });
    let mut out = Vec::new();
    output::push_json(&all, &mut out);
    out
}

fn text(diff: &Diff, first: &First, [ours, theirs]: [&str; 2]) -> Vec<u8> {
    let mut text = String::new();
    for (cause, (place, difference)) in first {
        let count = diff.causes().get(cause).copied().unwrap_or_default();
        let _ = writeln!(text, "{cause}: {} ({place})", output::count(count, "conversation"));
        let PromptDifference { before, ours, theirs, .. } = difference;
        let before = before.join(" ");
        let _ = writeln!(text, "  {OURS}-{OURS:#} {FAINT}{before}{FAINT:#} {OURS}{}{OURS:#}", ours.join(" "));
        let _ = writeln!(text, "  {THEIRS}+{THEIRS:#} {FAINT}{before}{FAINT:#} {THEIRS}{}{THEIRS:#}", theirs.join(" "));
    }
    let _ = writeln!(
        text,
        "- {ours}\n+ {theirs}\nsame ids: {} of {}",
        diff.equal(),
        output::count(diff.equal() + diff.different(), "conversation")
    );
    if diff.refused() > 0 {
        let _ = writeln!(text, "{} refused by both", output::count(diff.refused(), "conversation"));
    }
    text.into_bytes()
}
