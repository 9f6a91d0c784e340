//! What answers a run: an engine in this process, or a server.

use std::path::PathBuf;
use std::sync::Arc;

use indicatif::ProgressBar;

use crate::args::RunArgs;
use crate::setup;
use metatok::builder::PromptBuilder;
use metatok::engine::{Engine, Sampling};
use metatok::error::{ErrorKind, Result};
use metatok::prepared::PreparedDataset;
use metatok::run::{AnsweredBy, RunOptions, Runner};

/// What answers a run.
pub(crate) enum Answering {
    /// An engine in this process with these weights, which are not loaded yet.
    Weights(String),
    #[cfg(feature = "http")]
    Server(metatok::client::Client),
}

impl Answering {
    /// As the arguments say. A server is ready then.
    pub(crate) fn find(
        args: &RunArgs,
        builder: &PromptBuilder,
        progress: &ProgressBar,
        has_input: bool,
    ) -> Result<Self> {
        #[cfg(feature = "http")]
        if let Some(client) = crate::server::connect(args, builder, progress)? {
            return Ok(Self::Server(client));
        }
        #[cfg(not(feature = "http"))]
        if args.server.url.is_some() {
            let _ = (builder, progress);
            let error = ErrorKind::MissingFeature { what: "--url", feature: "http" };
            return Err(error.with_way_out("build it with the cargo feature `http`"));
        }
        Ok(Self::Weights(weights(args, has_input)?))
    }

    /// What the answers depend on.
    pub(crate) fn answered_by<'a>(&'a self, args: &'a RunArgs) -> Result<AnsweredBy<'a>> {
        Ok(match self {
            Self::Weights(weights) => AnsweredBy::Engine { files: files(weights)?, device: &args.device },
            #[cfg(feature = "http")]
            Self::Server(client) => AnsweredBy::Server(client),
        })
    }

    /// What runs.
    pub(crate) fn runner(
        self,
        args: &RunArgs,
        builder: PromptBuilder,
        dataset: Option<Arc<PreparedDataset>>,
        options: RunOptions,
    ) -> Result<Runner> {
        match self {
            Self::Weights(weights) => Ok(Runner::new(builder, engine(&weights, &args.device)?, dataset, options)),
            #[cfg(feature = "http")]
            Self::Server(client) => Ok(Runner::over_http(builder, client, dataset, options)),
        }
    }
}

/// Where the weights are: by default, where the tokenizer is.
fn weights(args: &RunArgs, has_input: bool) -> Result<String> {
    match &args.weights {
        Some(weights) => Ok(weights.clone()),
        None => setup::choice(&args.model, has_input)?.tokenizer_name(),
    }
}

/// How answers are sampled if neither an option nor the dataset says so.
pub(crate) fn usual_sampling(args: &RunArgs, has_input: bool) -> Result<Sampling> {
    #[cfg(feature = "candle")]
    if args.generation_config {
        return metatok::engine::CandleEngine::default_sampling(&weights(args, has_input)?);
    }
    let _ = (args, has_input);
    Ok(Sampling::default())
}

/// The engine. A further one is a line here.
#[cfg(feature = "candle")]
fn engine(weights: &str, device: &str) -> Result<Box<dyn Engine>> {
    use metatok::engine::{CandleDevice, CandleEngine};

    let device = match (device, device.strip_prefix("cuda:").map(str::parse)) {
        ("cpu", _) => CandleDevice::Cpu,
        ("cuda", _) => CandleDevice::Cuda(0),
        (_, Some(Ok(number))) => CandleDevice::Cuda(number),
        _ => {
            let what = format!("--device {device:?} must be cpu, cuda, or cuda:N");
            return Err(ErrorKind::Usage(what).into());
        }
    };
    Ok(Box::new(CandleEngine::load(weights, device)?))
}

/// The files that the engine loads.
#[cfg(feature = "candle")]
fn files(weights: &str) -> Result<Vec<PathBuf>> {
    metatok::engine::CandleEngine::files(weights)
}

#[cfg(not(feature = "candle"))]
fn files(_: &str) -> Result<Vec<PathBuf>> {
    Ok(Vec::new())
}

#[cfg(not(feature = "candle"))]
fn engine(_: &str, _: &str) -> Result<Box<dyn Engine>> {
    let what = "this metatok is built without an engine; build it with --features candle, or name a server with --url";
    Err(ErrorKind::Usage(what.into()).into())
}
