//! What a run can be resumed with: the same input, weights and options, and no input that can be read only once.

use std::path::PathBuf;

use crate::args::RunArgs;
use crate::source::Source;
use metatok::engine::Sampling;
use metatok::error::{ErrorKind, Result};
use metatok::fingerprint::Fingerprint;
use metatok::input::digest_of_input;
use metatok::run::DEFAULT_MAX_OUT_LEN;

/// Rejects input that can be read only once.
pub(crate) fn check_is_there(source: &Source) -> Result<()> {
    let is_stream = |path: &&PathBuf| path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    let name = match source {
        source if source.has_stdin() => "standard input".into(),
        Source::Files(paths) => match paths.iter().find(is_stream) {
            Some(path) => path.display().to_string(),
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    let what = format!("--resume reads the input again, but {name} can be read only once; use a file");
    Err(ErrorKind::Usage(what).into())
}

/// The inputs, by name and content.
fn digests_of(source: &Source) -> Result<Vec<String>> {
    match source {
        Source::Files(paths) => paths.iter().map(|path| digest_of_input(path)).collect(),
        Source::Piped(_) => Ok(vec!["stream".into()]),
        Source::Nothing => Ok(vec!["demo".into()]),
    }
}

/// Everything that answers depend on, so that one file never mixes answers with different settings.
pub(crate) fn fingerprint(
    args: &RunArgs,
    sampling: &Sampling,
    source: &Source,
    fingerprint: Fingerprint,
) -> Result<Fingerprint> {
    let mut fingerprint = fingerprint
        .with("temperature", sampling.temperature)
        .with("top_p", sampling.top_p)
        .with("seed", sampling.seed)
        .with("max_out_len", args.input.max_out_len.unwrap_or(DEFAULT_MAX_OUT_LEN))
        .with("strip_thoughts", args.input.strip_thoughts);
    if let Some(top_k) = sampling.top_k {
        fingerprint = fingerprint.with("top_k", top_k.get());
    }
    if sampling.repetition_penalty != 1.0 {
        fingerprint = fingerprint.with("repetition_penalty", sampling.repetition_penalty);
    }
    if let Some(limit) = args.input.limit {
        fingerprint = fingerprint.with("limit", limit);
    }
    if let Some(max_seq_len) = args.input.max_seq_len {
        fingerprint = fingerprint.with("max_seq_len", max_seq_len);
    }
    if let Some(columns) = &args.input.columns {
        fingerprint = fingerprint.with("columns", columns.join(","));
    }
    if let Some(column) = &args.input.id_column {
        fingerprint = fingerprint.with("id_column", column.as_str());
    }
    if !args.input.keep.is_empty() {
        fingerprint = fingerprint.with("keep", args.input.keep.join(","));
    }
    if args.input.strict {
        fingerprint = fingerprint.with("strict", true);
    }
    fingerprint = fingerprint.with("max_line_bytes", args.input.read.max_line_bytes);
    Ok(fingerprint.with("input", digests_of(source)?))
}

#[cfg(feature = "candle")]
pub(crate) fn digests_of_weights(weights: &str) -> Result<Vec<String>> {
    let files = metatok::engine::CandleEngine::files(weights)?;
    files.iter().map(|path| metatok::input::digest_of_file(path)).collect()
}

#[cfg(not(feature = "candle"))]
pub(crate) fn digests_of_weights(_: &str) -> Result<Vec<String>> {
    Ok(Vec::new())
}
