//! The command line: what only a program does, such as printing.
#![allow(clippy::print_stderr, reason = "the command line is where printing belongs")]

mod against;
mod answers;
mod args;
mod batches;
mod bench;
mod build;
mod check;
mod completions;
mod convert;
mod count;
mod decode;
mod encode;
mod form;
mod job;
mod journal;
mod models;
mod output;
mod pipeline;
mod progress;
mod rejects;
mod rows;
mod run;
mod setup;
mod source;
mod texts;
mod trim;
mod trimmed;
mod view;

use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Args, Command};

/// Some rows were rejected, or one stopped the run.
const REJECTED: u8 = 1;
/// The command or a file it names is not as it should be.
const FAILED: u8 = 2;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    completions::answer();
    let matches = args::command().get_matches();
    let outcome = match Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command {
        Command::Build(args) => build::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::View(args) => view::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Models(args) => models::run(&args),
        Command::Trim(args) => trim::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Encode(args) => encode::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Count(args) => count::run(&args),
        Command::Completions { shell } => completions::run(shell),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("metatok: {error}");
        ExitCode::from(FAILED)
    })
}
