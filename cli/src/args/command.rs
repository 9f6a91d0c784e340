//! The commands, and the page that lists them.

use clap::{Arg, ArgAction, CommandFactory, Parser, Subcommand};

use crate::args::{
    BenchArgs, BuildArgs, CheckArgs, CompareArgs, ConvertArgs, CountArgs, DatasetsArgs, DecodeArgs, DiffArgs,
    EncodeArgs, ImportArgs, ModelsArgs, RunArgs, ScoreArgs, StatsArgs, TrimArgs, ViewArgs, heading,
};

/// Turns conversations into token ids, in the format that a model was trained on
///
/// A meta template defines how the model's dialogues are written, and a Hugging Face tokenizer turns them into ids.
/// Nothing in a message can forge a reserved token.
#[derive(Parser)]
#[command(
    name = "metatok",
    version,
    after_help = "Examples:
  metatok view                               the demo's first prompt
  metatok build --model qwen3 chats.jsonl    conversations as token ids
  metatok check --model my.toml              likely mistakes in a model file
  metatok trim --model qwen3 answers.jsonl   answers, cut where they should end

Exit codes: 0 success; 1 a row was rejected, or a bad row stopped the run, or a check or comparison found something; 2 any other error."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Do not use the tokenizer cache
    ///
    /// metatok caches parsed tokenizers in the folder METATOK_CACHE, by default ~/.cache/metatok. They load several times as
    /// fast from there.
    #[arg(long, global = true, hide_short_help = true, help_heading = heading::GENERAL, display_order = 999)]
    pub(crate) no_cache: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Build prompts: conversations in, token ids out
    Build(BuildArgs),
    /// Show a prompt exactly as the model gets it
    View(ViewArgs),
    /// Find likely mistakes in a model file or in conversations
    Check(CheckArgs),
    /// Cut an engine's output where it should have ended
    Trim(TrimArgs),
    /// Find where the answers of two engines begin to differ
    Compare(CompareArgs),
    /// Get answers to prompts from a server, or in this process (feature `candle`)
    ///
    /// Builds prompts, generates answers and trims them in one command. Without --url, metatok must be built with the feature `candle`.
    Run(RunArgs),
    /// Count how many answers are right
    Score(ScoreArgs),
    /// Show how long prompts are, and how many exceed a context
    Stats(StatsArgs),
    /// Turn plain text into token ids
    Encode(EncodeArgs),
    /// Turn token ids into text
    Decode(DecodeArgs),
    /// Count the tokens of text files
    Count(CountArgs),
    /// List the built-in models, or print one as a file to start from
    Models(ModelsArgs),
    /// List the built-in dataset files, or print one as a file to start from
    Datasets(DatasetsArgs),
    /// Turn a tokenizer's chat template into a model file, and compare the two
    Import(ImportArgs),
    /// Find where the prompts of two models, or of a model and its chat template, differ
    Diff(DiffArgs),
    /// Turn a FastChat conversation template into a model file
    Convert(ConvertArgs),
    /// Measure how fast prompts are built
    ///
    /// Compares metatok's speed with that of joining strings and encoding them.
    Bench(BenchArgs),
    /// Print a script that completes metatok's arguments in a shell
    #[command(after_help = "Bash, in ~/.bashrc:            source <(metatok completions bash)
Zsh, in ~/.zshrc:              source <(metatok completions zsh)
Fish, in config.fish:          metatok completions fish | source")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The command. The help pages of its subcommands end with what all of them share.
pub(crate) fn command() -> clap::Command {
    let help = || {
        let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).help_heading(heading::GENERAL);
        help.help("Print help; --help shows more").long_help("Print help; -h is shorter").display_order(1000)
    };
    let with_help = |command: clap::Command| {
        // `trim` is about where answers end; elsewhere these options are rarely used.
        let rare: &[&str] = if command.get_name() == "trim" { &[] } else { &["stop", "stop_id"] };
        // What is refused, with the reason.
        let refused: &[&str] = match command.get_name() {
            "check" => &["keep", "id_column"],
            "view" => &["keep"],
            _ => &[],
        };
        let command = command.mut_args(|arg| {
            let id = arg.get_id().as_str();
            let (is_rare, is_refused) = (rare.contains(&id), refused.contains(&id));
            if is_refused {
                arg.hide(true)
            } else if is_rare {
                arg.hide_short_help(true)
            } else {
                arg
            }
        });
        command.disable_help_flag(true).arg(help())
    };
    Args::command().max_term_width(100).mut_subcommands(with_help)
}
