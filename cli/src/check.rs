//! `metatok check`: prints the findings of the lints.

use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::args::CheckArgs;
use crate::exit::FOUND;
use crate::outputs::Outputs;
use crate::say::{InFlags, escaped_line, say};
use crate::source::{Source, names, note_empty, nothing_in};
use crate::{against, flags, output, setup};
use metatok::check::{Checker, Finding, LINTS, Level, Lint};
use metatok::conversation::Mode;
use metatok::dataset::records::RecordReader;
use metatok::dialect::ChatTemplate;
use metatok::error::{At, ErrorKind, Result, counted};
use metatok::input::{Input, each_conversation};

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

#[derive(Serialize)]
struct Entry<'a> {
    code: &'a str,
    level: Level,
    place: String,
    message: &'a str,
    help: String,
    denied: bool,
}

impl<'a> Entry<'a> {
    fn new(finding: &'a Finding, denied: bool) -> Self {
        let Finding { code, level, place, message, help } = finding;
        Self { code, level: *level, place: place.in_flags(), message, help: help.in_flags(), denied }
    }
}

pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode> {
    if args.list {
        return output::to_stdout(list(args)?);
    }
    flags::check_check(args)?;
    if let Some(path) = &args.against {
        return against::run(path, args);
    }
    for code in &args.deny {
        Lint::check_denied(code).at("--deny")?;
    }
    for code in &args.allow {
        Lint::find(code).at("--allow")?;
    }
    let findings = find(args)?;
    let denied = |finding: &Finding| finding.is_denied(&args.deny);
    let mut out = Vec::new();
    if args.json {
        let entries: Vec<_> = findings.iter().map(|finding| Entry::new(finding, denied(finding))).collect();
        output::push_json(&entries, &mut out);
    } else {
        for finding in &findings {
            write(finding, denied(finding), &mut out)?;
        }
    }
    let printed = output::to_stdout(out)?;
    if !args.json {
        say!("{}", summary(&findings));
    }
    Ok(if findings.iter().any(denied) { ExitCode::from(FOUND) } else { printed })
}

fn find(args: &CheckArgs) -> Result<Vec<Finding>> {
    let source = Source::find(&args.input.inputs)?;
    source.check_stdin(args.input.other_files())?;
    let dataset = setup::dataset(&args.input)?;
    if dataset.is_some() && !source.has_input() {
        return Err(ErrorKind::Usage("--dataset is checked by its rows; name a file of them".into()).into());
    }
    Outputs::stdout().check_inputs(&args.input, &source, dataset.as_ref())?;
    let options = setup::options(&args.prompts, dataset.as_ref());
    flags::check_template(&args.prompts.template, options.mode)?;
    let (mut model, tokenizer) = setup::load(&args.model, source.has_input())?;
    model.allow.extend(args.allow.iter().cloned());
    let chat_template = ChatTemplate::of_tokenizer(tokenizer.name());
    let mut checker = Checker::new(&model, tokenizer, &options)?;
    match chat_template {
        Ok(template) => template.into_iter().for_each(|template| checker.compare_with(template)),
        Err(error) => say!("note: not compared with the tokenizer's chat template: {}", error.in_flags()),
    }
    if source.has_input() {
        let mut inputs = source.open(args.input.shape())?;
        note_empty(&inputs);
        if let Some(dataset) = &dataset {
            inputs = dataset.through_arrow(inputs)?;
        }
        let names = names(&inputs);
        let has_dataset = dataset.is_some();
        let seen = match dataset {
            Some(dataset) => dataset.check_rows(inputs, args.input.limit, &mut checker)?,
            None => see_conversations(args, inputs, options.mode, &mut checker)?,
        };
        if seen == 0 {
            return Err(nothing_in(&names, has_dataset));
        }
    }
    checker.finish()
}

/// Checks conversations, and returns how many there are.
fn see_conversations(args: &CheckArgs, inputs: Vec<Input>, mode: Mode, checker: &mut Checker) -> Result<usize> {
    let (format, longest) = (args.input.input_format, args.input.read.max_line_bytes);
    let (mut seen, mut is_last) = (0, setup::limit(args.input.limit));
    each_conversation(inputs, RecordReader::new(format), longest, |place, record| {
        match record.and_then(|record| record.into_conversation(mode)) {
            Ok((conversation, _)) => checker.see(&conversation, &place.to_string()),
            Err(error) => checker.see_refused(place.of_error(error), &place.to_string()),
        }
        seen += 1;
        Ok(is_last())
    })?;
    Ok(seen)
}

fn write(finding: &Finding, is_denied: bool, out: &mut Vec<u8>) -> Result<()> {
    let style = colour(if is_denied { Level::Error } else { finding.level });
    let denied = if is_denied && finding.level != Level::Error { " (denied)" } else { "" };
    let Finding { code, level, place, message, help } = finding;
    let (place, help) = (place.in_flags(), help.in_flags());
    let (place, message, help) = (escaped_line(&place), escaped_line(message), escaped_line(&help));
    writeln!(out, "{style}{level}[{code}]{style:#}{denied}{BOLD}: {message}{BOLD:#}")?;
    writeln!(out, "  {FAINT}at{FAINT:#}   {place}")?;
    writeln!(out, "  {FAINT}help{FAINT:#} {help}")?;
    Ok(())
}

fn colour(level: Level) -> Style {
    BOLD.fg_color(Some(
        match level {
            Level::Note => AnsiColor::Cyan,
            Level::Warning => AnsiColor::Yellow,
            Level::Error => AnsiColor::Red,
        }
        .into(),
    ))
}

fn summary(findings: &[Finding]) -> String {
    let counts: Vec<String> = [Level::Error, Level::Warning, Level::Note]
        .into_iter()
        .map(|level| (level, findings.iter().filter(|finding| finding.level == level).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(level, count)| counted(count, &level.to_string()))
        .collect();
    if counts.is_empty() { "nothing found".into() } else { counts.join(", ") }
}

fn list(args: &CheckArgs) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    if args.json {
        let lints: Vec<_> = LINTS
            .iter()
            .map(|lint| serde_json::json!({"code": lint.code, "level": lint.level, "about": lint.about, "why": lint.why}))
            .collect();
        output::push_json(&lints, &mut out);
        return Ok(out);
    }
    let options = textwrap::Options::new(output::width().min(100)).initial_indent("    ").subsequent_indent("    ");
    for lint in LINTS {
        let style = colour(lint.level);
        writeln!(out, "{BOLD}{}{BOLD:#}  {style}{}{style:#}", lint.code, lint.level)?;
        writeln!(out, "{}", textwrap::fill(lint.about, &options))?;
        writeln!(out, "{FAINT}{}{FAINT:#}\n", textwrap::fill(lint.why, &options))?;
    }
    Ok(out)
}
