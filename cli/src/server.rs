//! `metatok run --url`: connects to the server, and sums up the run.

use std::time::Duration;

use indicatif::ProgressBar;

use crate::args::{RunArgs, ServerArgs};
use crate::say::{self, say};
use metatok::builder::PromptBuilder;
use metatok::client::{Client, ClientOptions, Notice};
use metatok::error::{ErrorKind, Result, counted};
use metatok::run::ServerTotals;

/// Waits until the server is ready. Lines about long waits make way for the progress bar.
pub(crate) fn connect(args: &RunArgs, builder: &PromptBuilder, progress: &ProgressBar) -> Result<Option<Client>> {
    let ServerArgs { url: Some(url), engine: Some(protocol), .. } = &args.server else { return Ok(None) };
    let mut options = options(&args.server, url)?;
    if !args.quiet {
        let progress = progress.clone();
        options.notice = Notice::new(move |what| progress.suspend(|| say!("{what}")));
    }
    let client = Client::connect(protocol, builder, &options)?;
    if !args.quiet {
        let served = &client.notes().served;
        let model = served.model.as_deref().map_or_else(|| "a model".to_owned(), |model| format!("{model:?}"));
        let context = served.max_model_len.map_or(String::new(), |len| format!(", context {len}"));
        say!("{} serves {model}{context}; {} at a time", protocol.name, counted(client.concurrency().get(), "request"));
        say::notes(&client.notes().warnings);
    }
    Ok(Some(client))
}

fn options(args: &ServerArgs, url: &str) -> Result<ClientOptions> {
    let mut options = ClientOptions::new(url);
    options.served_model_name.clone_from(&args.served_model_name);
    options.concurrency = args.concurrency;
    options.ready_timeout = args.ready_timeout;
    options.idle_timeout = args.idle_timeout;
    options.retries = args.retries;
    options.max_consecutive_errors = args.max_consecutive_errors;
    options.keep_raw = args.keep_raw;
    for header in &args.header {
        let Some((name, value)) = header.split_once(':') else {
            // What it holds may be a key.
            let what = "a --header has no colon; it is NAME: VALUE";
            return Err(ErrorKind::Usage(what.into()).into());
        };
        options.headers.push((name.trim().into(), value.trim().into()));
    }
    if let Some(name) = &args.api_key_env {
        let key = std::env::var(name).map_err(|_| {
            ErrorKind::Usage(format!("the environment variable {name}, which --api-key-env names, is not set"))
        })?;
        if key.trim().is_empty() {
            let what = format!("the environment variable {name}, which --api-key-env names, is empty");
            return Err(ErrorKind::Usage(what).into());
        }
        options.headers.push(("authorization".into(), format!("Bearer {}", key.trim())));
    }
    Ok(options)
}

/// What a server did, in a line.
pub(crate) fn summary(mut totals: ServerTotals, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-9);
    let per_second = |number: u64| number as f64 / seconds;
    let ServerTotals { requests, failed, retries, prompt_tokens, completion_tokens, cached_tokens, uncounted, .. } =
        totals;
    let shown = |time: Option<Duration>| time.map_or("-".into(), |time| format!("{:.1} ms", time.as_secs_f64() * 1e3));
    let first = (totals.to_first_token(0.5), totals.to_first_token(0.99));
    let last = (totals.latency(0.5), totals.latency(0.99));
    let cached = cached_tokens.filter(|_| prompt_tokens > 0).map_or(String::new(), |cached| {
        format!(", {:.0}% of them cached", cached as f64 * 100.0 / prompt_tokens as f64)
    });
    let answered = match (requests, failed) {
        (_, 0) => counted(requests, "request"),
        (0, _) => format!("{} without an answer", counted(failed, "request")),
        _ => format!("{} answered and {failed} without an answer", counted(requests, "request")),
    };
    let out = match uncounted {
        0 => format!("{completion_tokens} out ({:.0}/s)", per_second(completion_tokens)),
        all if all == requests => "out not counted".to_owned(),
        some => format!("{completion_tokens} out of all but {}", counted(some, "answer")),
    };
    format!(
        "{answered} ({:.1}/s), {} in{cached}, {out}, first token p50 {} p99 {}, latency p50 {} p99 {}, {}",
        per_second(requests),
        counted(prompt_tokens, "token"),
        shown(first.0),
        shown(first.1),
        shown(last.0),
        shown(last.1),
        if retries == 1 { "1 retry".to_owned() } else { format!("{retries} retries") }
    )
}
