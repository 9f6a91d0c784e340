//! The program: the command line with the arguments of the process.

use std::process::ExitCode;

fn main() -> ExitCode {
    metatok_cli::main_with(std::env::args_os())
}
