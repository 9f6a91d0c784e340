//! The program's arguments: a file for each command, and for what several share.

mod bench;
mod build;
mod check;
mod complete;
mod convert;
mod datasets;
mod heading;
mod input;
mod model;
mod models;
mod prompt;
mod run;
mod score;
mod stats;
mod tokens;
mod trim;
mod view;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Arg, ArgAction, CommandFactory, Parser, Subcommand, ValueEnum};

pub(crate) use bench::BenchArgs;
pub(crate) use build::BuildArgs;
pub(crate) use check::CheckArgs;
pub(crate) use convert::{ConvertArgs, ConvertTo};
pub(crate) use datasets::DatasetsArgs;
pub(crate) use input::{AnswersArgs, InputArgs, ReadArgs, input_format};
pub(crate) use model::ModelArgs;
pub(crate) use models::ModelsArgs;
pub(crate) use prompt::{ContentArg, ModeArg, PromptArgs, SpecialTokensArg, StopArgs, TemplateArgs, WrapperArg};
pub(crate) use run::RunArgs;
pub(crate) use score::{By, ScoreArgs, Take};
pub(crate) use stats::StatsArgs;
pub(crate) use tokens::{CountArgs, DecodeArgs, EncodeArgs, TextArgs, TokenizerArgs};
pub(crate) use trim::TrimArgs;
pub(crate) use view::ViewArgs;

use metatok::error::Error;
use metatok::truncate::Truncation;

/// Turns conversations into the token ids that a model was trained on
///
/// A meta template defines how the model's dialogues are written, and a Hugging Face tokenizer turns them into ids.
/// Nothing in a message can forge a control token.
#[derive(Parser)]
#[command(
    name = "metatok",
    version,
    after_help = "Examples:
  metatok view                               the demo's first prompt
  metatok build --model qwen3 chats.jsonl    conversations as token ids
  metatok check --model my.toml              likely mistakes in a model file
  metatok trim --model qwen3 answers.jsonl   answers, cut where they should end

Exit codes: 0 success, 1 some rows were rejected or one stopped the run, 2 other."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
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
    /// Answer prompts with an engine in this process (feature `candle`)
    ///
    /// Builds, generates and trims in one command. metatok must be built with the feature `candle`.
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
    /// Turn a FastChat conversation template into a model file
    Convert(ConvertArgs),
    /// Measure how fast prompts are built
    ///
    /// Compares building your prompts with joining strings and encoding them.
    Bench(BenchArgs),
    /// Print what a shell needs to complete metatok's arguments
    #[command(after_help = "Bash, in ~/.bashrc:            source <(metatok completions bash)
Zsh, in ~/.zshrc:              source <(metatok completions zsh)
Fish, in config.fish:          metatok completions fish | source")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The command, whose pages end with what all commands have.
pub(crate) fn command() -> clap::Command {
    let help = || {
        let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).help_heading(heading::GENERAL);
        help.help("Print help; --help shows more").long_help("Print help; -h is shorter").display_order(1000)
    };
    let with_help = |command: clap::Command| {
        // Where answers end is what `trim` is about; elsewhere it is rarely said.
        let rare: &[&str] = if command.get_name() == "trim" { &[] } else { &["stop", "stop_id"] };
        let command = command.mut_args(|arg| match rare.contains(&arg.get_id().as_str()) {
            true => arg.hide_short_help(true),
            false => arg,
        });
        command.disable_help_flag(true).arg(help())
    };
    Args::command().max_term_width(100).mut_subcommands(with_help)
}

fn truncation() -> impl TypedValueParser<Value = Truncation> {
    named([
        ("refuse", "Nothing: a prompt that is too long is an error"),
        ("left", "The first tokens"),
        ("right", "The last tokens"),
        ("middle", "The tokens in the middle"),
        ("last-examples", "In-context examples, the last first"),
        ("first-examples", "In-context examples, the first first"),
        ("oldest-turns", "Turns, the oldest first, but not the system message or the last question"),
    ])
}

/// A file that is written. `-` would become a file of this name.
fn output_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.to_str() {
        Some("-") => Err("standard output is where results go without this option; leave it out"),
        _ => Ok(path),
    })
}

/// A number of things, of which there must be one.
fn at_least_one() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(1..)
}

/// A count of at least one; the standard library would speak of a "non-zero type".
fn positive(number: &str) -> Result<NonZeroUsize, &'static str> {
    number.parse().map_err(|_| "a whole number of at least 1 is expected")
}

/// One of these names, as the library reads them.
fn named<T, const N: usize>(names: [(&'static str, &'static str); N]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = Error> + Clone + Send + Sync + 'static,
{
    let names = names.map(|(name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    /// Stop at it
    Stop,
    /// Write the line with its error, and continue
    Reject,
}
