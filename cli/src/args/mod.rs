//! The program's arguments: a file for each command, and for those that several share.

mod bench;
mod build;
mod check;
mod command;
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
mod values;
mod view;

pub(crate) use bench::BenchArgs;
pub(crate) use build::BuildArgs;
pub(crate) use check::CheckArgs;
pub(crate) use command::{Args, Command, command};
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
pub(crate) use values::{OnError, at_least_one, named, output_file, positive, truncation};
pub(crate) use view::ViewArgs;
