//! The program: the command line with the arguments of the process.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Shells of Windows leave `*.jsonl` to the program. Elsewhere these are the arguments as they are.
    metatok_cli::main_with(wild::args_os())
}
