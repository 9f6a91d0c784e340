//! The `metatok` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    metatok::cli::main()
}
