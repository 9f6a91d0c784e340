//! The command line: what only a program does, such as printing.
#![allow(clippy::print_stderr, reason = "the command line is where printing belongs")]

mod against;
mod answers;
mod args;
mod batches;
mod bench;
mod build;
mod check;
mod convert;
mod form;
mod job;
mod journal;
mod models;
mod notes;
mod output;
mod pipeline;
mod progress;
mod rejects;
mod rows;
mod run;
mod setup;
mod source;
mod trim;
mod trimmed;
mod view;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};

/// Some rows were rejected, or one stopped the run.
const REJECTED: u8 = 1;
/// The command or a file it names is not as it should be.
const FAILED: u8 = 2;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Build(args) => build::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::View(args) => view::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Models(args) => models::run(&args),
        Command::Trim(args) => trim::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Args::command(), "metatok", &mut io::stdout());
            Ok(ExitCode::SUCCESS)
        }
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("metatok: {error}");
        ExitCode::from(FAILED)
    })
}
