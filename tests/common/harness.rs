//! Test functions and data cases as tests of one program, each with a name.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// What a module shows.
pub(crate) type Tests = Vec<Trial>;

/// Runs what the command line asks for.
pub(crate) fn run(modules: impl IntoIterator<Item = Tests>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), modules.into_iter().flatten().collect()).exit_code()
}

/// A test function, named `MODULE/FUNCTION`.
pub(crate) fn function(module_path: &str, function: &str, run: fn()) -> Trial {
    let module = module_path.split("::").nth(1).unwrap_or(module_path);
    Trial::test(format!("{module}/{function}"), move || {
        run();
        Ok(())
    })
}

/// The named functions of a module as tests. One that is left out is dead code, which the compiler finds.
macro_rules! tests {
    ($($(#[$attribute:meta])* $function:ident),* $(,)?) => {
        Vec::from([$($(#[$attribute])* $crate::harness::function(module_path!(), stringify!($function), $function)),*])
    };
}

pub(crate) use tests;
