//! The command line: what only a program does, such as printing. The program and Python's package run it.
#![allow(clippy::print_stderr, reason = "the command line is where printing belongs")]

mod against;
mod answering;
mod args;
mod bench;
mod bench_data;
mod bench_shares;
mod bench_speed;
mod build;
mod build_one;
mod build_results;
mod check;
mod compare;
mod completions;
mod convert;
mod count;
mod datasets;
mod decode;
mod diff;
mod earlier_answers;
mod encode;
mod exit;
mod figures;
mod flags;
mod import;
mod interrupt;
mod loaded;
mod models;
mod output;
mod outputs;
mod partial;
mod progress;
mod rejects;
mod request;
mod run;
mod run_answers;
mod run_front;
mod say;
mod score;
mod score_labels;
#[cfg(feature = "http")]
mod server;
mod setup;
mod source;
mod stats;
mod summary;
mod texts;
mod trim;
mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;
use metatok::TokenizerCache;
use metatok::error::Result;

use args::{Args, Command};
use exit::FAILED;
use say::{InFlags, escaped_line, say};

/// Runs the program with these arguments, the first of which is its own name. Exits by itself if they are wrong.
pub fn main_with(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    completions::answer(&args);
    let outcome = match parse(&args) {
        Ok(args) => run(args),
        Err(help) => output::to_stdout(help.into_bytes()),
    };
    let code = outcome.unwrap_or_else(|error| {
        say!("{}", error.in_flags());
        ExitCode::from(FAILED)
    });
    interrupt::end();
    code
}

fn run(args: Args) -> Result<ExitCode> {
    if args.no_cache {
        TokenizerCache::disable();
    }
    match args.command {
        Command::Build(args) => build::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::View(args) => view::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Models(args) => models::run(&args),
        Command::Datasets(args) => datasets::run(&args),
        Command::Trim(args) => trim::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Score(args) => score::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Encode(args) => encode::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Count(args) => count::run(&args),
        Command::Completions { shell } => completions::run(shell),
    }
}

/// The arguments, or the help or the version that they ask for. Errors quote them, and they may contain anything.
fn parse(args: &[OsString]) -> std::result::Result<Args, String> {
    parse_from(args).map_err(|error| {
        if !error.use_stderr() {
            return error.render().ansi().to_string();
        }
        let escaped: Vec<OsString> = args.iter().map(escaped_arg).collect();
        if args != escaped {
            let error = parse_from(&escaped).err().unwrap_or(error);
            // Without colours, which are control characters too.
            say::piece(&error.render().to_string());
            std::process::exit(FAILED.into());
        }
        error.exit()
    })
}

fn parse_from(args: &[OsString]) -> std::result::Result<Args, clap::Error> {
    args::command().try_get_matches_from(args).and_then(|matches| Args::from_arg_matches(&matches))
}

fn escaped_arg(arg: &OsString) -> OsString {
    escaped_line(&arg.to_string_lossy()).into_owned().into()
}
