//! The arguments of `metatok convert`.

use clap::ValueEnum;

use crate::args::{complete, heading};

#[derive(clap::Args)]
#[command(
    next_help_heading = heading::OUTPUT,
    after_help = "metatok refuses styles that a meta template cannot express, with the reason.

Examples:
  metatok convert vicuna_v1.1 > vicuna.toml
  metatok convert template.json --to conversation > template.toml"
)]
pub(crate) struct ConvertArgs {
    /// Conversation template: built in, or a TOML or JSON file
    #[arg(value_name = "FILE|NAME", help_heading = heading::ARGUMENTS, add = complete::conversations())]
    pub(crate) template: String,

    /// What to write
    #[arg(long, value_enum, default_value = "meta", value_name = "FORM")]
    pub(crate) to: ConvertTo,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ConvertTo {
    /// A model file with a meta template
    Meta,
    /// The conversation template itself
    Conversation,
}
