//! The arguments of `metatok models`.

#[derive(clap::Args)]
#[command(after_help = "Examples:
  metatok models                          what there is
  metatok models llama-3 > mine.toml      a file to start from
  metatok models Qwen/Qwen3-8B            the template that claims a repository
  metatok models fastchat/zephyr          a conversation template
  metatok models --json | jq '.[].name'")]
pub(crate) struct ModelsArgs {
    /// A built-in model, a repository of the hub that one claims, or a conversation template.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Print JSON: a list of all, or the one as a model file.
    #[arg(long)]
    pub(crate) json: bool,
}
