//! `metatok completions`: a shell asks the program itself what fits.

use std::process::ExitCode;

use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Shells};

use crate::{args, output};
use metatok::error::{ErrorKind, Result};

/// The variable in which a shell says that it asks.
const VARIABLE: &str = "METATOK_COMPLETE";

/// Answers a shell, if one asks, and ends the program then.
pub(crate) fn answer() {
    CompleteEnv::with_factory(args::command).var(VARIABLE).complete();
}

/// Prints what a shell needs to ask.
pub(crate) fn run(shell: Shell) -> Result<ExitCode> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let Some(completer) = shells.completer(&name) else {
        return Err(ErrorKind::Usage(format!("there are no completions for {name}")).into());
    };
    let mut out = Vec::new();
    completer.write_registration(VARIABLE, "metatok", "metatok", "metatok", &mut out)?;
    output::to_stdout(out)
}
