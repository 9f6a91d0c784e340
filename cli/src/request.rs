//! From arguments to how answers are sampled, and to what a server is asked for.

use crate::args::RequestArgs;
use metatok::dataset::prompter::SamplingParams;
use metatok::engine::Sampling;
use metatok::error::{ErrorKind, Result};
use metatok::prepared::PreparedDataset;
use metatok::server::RequestOptions;
use serde_json::{Map, Value};

/// How answers are sampled: as the arguments say, or else as the dataset does.
pub(crate) fn sampling_params(args: &RequestArgs, dataset: Option<&PreparedDataset>) -> SamplingParams {
    let of_dataset = dataset.map(|dataset| dataset.dataset().inferencer.sampling_params).unwrap_or_default();
    args.sampling().or(of_dataset)
}

/// How the engine in this process samples: as the arguments say, or else as the dataset does, or else as in `usual`.
pub(crate) fn sampling(args: &RequestArgs, dataset: Option<&PreparedDataset>, usual: Sampling) -> Sampling {
    let sampling = usual.with(sampling_params(args, dataset));
    Sampling { seed: args.seed.unwrap_or(usual.seed), ..sampling }
}

/// What a server is asked for in each request.
pub(crate) fn options(args: &RequestArgs, run_id: Option<&str>) -> Result<RequestOptions> {
    Ok(RequestOptions {
        sampling: args.sampling(),
        seed: args.seed,
        params: params(&args.params)?,
        run_id: run_id.map(str::to_owned),
        ..RequestOptions::default()
    })
}

/// The further keys of requests.
fn params(given: &[(String, Value)]) -> Result<Map<String, Value>> {
    let mut params = Map::new();
    for (key, value) in given {
        if params.insert(key.clone(), value.clone()).is_some() {
            return Err(ErrorKind::Usage(format!("--param {key} is given twice; leave one of them out")).into());
        }
    }
    Ok(params)
}
