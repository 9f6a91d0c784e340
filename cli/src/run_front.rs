//! What the user sees of `metatok run`: its progress, and how it ended.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use indicatif::ProgressBar;

use crate::args::RunArgs;
use crate::exit::{FAILED, FOUND};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::say::{self, InFlags, say};
use metatok::build::{answers_omitted, truncated};
use metatok::error::{Error, Result, counted};
use metatok::run::{RunAnswers, RunEvent, RunTotals, journal_path};

/// What the user sees of a run.
pub(crate) struct Front<'a> {
    args: &'a RunArgs,
    progress: ProgressBar,
    started: Instant,
    answers: u64,
    tokens: u64,
    /// How many lines were written as they came.
    written: u64,
    /// The output of answers as they come.
    output: Option<Output>,
    /// Whether the input is other than the demo's.
    has_input: bool,
    interrupt: Interrupt,
}

impl<'a> Front<'a> {
    pub(crate) fn new(args: &'a RunArgs, progress: ProgressBar, output: Option<Output>, has_input: bool) -> Self {
        let (started, interrupt) = (Instant::now(), Interrupt::watch());
        Self { args, progress, started, answers: 0, tokens: 0, written: 0, output, has_input, interrupt }
    }

    pub(crate) fn see(&mut self, event: &RunEvent<'_>) -> Result<ControlFlow<()>> {
        match event {
            RunEvent::Tick if self.interrupt.exit_code().is_some() => return Ok(ControlFlow::Break(())),
            RunEvent::Read(bytes) => self.progress.inc(*bytes),
            RunEvent::Tokens(tokens) => {
                self.tokens += tokens;
                let rate = rate(Some(self.tokens), &self.started);
                self.progress.set_message(format!("{}, {rate}", counted(self.answers, "answer")));
            }
            RunEvent::Text(text) if self.args.stream => say::piece(text),
            RunEvent::Answer => {
                self.answers += 1;
                if self.args.stream {
                    say::piece("\n");
                }
            }
            RunEvent::Line(json) => {
                if let Some(output) = &mut self.output {
                    self.written += 1;
                    return output.stream_line(json);
                }
            }
            RunEvent::Warning(warning) if !self.args.quiet => {
                self.progress.suspend(|| say!("warning: {}", warning.in_flags()));
            }
            RunEvent::Refused(error) => self.progress.suspend(|| say!("{}", error.in_flags())),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    pub(crate) fn hide_progress(&self) {
        self.progress.finish_and_clear();
    }

    /// Says what there is of a run that a signal ended.
    pub(crate) fn interrupted(&self, answers: &RunAnswers) -> ExitCode {
        let advice = if self.journal().is_some() { ", continue with --resume" } else { "" };
        say!("interrupted; {}{advice}", self.so_far(answers));
        self.interrupt.ends_in_order();
        ExitCode::from(self.interrupt.exit_code().unwrap_or(FAILED))
    }

    /// Says at which row a run ended.
    pub(crate) fn stopped_at(&self, error: &Error, answers: &RunAnswers) -> ExitCode {
        let advice = match self.journal() {
            _ if error.concerns_every_prompt() => "",
            Some(_) => "; use --on-error reject to skip bad rows, and --resume to continue from here",
            None => "; use --on-error reject to skip bad rows",
        };
        say!("{}", error.in_flags());
        say!("stopped at the first bad row ({}){advice}", self.so_far(answers));
        ExitCode::from(FOUND)
    }

    /// Where the answers are kept until all are complete; none if they are written as they come.
    fn journal(&self) -> Option<PathBuf> {
        self.args.output.as_deref().filter(|_| self.output.is_none()).map(journal_path)
    }

    /// What there is of a run that ended early.
    fn so_far(&self, answers: &RunAnswers) -> String {
        match self.journal() {
            Some(journal) => format!("{} kept in {}", counted(answers.answers(), "answer"), journal.display()),
            None => format!("{} written", counted(self.written, "line")),
        }
    }

    /// Makes the answers final, and prints the totals.
    pub(crate) fn complete(self, answers: RunAnswers, totals: &RunTotals) -> Result<ExitCode> {
        let is_kept = self.journal().is_some();
        let Self { args, started, output, has_input, .. } = self;
        if !args.quiet {
            say::notes(totals.remarks.notes());
        }
        let (refused, refused_rows) = (answers.refused(), answers.refused_rows());
        match output {
            Some(output) => output.finish()?,
            None => write(answers, args)?,
        }
        if !args.quiet {
            if has_input {
                say::notes(answers_omitted(totals.answers_omitted));
            }
            say::notes(truncated(totals.truncated));
            say_totals(totals, &started);
        }
        if refused == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        let again = match &args.server.url {
            Some(_) if is_kept => "; to ask for them again, add --resume --retry-errors",
            _ => "",
        };
        let turns = if refused > refused_rows { counted(refused, "turn") + " of " } else { String::new() };
        say!("{turns}{} without an answer, each written with its error{again}", counted(refused_rows, "row"));
        Ok(ExitCode::from(FOUND))
    }
}

/// Writes the answers of a journal to their file.
fn write(answers: RunAnswers, args: &RunArgs) -> Result<()> {
    let refused = answers.refused();
    let mut output = Output::open(args.output.as_deref())?;
    answers.each(|json| output.write(format!("{json}\n").as_bytes()).map_err(|error| output.failed(error)))?;
    output.finish()?;
    // Errors of a server can be asked again.
    if refused == 0 || args.server.url.is_none() {
        answers.remove()?;
    }
    Ok(())
}

/// Prints how many answers there are, why they ended, and how fast they came.
fn say_totals(totals: &RunTotals, started: &Instant) {
    let reasons: Vec<String> = totals.reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    say!("{}{reasons}, {}", counted(totals.answers, "answer"), rate(tokens(totals), started));
    #[cfg(feature = "http")]
    if let Some(server) = &totals.server {
        say!("{}", crate::server::summary(server.clone(), started.elapsed()));
    }
}

/// How many tokens the answers have, if that is known of any.
fn tokens(totals: &RunTotals) -> Option<u64> {
    #[cfg(feature = "http")]
    if totals.server.as_ref().is_some_and(|server| server.requests > 0 && server.requests == server.uncounted) {
        return None;
    }
    Some(totals.tokens)
}

fn rate(tokens: Option<u64>, started: &Instant) -> String {
    let seconds = started.elapsed().as_secs_f64();
    match tokens {
        Some(tokens) => {
            format!("{}, {seconds:.2} s, {:.0} tokens/s", counted(tokens, "token"), tokens as f64 / seconds.max(1e-9))
        }
        None => format!("{seconds:.2} s"),
    }
}
