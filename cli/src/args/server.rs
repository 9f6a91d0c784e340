//! The arguments of a run that an inference server answers.

use std::num::NonZeroUsize;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::args::positive;
use metatok::server::{PROTOCOLS, Protocol};

#[derive(clap::Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct ServerArgs {
    /// Send prompts to the server at this address
    ///
    /// For example http://127.0.0.1:8000
    #[arg(long, value_name = "URL", requires = "engine", conflicts_with_all = ["weights", "device", "batch_size", "stream"])]
    pub(crate) url: Option<String>,

    #[arg(long, value_name = "NAME", requires = "url", value_parser = protocol(), help = kinds(), hide_possible_values = true)]
    pub(crate) engine: Option<&'static Protocol>,

    /// How many requests to send at the same time
    ///
    /// Default: the number that the server reports, or 64.
    #[arg(long, value_name = "N", requires = "url", value_parser = positive, hide_short_help = true)]
    pub(crate) concurrency: Option<NonZeroUsize>,

    /// Take the API key from this environment variable
    ///
    /// metatok sends the key as a bearer token. It never shows or writes it, even if the server repeats it in a message.
    #[arg(long, value_name = "NAME", requires = "url", hide_short_help = true)]
    pub(crate) api_key_env: Option<String>,

    /// Send this header, as NAME: VALUE
    ///
    /// metatok never shows or writes a value of at least 4 characters, even if the server repeats it in a message.
    #[arg(long, value_name = "HEADER", requires = "url", hide_short_help = true)]
    pub(crate) header: Vec<String>,

    /// The server's name for the model
    ///
    /// Default: the first model that it lists.
    #[arg(long, value_name = "NAME", requires = "url", hide_short_help = true)]
    pub(crate) served_model_name: Option<String>,

    /// How many seconds to wait until the server is ready
    ///
    /// The next two steps may each take as long again: asking for the model, and having the server tokenize a text.
    #[arg(long, value_name = "S", requires = "url", default_value = "60", value_parser = seconds, hide_short_help = true)]
    pub(crate) ready_timeout: std::time::Duration,

    /// Seconds without new data after which a request fails
    ///
    /// A server that is overloaded may also reject all requests for this long before they fail.
    #[arg(long, value_name = "S", requires = "url", default_value = "300", value_parser = seconds, hide_short_help = true)]
    pub(crate) idle_timeout: std::time::Duration,

    /// How many times to send a failed request again
    ///
    /// metatok repeats a request after a broken connection, an invalid answer, or a status of 408 or 5xx.
    #[arg(long, value_name = "N", requires = "url", default_value_t = 5, hide_short_help = true)]
    pub(crate) retries: u32,

    /// Stop after this many failures in a row
    ///
    /// A failure is a request without an answer after all retries, or a check that finds the server down. A request that the
    /// server rejects does not count.
    #[arg(long, value_name = "N", requires = "url", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub(crate) max_consecutive_errors: u32,

    /// With --resume, repeat the requests that have an error instead of an answer
    #[arg(long, requires_all = ["url", "resume"], hide_short_help = true)]
    pub(crate) retry_errors: bool,

    /// Write the server's raw events with each answer
    #[arg(long, requires = "url", hide_short_help = true)]
    pub(crate) keep_raw: bool,
}

/// The help for a server's name: shorter than with clap's own list.
fn kinds() -> String {
    let names: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
    format!("Kind of server: {}", names.join(", "))
}

/// A server by its name.
fn protocol() -> impl TypedValueParser<Value = &'static Protocol> {
    let names = PROTOCOLS.iter().map(|protocol| PossibleValue::new(protocol.name));
    PossibleValuesParser::new(names).try_map(|name| Protocol::find(&name))
}

/// A time in seconds, above 0.
fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let seconds = text.parse().map_err(|_| "it is not a number of seconds".to_owned())?;
    match std::time::Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("it is not a time above 0".into()),
    }
}
