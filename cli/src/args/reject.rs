//! The arguments for bad lines.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::args::heading;

/// What happens to bad lines.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::ERRORS)]
pub(crate) struct RejectArgs {
    /// Stop at a bad line, or save it and continue
    ///
    /// reject writes the line and its error to the --rejects file.
    #[arg(long, value_enum, default_value = "stop", value_name = "stop|reject", hide_possible_values = true)]
    pub(crate) on_error: OnError,

    /// File for lines that --on-error reject skips
    ///
    /// Each line comes with its error. Default: rejects.jsonl, or a file next to --output.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) rejects: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    /// Stop at the bad line
    Stop,
    /// Write the line with its error, and continue
    Reject,
}
