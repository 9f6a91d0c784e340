//! The program's arguments: a file for each command, and for what several share.

mod bench;
mod build;
mod check;
mod convert;
mod input;
mod model;
mod models;
mod prompt;
mod run;
mod trim;
mod view;

use std::num::NonZeroUsize;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use bench::BenchArgs;
pub(crate) use build::{BuildArgs, Format};
pub(crate) use check::CheckArgs;
pub(crate) use convert::{ConvertArgs, ConvertTo};
pub(crate) use input::{AnswersArgs, InferModeArg, InputArgs, ReadArgs};
pub(crate) use model::ModelArgs;
pub(crate) use models::ModelsArgs;
pub(crate) use prompt::{ContentArg, ModeArg, PromptArgs, SpecialTokensArg, StopArgs};
pub(crate) use run::RunArgs;
pub(crate) use trim::TrimArgs;
pub(crate) use view::ViewArgs;

use crate::error::Error;
use crate::truncate::Truncation;

/// Turns conversations into token ids for local inference engines.
#[derive(Parser)]
#[command(name = "metatok", version, about, long_about = None, after_help = "Examples:
  metatok build                                     the demo's conversations, as token ids
  metatok build --model qwen3 chats.jsonl           a built-in template, its tokenizer from the hub
  metatok build --model my.toml --tokenizer dir/ chats.jsonl -o ids.jsonl
  metatok bench --model my.toml chats.jsonl         how fast, beside joining and encoding
  metatok view --model qwen3 chats.jsonl            the first prompt, token by token
  metatok check --model my.toml                     what is likely to be wrong
  metatok trim --model qwen3 answers.jsonl          answers, cut where they should have ended
  metatok run                                       the demo's questions, answered (feature candle)
  metatok models                                    the built-in models

Exit codes: 0 fine, 1 some rows were rejected or one stopped the run, 2 anything else.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Build prompts: conversations in, token ids out, both as JSON lines.
    Build(BuildArgs),
    /// Measure building your prompts beside joining strings and encoding them.
    Bench(BenchArgs),
    /// Show a prompt exactly as the model gets it.
    View(ViewArgs),
    /// Find what is likely to be wrong with a model file, its tokenizer, or conversations.
    Check(CheckArgs),
    /// List the built-in models and conversation templates, or print one as a file to start from.
    Models(ModelsArgs),
    /// Cut what an engine gave to where it should have ended, and say why.
    Trim(TrimArgs),
    /// Answer prompts with an engine in this process: build, generate, trim. Needs the feature `candle`.
    Run(RunArgs),
    /// Turn a conversation template into a model file with a meta template.
    Convert(ConvertArgs),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

fn truncation() -> impl TypedValueParser<Value = Truncation> {
    named([
        ("refuse", "Nothing: such a prompt is an error"),
        ("left", "The first tokens"),
        ("right", "The last tokens"),
        ("middle", "The tokens in the middle"),
        ("last-examples", "In-context examples, the last first"),
        ("first-examples", "In-context examples, the first first"),
        ("oldest-turns", "Turns, the oldest first; the system message and the last question stay"),
    ])
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
    Stop,
    Reject,
}
