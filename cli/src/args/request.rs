//! How answers are sampled, and what else a server is asked.

use clap::builder::{NonEmptyStringValueParser, RangedU64ValueParser, TypedValueParser};
use serde_json::Value;

use crate::args::heading;
use metatok::dataset::prompter::SamplingParams;

#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct RequestArgs {
    /// Sample tokens at this temperature
    ///
    /// 0 always takes the likeliest token. Other values divide the logits. Default: the dataset's temperature, or 0.
    #[arg(long, value_name = "T", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) temperature: Option<f64>,

    /// Sample only from the likeliest tokens whose probabilities add up to P
    ///
    /// Default: the dataset's value, or 1 (all tokens).
    #[arg(long, value_name = "P", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) top_p: Option<f64>,

    /// Sample only from the K likeliest tokens
    ///
    /// Default: the dataset's value, or all tokens.
    #[arg(long, value_name = "K", value_parser = top_k(), hide_short_help = true)]
    pub(crate) top_k: Option<i64>,

    /// Seed for sampling
    ///
    /// In-process runs use this seed (default 0) and the line number. A server uses its own seed unless you set one. Each repeat
    /// of a row then adds its number to it.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) seed: Option<u64>,

    /// Add a key to each request, with a JSON value; may be repeated
    ///
    /// It replaces a key of the same name. Write a string with its quotes: --param 'K="text"'.
    #[arg(long = "param", value_name = "K=JSON", value_parser = param, hide_short_help = true)]
    pub(crate) params: Vec<(String, Value)>,
}

impl RequestArgs {
    /// How answers are sampled, where the arguments say.
    pub(crate) fn sampling(&self) -> SamplingParams {
        let Self { temperature, top_p, top_k, .. } = *self;
        SamplingParams { temperature, top_p, top_k }
    }
}

/// The prefix of request ids.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::INPUT)]
pub(crate) struct RunIdArgs {
    /// Prefix of request ids
    ///
    /// A request's id is then ID-ROW, so two runs on one server have no ids in common. `ID-` is removed from the ids of answers.
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub(crate) run_id: Option<String>,
}

fn top_k() -> impl TypedValueParser<Value = i64> {
    RangedU64ValueParser::<u32>::new().range(1..=u64::from(u32::MAX)).map(i64::from)
}

fn param(text: &str) -> Result<(String, Value), String> {
    let Some((key, json)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        return Err("a key and its value as JSON are expected, such as min_p=0.1".into());
    };
    match serde_json::from_str(json) {
        Ok(value) => Ok((key.to_owned(), value)),
        Err(_) => {
            let string = Value::from(json);
            Err(format!("{json:?} is not JSON; a string has quotes of its own: --param '{key}={string}'"))
        }
    }
}
