//! The arguments of `metatok convert`.

use clap::ValueEnum;

#[derive(clap::Args)]
#[command(after_help = "Styles that a meta template cannot express are refused, with the reason.

Examples:
  metatok convert vicuna_v1.1 > vicuna.toml
  metatok convert template.json --to conversation > template.toml")]
pub(crate) struct ConvertArgs {
    /// A conversation template: a file (TOML or JSON), or a built-in one.
    #[arg(value_name = "FILE|NAME")]
    pub(crate) template: String,

    /// What to write: a model file with a meta template, or the conversation template itself.
    #[arg(long, value_enum, default_value = "meta", value_name = "FORM")]
    pub(crate) to: ConvertTo,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ConvertTo {
    Meta,
    Conversation,
}
