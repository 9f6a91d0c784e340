//! The headings of help pages. A struct of arguments names its own with `next_help_heading`, so that an argument added
//! to it is listed with related ones. Sections come in the order in which they first appear.

use clap::builder::{Resettable, Str};

pub(crate) const OUTPUT: &str = "Output";
pub(crate) const ERRORS: &str = "Errors";
pub(crate) const MODEL: &str = "Model";
pub(crate) const INPUT: &str = "Input";
pub(crate) const DATASET: &str = "Dataset";
pub(crate) const LENGTH: &str = "Length";
pub(crate) const PROMPT: &str = "Prompt";
pub(crate) const STOP: &str = "Stop";
pub(crate) const GENERAL: &str = "General";
/// Files and the like come where clap puts them, before all options.
pub(crate) const ARGUMENTS: Resettable<Str> = Resettable::Reset;
