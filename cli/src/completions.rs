//! `metatok completions`: a shell asks the program itself for completions.

use std::ffi::OsString;
use std::process::ExitCode;

use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Shells};

use crate::{args, output};
use metatok::error::{ErrorKind, Result};

/// The variable that a shell sets to ask.
const VARIABLE: &str = "METATOK_COMPLETE";

/// The script of bash, whose words are not the program's, and which quotes names of files only if it is told to.
const BASH: &str = include_str!("completions.bash");

/// The script of zsh, which would quote the tilde in names of files.
const ZSH: &str = include_str!("completions.zsh");

/// The script of fish, which asks with the word as it is typed, quotes and all.
const FISH: &str = include_str!("completions.fish");

/// Answers a shell, if one asks, and then ends the program.
pub(crate) fn answer(args: &[OsString]) {
    let folder = std::env::current_dir().ok();
    let completer = CompleteEnv::with_factory(args::command).var(VARIABLE);
    if completer.try_complete(args, folder.as_deref()).unwrap_or_else(|error| error.exit()) {
        std::process::exit(0);
    }
}

/// Prints the shell's registration script.
pub(crate) fn run(shell: Shell) -> Result<ExitCode> {
    let mut out = Vec::new();
    match shell {
        Shell::Bash => out.extend_from_slice(BASH.as_bytes()),
        Shell::Zsh => out.extend_from_slice(ZSH.as_bytes()),
        Shell::Fish => out.extend_from_slice(FISH.as_bytes()),
        _ => {
            let name = shell.to_string();
            let shells = Shells::builtins();
            let Some(completer) = shells.completer(&name) else {
                return Err(ErrorKind::Usage(format!("completions for {name} are not supported")).into());
            };
            completer.write_registration(VARIABLE, "metatok", "metatok", "metatok", &mut out)?;
        }
    }
    output::to_stdout(out)
}
